// pack: writes a data set as train.pack and val.pack.
#include <array>
#include <filesystem>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "apps/common/signals.h"
#include "data/sources/packed/pack.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/program_call.h"
#include "engine/base/wrap.h"
#include "engine/parallel.h"

namespace fovea::programs {
namespace {

struct PackRequest {
  DatasetOptions data;
  std::string data_dir, class_map, output, store = "files";
  std::int64_t short_side = 0, quality = 90, threads = 0;
  bool overwrite = false;
};

Fields fields_of(PackRequest& r) {
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name, "data set to pack", dataset_names());
  data.add("data-dir", &r.data_dir, "data folder (default: $FOVEA_DATA, else ./datasets)");
  data.add("train-split", &r.data.train_split, "see " + program_call("train_imagenet") + " --help");
  data.add("val-split", &r.data.val_split, "test images, in the forms of train-split");
  data.number("val-fraction", &r.data.val_fraction,
              "fraction of each class's training images held out as the test images", {0, 0.99});
  data.add("val-labels", &r.data.val_labels, "labels of test images outside class folders");
  data.add("class-map", &r.class_map, "file of class names, one per line, in label order");
  data.add("classes", &r.data.classes,
           "classes to use: names (quoted if they contain commas) or numbers, a count, or a file "
           "of names");
  data.number("fraction", &r.data.fraction, "fraction of each class's training images to use",
              {1e-9, 1});
  data.choice("fraction-rule", &r.data.fraction_rule,
              "which images: drawn at random, or the first of each class");
  data.choice("exif-orientation", &r.data.exif_orientation,
              "pictures that their EXIF data turn: ignore: as stored, apply: turned, also by those "
              "who read the pack");
  FieldGroup pack(fields, "Pack");
  pack.add("output", &r.output, "folder for train.pack and val.pack");
  pack.choice("store", &r.store, "image files as they are, or decoded pixels", {"files", "pixels"});
  pack.number("short-side", &r.short_side,
              "shrink larger images until their shorter side has this length; 0: never",
              {0, 65500});
  pack.number("quality", &r.quality, "JPEG quality of shrunk images", {1, 100});
  pack.add("overwrite", &r.overwrite, "overwrite existing packs");
  pack.number("threads", &r.threads, "threads; 0: all", {0, 1024});
  return fields;
}

std::filesystem::path pack_path(const PackRequest& request, Split split) {
  return std::filesystem::path(request.output) /
         (split == Split::train ? "train.pack" : "val.pack");
}

/// Returns false if stopped by a signal.
bool pack_split(const PackRequest& request, Split split, const Dataset& dataset) {
  const std::string name = split == Split::train ? "train" : "val";
  const std::filesystem::path path = pack_path(request, split);
  ProgressLine line(1);
  if (!dataset.notice().empty()) line.print(note_of(dataset.notice()));
  PackOptions options;
  options.as_pixels = request.store == "pixels";
  options.short_side = request.short_side;
  options.quality = static_cast<int>(request.quality);
  options.on_progress = [&](std::int64_t done) {
    line.update({.label = "packing " + name, .done = done, .total = dataset.size(), .note = {}});
    return SignalRequest::pending() == 0;
  };
  if (!write_pack(path, dataset, options)) return false;
  line.print("wrote " + path.string() + ": " + std::to_string(dataset.size()) + " images, " +
             std::to_string(std::filesystem::file_size(path) >> 20) + " MiB");
  return true;
}

}  // namespace

int run_pack(int argc, char** argv) {
  require_one_process();
  PackRequest request;
  request.data.name = "auto";
  static_cast<void>(parse_into_fields(
      argc, argv,
      {"pack",
       "Packs photographs into one file per split. Files that are not shrunk are copied byte "
       "for\n"
       "byte, so training sees the same pixels. --store pixels saves decoding but takes more "
       "space.",
       "", fields_of(request)}));
  if (request.output.empty()) throw UsageError("pack: needs --output DIR");
  request.data.data_dir = request.data_dir;
  request.data.class_map = request.class_map;
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  constexpr std::array splits = {Split::train, Split::test};
  std::vector<std::shared_ptr<const Dataset>> datasets;
  // Both splits are opened first, so that errors in val are reported before train is packed.
  for (const Split split : splits) {
    const std::filesystem::path path = pack_path(request, split);
    check(request.overwrite || !std::filesystem::exists(path), path.string(),
          ": already exists; --overwrite replaces it");
    datasets.push_back(open_dataset(request.data, split));
  }
  make_folder(request.output);
  const SignalRequest signals;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (!pack_split(request, splits[i], *datasets[i])) return 128 + SignalRequest::pending();
  }
  return 0;
}

}  // namespace fovea::programs
