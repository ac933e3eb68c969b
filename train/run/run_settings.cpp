// Fields of the settings shared by all parts of a run, and the loader options derived from them.
#include "train/run/run_settings.h"

#include <algorithm>

#include "data/fields.h"

namespace fovea {
namespace {

Access<std::string> device_access(Device* device) {
  return {[=] { return device_name(*device); },
          [=](const std::string& text) {
            try {
              *device = parse_device(text);
            } catch (const Error& error) {
              throw UsageError(std::string("--device: ") + error.what());
            }
          }};
}

/// Accepted fraction of broken images: all of them, or one percent.
Access<std::string> stop_or_skip(double* limit) {
  return {[=] { return *limit < 1 ? "stop" : "skip"; },
          [=](const std::string& text) { *limit = text == "skip" ? 1 : 0.01; }};
}

}  // namespace

void add_fields(Fields& fields, RunContext& context) {
  FieldGroup data(fields, "Data");
  data.number("workers", &context.workers, "threads that prepare batches; 0: none", {0, 256})
      .other_names = {"j", "num-workers"};
  data.choice("on-bad-image", stop_or_skip(&context.bad_image_limit),
              "stop: fail if more than 1 % of the images are broken; skip: never fail",
              {"stop", "skip"});
  add_fields(fields, context.normalization);
  FieldGroup run(fields, "Run");
  run.number("seed", &context.seed, "seed of all random numbers", {0, 1e9}).fixed = true;
  run.add("device", device_access(&context.device), "cpu, cuda or cuda:N");
  run.add("allow-tf32", &context.allow_tf32,
          "CUDA: f32 matrix multiplications round their operands to TF32 (10-bit mantissa)");
  run.choice("precision", &context.precision, "precision of the activations; parameters stay f32",
             {"f32", "bf16"});
  run.number("threads", &context.threads, "compute threads; 0: all. Results do not depend on it",
             {0, 1024});
  run.number("comm-timeout", &context.comm_timeout,
             "seconds that a process waits for another before the run ends", {1, 1e6});
}

std::string device_name(Device device) {
  return device.index == 0 && !device.is_cpu() ? "cuda" : to_string(device);
}

TrainingImages images_of(TrainingImages images, const RunContext& context) {
  LoaderOptions& loader = images.loader;
  loader.seed = context.seed;
  loader.workers = static_cast<int>(context.workers);
  loader.bad_images.then = OnBadImage::replace;
  loader.bad_images.limit = context.bad_image_limit;
  if (loader.rows.unfinished_every > 0)  // one row per image, or every second image
    loader.rows.unfinished_every = std::max<std::int64_t>(2, loader.rows.splits);
  images.augment.normalization = context.normalization;
  if (images.augment.policy == "none") images.augment.policy.clear();
  return images;
}

}  // namespace fovea
