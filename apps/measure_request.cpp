// Flags of `measure`.
#include "apps/measure_request.h"

#include "engine/base/error.h"
#include "engine/base/writable.h"

namespace fovea {

Fields fields_of(MeasureRequest& r) {
  Fields fields;
  FieldGroup features(fields, "Features");
  features.add("features", &r.load.checkpoint,
               "run directory or weights file of a classifier: measures from its pooled features, "
               "called FD(run)");
  features.add("inception", &r.inception,
               "weights file of Inception-v3 as pytorch-fid publishes it "
               "(pt_inception-2015-12-05-6726825d.pth): FID, sFID and their kin");
  features.choice(
      "protocol", &r.protocol,
      "how pictures become inputs of Inception-v3, and which package's numbers compare");
  features.number("k", &r.k, "neighbour that gives a ball its radius, for precision and recall",
                  {1, 1000});
  features.number("split", &r.split, "pictures per part of the inception score", {1, kMaxCount});
  FieldGroup sets(fields, "Pictures");
  sets.add("real", &r.real,
           "more real pictures, such as a test set, for the row \"real\" (default: a data set's "
           "test images, else a part of the reference, drawn at random, against the rest)");
  sets.number("gaussian-count", &r.gaussian_count,
              "pictures drawn from the Gaussian of pixels; 0: as many as there are samples",
              {0, kMaxCount})
      .other_names = {"ceiling-count"};
  sets.add("data-dir", &r.data.data_dir, "folder of a data set given by name");
  sets.number("seed", &r.seed, "seed of the real pictures and of those drawn from the Gaussian",
              {0, kMaxCount});
  sets.number("batch-size", &r.batch_size, "pictures per forward pass", {1, 65536});
  sets.number("workers", &r.workers, "threads that read pictures", {0, 256});
  sets.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  FieldGroup output(fields, "Output");
  output.add("json", &r.json, "write everything to this file");
  output.add("save-statistics", &r.save_statistics,
             "write mu and sigma of the reference's features to this .npz file");
  output.add(
      "save-features", &r.save_features,
      "write the features of both sets to this .safetensors file, which can be REFERENCE in later "
      "calls with the same network");
  add_load_fields(fields, r.load);
  return fields;
}

void check_request(const MeasureRequest& r) {
  const bool both = !r.inception.empty() && !r.load.checkpoint.empty();
  check_usage(
      !both || (r.save_statistics.empty() && r.save_features.empty()),
      "--save-statistics and --save-features: got two networks, expected one of --features ",
      "and --inception");
  const auto check_file = [](const char* flag, const std::string& file) {
    with_context(flag, [&] {
      if (!file.empty()) require_writable(file);
    });
  };
  check_file("--json", r.json);
  check_file("--save-statistics", r.save_statistics);
  check_file("--save-features", r.save_features);
}

}  // namespace fovea
