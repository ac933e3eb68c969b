// The fields of data sources, loading and evaluation transforms.
#include "data/fields.h"

#include <algorithm>

#include "base/text.h"

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
  g.choice("dataset", &options.name, "what to learn from", dataset_names()).fixed = true;
  g.add("data-dir", &options.data_dir,
        "folder that holds it (default: $FOVEA_DATA, else ./datasets)");
  g.add(
      "train-split", &options.train_split,
      "below data-dir: a folder, tar files as train-{000..146}.tar, or a .pack (default: train*)");
  g.add("val-split", &options.val_split,
        "the same of the test images (default: val*, valid*, eval*)");
  g.number("val-fraction", &options.val_fraction,
           "of the training images of each class, held out as the validation images; 0: those of "
           "val-split",
           {0, 0.99})
      .fixed = true;
  g.add("val-labels", &options.val_labels,
        "labels of validation images in no class folders: LOC_val_solution.csv, ImageNet's ground "
        "truth, or lines \"PICTURE CLASS\"");
  g.add("class-map", &options.class_map, "file of class names, one a line, in label order");
  g.add("classes", &options.classes,
        "only these: names (with commas in quotes) or numbers, how many, or a file of names")
      .fixed = true;
  g.number("fraction", &options.fraction, "of the training images of each class", {1e-9, 1}).fixed =
      true;
  g.choice("fraction-rule", &options.fraction_rule,
           "which images: drawn by class, rounded up, or its first ones by path, rounded down")
      .fixed = true;
  g.once("index-cache", &options.index_cache,
         "folder for lists of files, or none (default: the user's cache folder)");
}

void add_fields(Fields& fields, TrainingImages& options) {
  LoaderOptions& loader = options.loader;
  FieldGroup g(fields, "Data");
  g.number("aug-repeats", zero_for_one(&loader.epoch.repeats),
           "times that an image comes in a row, augmented anew; 0: once", {0, 100})
      .fixed = true;
  g.number("shuffle-buffer", &loader.epoch.shuffle_buffer,
           "images through which tar files are shuffled, file by file; 0: all at once",
           {0, kMaxCount})
      .fixed = true;
  g.add("fast-decode", &options.shrink_large,
        "decode large JPEGs at 1/2, 1/4 or 1/8 for training: faster, slightly other pixels");
  const Access<bool> resplit(
      [&loader] { return loader.rows.unfinished_every > 0; },
      [&loader](bool value) { loader.rows.unfinished_every = value ? 2 : 0; });
  FieldGroup(fields, "Augment")
      .add("resplit", resplit,
           "no erasing in the first split of each image; without splits: in every second image of "
           "the epoch");
  Field& size =
      FieldGroup(fields, "Optimizer")
          .number("batch-size", &loader.batch_size, "images of one forward pass", {1, 65536});
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
              "rows of an image in its batch: itself cropped and mirrored, and variations of that "
              "by aa and colours; 0: one, varied",
              {0, 16});
}

void add_fields(Fields& fields, EvaluationCrop& options) {
  FieldGroup g(fields, "Augment");
  g.number("crop-pct", &options.crop_pct, "share of the shorter side that evaluation sees",
           {1e-2, 1});
  g.choice("crop-mode", &options.mode,
           "of evaluation: center, squash, border, or automatic: center, but stretch images of at "
           "most 32 pixels");
  g.choice("interpolation", &options.filter, "of evaluation's resizing");
}

void add_fields(Fields& fields, Normalization& options) {
  FieldGroup g(fields, "Data");
  g.number("mean", decimals(&options.mean), "of the colours, subtracted", {-100, 100}).count = 3;
  g.number("std", decimals(&options.deviation), "of the colours, divided by", {1e-6, 100}).count =
      3;
}

}  // namespace fovea
