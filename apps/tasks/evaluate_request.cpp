// Flags of `evaluate`, and checks of their combinations.
#include "apps/tasks/evaluate_request.h"

#include <algorithm>
#include <span>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/writable.h"
#include "models/task_kind.h"
#include "train/loop/fields.h"
#include "train/tasks/stored_logits.h"

namespace fovea {

Fields fields_of(EvaluateRequest& r) {
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name,
              "data set (default: the one that the checkpoint was trained on)", dataset_names());
  data.add("data-dir", &r.data_dir,
           "data folder (default: as in training, else $FOVEA_DATA, else ./datasets)");
  data.choice("split", &r.split, "which images to evaluate", {"val", "train"});
  data.add(
      "val-split", &r.data.val_split,
      "validation images of a photo data set: folder, tar files or pack, relative to data-dir");
  data.add("train-split", &r.data.train_split,
           "training images of a photo data set, in the forms of val-split, with --split train");
  data.add("val-annotations", &r.data.val_annotations,
           "annotation file of coco's validation images, as in training");
  data.add("annotations", &r.data.annotations,
           "annotation file of coco's training images, with --split train");
  data.number(
      "val-fraction", &r.val_fraction,
      "fraction of each class's training images held out for validation (default: as in training)",
      {0, 0.99});
  data.add("val-labels", &r.data.val_labels,
           "labels of images outside class folders, as in training");
  data.add("class-map", &r.class_map,
           "file with the data set's class names, one per line, in the model's class order; with "
           "--shape-bias, categories as lines \"cat: 281 282 ...\"");
  data.add("classes", &r.data.classes,
           "classes to use: names (quoted if they contain commas) or numbers, a count, or a file "
           "of names");
  data.number("fraction", &r.data.fraction, "fraction of each class's training images to use",
              {1e-9, 1});
  data.choice("fraction-rule", &r.data.fraction_rule,
              "which images: drawn at random, or the first of each class");
  data.choice("on-bad-image", &r.on_bad_image,
              "stop: fail if more than 1 % are broken; skip: never fail", {"stop", "skip"});
  data.number("batch-size", &r.batch_size, "images per forward pass", {1, 65536});
  data.number("workers", &r.workers, "threads that prepare batches", {0, 256});
  FieldGroup cues(fields, "Shape or texture");
  cues.add(
      "shape-bias", &r.shape_bias,
      "measure whether shape or texture decides when they conflict: a folder of "
      "SHAPE/SHAPEn-TEXTUREm.png, or builtin: drawn images, for models of the builtin data set");
  FieldGroup depth(fields, "Depth models");
  depth.add("protocol", &r.protocol,
            "protocols separated by commas (default: full), each of words joined by +: full or "
            "eigen (crop), filled or raw, median (aligned), least=METRES, most=METRES or most=none "
            "(default: as in training)");
  depth.number("depth-scale", &r.depth_scale,
               "depth_pairs: values of a depth map per metre (default: as in training)",
               {1e-3, 1e6});
  FieldGroup run(fields, "Run");
  run.add("output", &r.output,
          "folder for tables and figures (default: next to the weights; none for several models or "
          "training images)");
  run.add("csv", &r.csv, "write the table to this file");
  run.add("json", &r.json, "write the table and every class to this file");
  run.add("logits", &r.logits,
          "write \"logits\" [images, classes] to this .safetensors file, for --teacher-logits");
  run.choice("precision", &r.precision, "precision of the activations", {"f32", "bf16"});
  run.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  add_graph_field(run, &r.graph);
  add_load_fields(fields, r.load);
  add_orientation_field(fields, *r.load.images);
  return fields;
}

std::vector<std::string> EvaluateRequest::sizes() const {
  const std::string& text = load.img_size;
  std::vector<std::string> parts = split_text(text, ',');
  if (parts.empty()) return {""};
  const bool gap = std::find(parts.begin(), parts.end(), "") != parts.end();
  check_usage(!gap, "--img-size: got ", text, ", expected sizes separated by commas");
  return parts;
}

bool EvaluateRequest::is_in_output(const std::string& file) const {
  if (output.empty()) return false;
  const auto folder_of = [](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(path).parent_path();
  };
  const std::filesystem::path below =
      folder_of(file).lexically_relative(folder_of(std::filesystem::path(output) / "file"));
  return !below.empty() && *below.begin() != "..";
}

TaskKind EvaluateRequest::task() const {
  const auto task_of_weights = [&](const std::string& checkpoint) {
    LoadRequest request = load;
    request.checkpoint = checkpoint;
    return task_of(request);
  };
  const TaskKind task = task_of_weights(checkpoints.front());
  for (const std::string& checkpoint : std::span(checkpoints).subspan(1)) {
    const TaskKind other = task_of_weights(checkpoint);
    check(other == task, checkpoint, " is ", noun_of(other), ", and ", checkpoints.front(), " ",
          noun_of(task), "; expected models of one task, evaluate them in turn");
  }
  return task;
}

bool EvaluateRequest::names_split() const {
  return !data.val_split.empty() || !data.val_labels.empty() || !data.val_annotations.empty();
}

/// If only the location differs from the run's, the held-out part is the same fraction, unless a
/// split is given: the rest was used for training.
DatasetOptions EvaluateRequest::images_of(const LoadedModel& trained) const {
  const DatasetOptions& own = trained.run.options;
  const bool same_set = data.name.empty() || data.name == trained.info.dataset;
  check(!same_set || trained.run.error.empty(), trained.run.error,
        "; so the images that the run held out are not known; correct the file");
  const bool same_place = data.name.empty() && data_dir.empty();
  DatasetOptions options = data;
  if (options.name.empty()) options.name = trained.info.dataset;
  check(!options.name.empty(), trained.weights.string(),
        ": does not record its training data set; add --dataset");
  options.data_dir = same_place ? own.data_dir : std::filesystem::path(data_dir);
  options.class_map = class_map;
  options.exif_orientation = trained.info.exif_orientation;
  options.val_fraction = val_fraction.value_or(same_set && !names_split() ? own.val_fraction : 0);
  options.val_rule = own.val_rule;
  options.val_seed = own.val_seed;
  options.compact_ids = trained.info.categories.are_compact() && options.name == "coco";
  if (options.compact_ids) options.category_ids = trained.info.categories.ids();
  options.scene_side = own.scene_side;
  options.depth_scale = depth_scale.value_or(same_set ? own.depth_scale : options.depth_scale);
  const auto inherit = [&](auto member) {
    if ((options.*member).empty()) options.*member = own.*member;
  };
  if (!same_place) return options;
  inherit(&DatasetOptions::classes);
  inherit(&DatasetOptions::train_split);
  inherit(&DatasetOptions::annotations);
  if (options.val_fraction > 0) return options;
  inherit(&DatasetOptions::val_split);
  inherit(&DatasetOptions::val_labels);
  inherit(&DatasetOptions::val_annotations);
  return options;
}

std::string EvaluateRequest::dataset_title(const LoadedModel& trained) const {
  const std::string& name = data.name.empty() ? trained.info.dataset : data.name;
  return split == "train" ? name + ", training images" : name;
}

MatchedImages EvaluateRequest::open_images(const LoadedModel& trained) const {
  const DatasetOptions options = images_of(trained);
  return match_images(open_dataset(options, split == "train" ? Split::train : Split::test),
                      trained.classes(), !options.class_map.empty(), trained.weights.string());
}

std::string EvaluateRequest::other_images_note(const LoadedModel& trained,
                                               const Dataset& images) const {
  const bool are_all = data.classes.empty() && trained.run.options.classes.empty();
  if (split != "val" || !are_all) return {};
  const std::optional<HeldOut>& held = trained.info.held_out;
  if (held && images_of(trained).val_fraction > 0) {
    if (list_digest(images) == held->list) return {};
    return concat(
        "the ", images.size(), " images held out here are not those of the training ",
        "run: the data or --val-fraction differ, and it may have trained on some of them");
  }
  const bool are_runs = data.name.empty() && data_dir.empty() && !val_fraction && !names_split();
  if (!are_runs || trained.run.test_list.empty() || list_digest(images) == trained.run.test_list)
    return {};
  return concat("the ", images.size(), " validation images are not those of the training run: ",
                "some were added, removed or renamed since");
}

Metadata EvaluateRequest::logits_metadata(const LoadedModel& trained,
                                          const MatchedImages& shown) const {
  const DatasetOptions options = images_of(trained);
  const std::string name = options.name == "auto" ? detect_dataset(options) : options.name;
  Metadata metadata =
      fovea::logits_metadata(name, split == "train" ? Split::train : Split::test, *shown.own);
  metadata.merge(classes_metadata(shown.images->class_names()));
  return metadata;
}

ClassifierOptions EvaluateRequest::options(const LoadedModel& trained) const {
  ClassifierOptions how;
  how.batch_size = batch_size;
  how.workers = static_cast<int>(workers);
  how.normalization = trained.info.normalization;
  how.crop = trained.info.crop;
  how.activations = parse_dtype(precision);
  how.processes = processes;
  how.graph = graph;
  how.bad_image_limit = on_bad_image == "skip" ? 1 : 0.01;
  return how;
}

namespace {

/// Throws, naming the flag, if what it names cannot be written.
void check_outputs(const EvaluateRequest& r) {
  with_context("--output", [&] {
    if (!r.output.empty()) require_writable_folder(r.output);
  });
  const auto check_file = [&](const char* flag, const std::string& file) {
    with_context(flag, [&] {
      if (!file.empty() && !r.is_in_output(file)) require_writable(file);
    });
  };
  check_file("--csv", r.csv);
  check_file("--json", r.json);
  check_file("--logits", r.logits);
}

}  // namespace

void check_request(const EvaluateRequest& r) {
  check_usage(r.is_single() || r.logits.empty(), "--logits: got ", r.checkpoints.size(),
              " checkpoints and ", r.sizes().size(), " sizes, expected one of each");
  check_usage(r.split == "train" || (r.data.fraction == 1 && r.data.train_split.empty()),
              "--train-split and --fraction select training images: they need --split train");
  check_outputs(r);
  if (r.shape_bias.empty()) return;
  const bool brings_images = r.data.name.empty() && r.data_dir.empty() && r.split == "val" &&
                             r.data.val_split.empty() && r.data.classes.empty();
  check_usage(brings_images,
              "--shape-bias: selects its own images, expected no --dataset, --data-dir, "
              "--split, --val-split or --classes with it");
  check_usage(r.json.empty(), "--json: --shape-bias writes no JSON; --csv FILE writes its table");
}

}  // namespace fovea
