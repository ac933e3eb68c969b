// Flags, and what they mean together.
#include "apps/evaluate_request.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "train/tasks/stored_logits.h"

namespace fovea {

Fields fields_of(EvaluateRequest& r) {
  r.data.name.clear();
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name, "(default: what the checkpoint learned from)",
              dataset_names());
  data.add("data-dir", &r.data_dir,
           "folder that holds it (default: as in training, else $FOVEA_DATA, else ./datasets)");
  data.choice("split", &r.split, "which of its images", {"val", "train"});
  data.add("val-split", &r.data.val_split, "of photographs: folder, tar files or pack below it");
  data.add("train-split", &r.data.train_split, "the same, with --split train");
  data.add("class-map", &r.class_map,
           "file of class names, one a line, in label order; with --shape-bias of categories, "
           "\"cat: 281 282 ...\"");
  data.add("classes", &r.data.classes, "only these: names or numbers, or how many");
  data.number("fraction", &r.data.fraction, "of the training images of each class", {1e-9, 1});
  data.choice("fraction-rule", &r.data.fraction_rule, "which: drawn, or the first of each class");
  data.choice("on-bad-image", &r.on_bad_image, "stop: when more than 1 % are broken; skip: never",
              {"stop", "skip"});
  data.number("batch-size", &r.batch_size, "images of one forward pass", {1, 65536});
  data.number("workers", &r.workers, "threads that prepare batches", {0, 256});
  FieldGroup cues(fields, "Shape or texture");
  cues.add("shape-bias", &r.shape_bias,
           "which of them decides where they disagree: a folder of SHAPE/SHAPEn-TEXTUREm.png, or "
           "builtin: drawn pictures, for models of that set");
  FieldGroup run(fields, "Run");
  run.add("output", &r.output,
          "folder for tables and pictures (default: beside the weights; of several models or of "
          "training images: none)");
  run.add("csv", &r.csv, "write the table to this file");
  run.add("json", &r.json, "write the table and every class to this file");
  run.add("logits", &r.logits,
          "write \"logits\" [images, classes] to this .safetensors file, for --teacher-logits");
  run.choice("precision", &r.precision, "of activations", {"f32", "bf16"});
  run.number("threads", &r.threads, "for computing; 0: all", {0, 1024});
  add_load_fields(fields, r.load);
  return fields;
}

std::vector<std::string> EvaluateRequest::sizes() const {
  const std::string& text = load.img_size;
  std::vector<std::string> parts = split_text(text, ',');
  if (parts.empty()) return {""};
  const bool gap = std::find(parts.begin(), parts.end(), "") != parts.end();
  check_usage(!gap, "--img-size: got ", text, ", expected sizes between the commas");
  return parts;
}

DatasetOptions EvaluateRequest::images_of(const LoadedModel& trained) const {
  DatasetOptions options = data;
  if (data.name.empty()) options.name = trained.info.dataset;
  check(!options.name.empty(), trained.weights.string(),
        ": does not say what it was trained on; give --dataset");
  options.data_dir = data.name.empty() && data_dir.empty() ? trained.data_dir : data_dir;
  options.class_map = class_map;
  return options;
}

std::shared_ptr<const Dataset> EvaluateRequest::open_images(const LoadedModel& trained) const {
  return open_dataset(images_of(trained), split == "train" ? Split::train : Split::test);
}

Metadata EvaluateRequest::logits_metadata(const LoadedModel& trained, const Dataset& images) const {
  const DatasetOptions options = images_of(trained);
  const std::string name = options.name == "auto" ? detect_dataset(options) : options.name;
  return fovea::logits_metadata(name, split == "train" ? Split::train : Split::test, images);
}

ClassifierOptions EvaluateRequest::options(const LoadedModel& trained) const {
  ClassifierOptions how;
  how.batch_size = batch_size;
  how.workers = static_cast<int>(workers);
  how.normalization = trained.info.normalization;
  how.crop = trained.info.crop;
  how.activations = parse_dtype(precision);
  how.bad_image_limit = on_bad_image == "skip" ? 1 : 0.01;
  return how;
}

void check_request(const EvaluateRequest& r) {
  check_usage(r.is_alone() || r.logits.empty(), "--logits: got ", r.checkpoints.size(),
              " checkpoints and ", r.sizes().size(), " sizes, expected one of each");
  check_usage(r.split == "train" || (r.data.fraction == 1 && r.data.train_split.empty()),
              "--train-split and --fraction are about training images: they need --split train");
  if (r.shape_bias.empty()) return;
  const bool brings_images = r.data.name.empty() && r.data_dir.empty() && r.split == "val" &&
                             r.data.val_split.empty() && r.data.classes.empty();
  check_usage(brings_images,
              "--shape-bias: names the pictures itself, expected no --dataset, --data-dir, "
              "--split, --val-split or --classes beside it");
  check_usage(r.json.empty(), "--json: --shape-bias writes no JSON; --csv FILE has its table");
}

}  // namespace fovea
