// The fields of data sources, loading and evaluation transforms.
#include "data/fields.h"

#include <algorithm>

#include "engine/base/text.h"

namespace fovea {
namespace {

/// Single-precision decimals, converted to the shortest decimals with the same bits.
Access<Field::Numbers> decimals(std::array<float, 3>* values) {
  return {[values] {
            Field::Numbers numbers;
            for (const float value : *values) numbers.push_back(decimal_of(value));
            return numbers;
          },
          [values](const Field::Numbers& numbers) {
            for (std::size_t c = 0; c < values->size(); ++c)
              (*values)[c] = static_cast<float>(numbers.at(c));
          }};
}

/// A count of at least one, for which 0 is accepted as 1.
Access<std::int64_t> zero_for_one(std::int64_t* count) {
  return {[count] { return *count == 1 ? 0 : *count; },
          [count](std::int64_t value) { *count = std::max<std::int64_t>(1, value); }};
}

}  // namespace

void add_fields(Fields& fields, DatasetOptions& options) {
  FieldGroup g(fields, "Data");
  g.choice("dataset", &options.name, "data set to train on", dataset_names()).fixed = true;
  g.add("data-dir", &options.data_dir,
        "data folder, or a file of latents (default: $FOVEA_DATA, else ./datasets)");
  g.add("train-split", &options.train_split,
        "training images, relative to data-dir: a folder, tar files such as train-{000..146}.tar, "
        "or a .pack, or .safetensors of latents (default: train*)");
  g.add("val-split", &options.val_split,
        "test images, in the forms of train-split (default: val*, valid*, eval*)");
  g.add("annotations", &options.annotations,
        "coco: annotation file of the training images (default: "
        "annotations/instances_train2017.json)");
  g.add("val-annotations", &options.val_annotations,
        "coco: annotation file of the test images (default: annotations/instances_val2017.json)");
  g.add("compact-ids", &options.compact_ids,
        "coco: the model's outputs are the categories 1 to n by ascending id, not the ids "
        "themselves; predictions carry the ids")
      .fixed = true;
  g.number("val-fraction", &options.val_fraction,
           "fraction of each class's training images held out for validation; 0: use val-split "
           "(default for one folder of classes: 0.1)",
           {0, 0.99})
      .fixed = true;
  const Access<std::string> rule(
      [&options] { return options.val_rule ? std::string(name_of(*options.val_rule)) : ""; },
      [&options](const std::string& text) { options.val_rule = find_named<HoldOutRule>(text); });
  g.choice(
       "val-fraction-rule", rule,
       "how val-fraction chooses images: by path and seed (name; default for class folders), or "
       "the same fraction of each class at random (number; default otherwise)",
       names_of<HoldOutRule>())
      .fixed = true;
  g.add(
      "val-labels", &options.val_labels,
      "labels of validation images outside class folders: LOC_val_solution.csv, ImageNet's ground "
      "truth, or lines \"PICTURE CLASS\"");
  g.add("class-map", &options.class_map, "file of class names, one per line, in label order");
  g.add("classes", &options.classes,
        "classes to use: names (quoted if they contain commas) or numbers, a count, or a file of "
        "names")
      .fixed = true;
  g.number("fraction", &options.fraction, "fraction of each class's training images to use",
           {1e-9, 1})
      .fixed = true;
  g.choice("fraction-rule", &options.fraction_rule,
           "images that fraction keeps: drawn at random (count rounded up), or the first by path "
           "(rounded down)")
      .fixed = true;
  g.choice("exif-orientation", &options.exif_orientation,
           "pictures that their EXIF data turn: ignore: as stored, apply: turned")
      .fixed = true;
  g.once("index-cache", &options.index_cache,
         "folder for cached file lists, or none (default: the user's cache folder)");
}

void add_fields(Fields& fields, TrainingImages& options) {
  LoaderOptions& loader = options.loader;
  FieldGroup g(fields, "Data");
  g.number("aug-repeats", zero_for_one(&loader.epoch.repeats),
           "consecutive copies of each image, each augmented separately; 0: one", {0, 100})
      .fixed = true;
  g.number("shuffle-buffer", &loader.epoch.shuffle_buffer,
           "size of the shuffle buffer, in images, for tar files; 0: shuffle all images",
           {0, kMaxCount})
      .fixed = true;
  g.add("fast-decode", &options.shrink_large,
        "decode large JPEGs at 1/2, 1/4 or 1/8 for training: faster, slightly different pixels");
  const Access<bool> resplit(
      [&loader] { return loader.rows.unfinished_every > 0; },
      [&loader](bool value) { loader.rows.unfinished_every = value ? 2 : 0; });
  FieldGroup(fields, "Augment")
      .add("resplit", resplit,
           "exempt the first split of each image from erasing; without splits, every second image");
  Field& size =
      FieldGroup(fields, "Optimizer")
          .number("batch-size", &loader.batch_size, "images per forward pass", {1, 65536});
  size.fixed = true;
  size.other_names = {"b"};
}

void add_split_fields(Fields& fields, RowOptions& options) {
  const Access<std::int64_t> splits(
      zero_for_one(&options.splits).get, [&options](std::int64_t value) {
        check_usage(value != 1, "--aug-splits: got 1, expected 0 or at least 2");
        options.splits = std::max<std::int64_t>(1, value);
      });
  FieldGroup(fields, "Augment")
      .number("aug-splits", splits,
              "rows per image in a batch: the first only cropped and flipped, the others fully "
              "augmented; 0: one, fully augmented",
              {0, 16});
}

void add_fields(Fields& fields, EvaluationCrop& options) {
  FieldGroup g(fields, "Augment");
  g.number("crop-pct", &options.crop_pct,
           "fraction of the shorter side kept by the crop in evaluation", {1e-2, 1});
  g.choice("crop-mode", &options.mode,
           "crop in evaluation; automatic: center, but stretch images of at most 32 pixels");
  g.choice("interpolation", &options.filter, "filter for resizing in evaluation");
}

void add_fields(Fields& fields, Normalization& options) {
  FieldGroup g(fields, "Data");
  g.number("mean", decimals(&options.mean), "channel means to subtract", {-100, 100}).count = 3;
  g.number("std", decimals(&options.deviation), "channel stds to divide by", {1e-6, 100}).count = 3;
}

}  // namespace fovea
