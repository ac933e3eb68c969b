// encode: writes a VAE's latents of a data set as one file, for train_diffusion.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "apps/common/cli.h"
#include "apps/common/progress_line.h"
#include "apps/common/signals.h"
#include "data/geometry/adm_crop.h"
#include "data/loading/loader.h"
#include "data/sources/packed/latent_file.h"
#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/device.h"
#include "engine/parallel.h"
#include "engine/upload.h"
#include "models/checkpoints/vae_file.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea::programs {
namespace {

struct EncodeRequest {
  DatasetOptions data;
  std::string data_dir, split = "train", vae, output, crop = "adm", device = "cpu",
                        precision = "f32";
  std::int64_t img_size = 0, batch_size = 8, workers = 2, threads = 0;
  double scaling_factor = 0;
  bool flips = true, overwrite = false;
};

Fields fields_of(EncodeRequest& r) {
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name, "data set to encode", dataset_names());
  data.add("data-dir", &r.data_dir, "data folder (default: $FOVEA_DATA, else ./datasets)");
  data.choice("split", &r.split, "which images", {"train", "val"});
  data.add("train-split", &r.data.train_split, "see ./run train_imagenet --help");
  data.add("val-split", &r.data.val_split, "test images, in the forms of train-split");
  data.add("class-map", &r.data.class_map, "file of class names, one per line, in label order");
  data.number("fraction", &r.data.fraction, "fraction of each class's training images to use",
              {1e-9, 1});
  data.number("img-size", &r.img_size, "side of the square images; 0: the VAE's", {0, 16384});
  data.choice("crop", &r.crop,
              "how images become squares: ADM's centre crop, or a bicubic resize of the whole",
              {"adm", "stretch"});
  data.add("flips", &r.flips, "also encode the mirrored images");
  FieldGroup encode(fields, "Encode");
  encode.add("vae", &r.vae, "a run of train_vae, a folder of diffusers or a weights file");
  encode.add("output", &r.output, "file to write, .safetensors");
  encode.number("scaling-factor", &r.scaling_factor,
                "factor for diffusion on these latents; 0: the VAE's", {0, 1e6});
  encode.add("overwrite", &r.overwrite, "replace an existing file");
  FieldGroup run(fields, "Run");
  run.number("batch-size", &r.batch_size, "images at a time", {1, 65536});
  run.number("workers", &r.workers, "threads that decode images", {0, 256});
  run.number("threads", &r.threads, "threads; 0: all", {0, 1024});
  run.add("device", &r.device, "cpu, cuda or cuda:N");
  run.choice("precision", &r.precision, "precision of the activations", {"f32", "bf16"});
  return fields;
}

/// The side of the images: the flag's, or the VAE's.
std::int64_t side_of(const EncodeRequest& r, const VaeConfig& c) {
  const std::int64_t side = r.img_size > 0 ? r.img_size : c.img_size[0];
  check_usage(side % c.factor() == 0, "--img-size: got ", side, ", expected a multiple of ",
              c.factor(), ", the factor of the VAE");
  return side;
}

Pipeline pipeline_for(const EncodeRequest& r, std::int64_t side) {
  Pipeline pipeline;
  pipeline.normalization = {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};  // to [-1, 1], as VAEs expect
  pipeline.steps.push_back(
      geometry_step([side, adm = r.crop == "adm"](ImageSize size, Rng&) -> std::vector<Geometry> {
        if (adm) return adm_crop_moves(size, side);
        return {geometry::Resize{{side, side}, Filter::bicubic}};
      }));
  return pipeline;
}

/// Images f32 [B, C, H, W] on the CPU with their columns in reverse order.
Tensor mirrored(const Tensor& images) {
  const Tensor flipped = empty(images.shape(), images.options());
  const std::int64_t width = images.size(3);
  for (std::int64_t row = 0; row < images.numel() / width; ++row) {
    const float* const from = images.data<float>() + row * width;
    std::reverse_copy(from, from + width, flipped.data<float>() + row * width);
  }
  return flipped;
}

/// Mean and deviation of the latents that moments describe.
class LatentStatistics {
 public:
  void add(const Tensor& moments) {
    const Tensor mean = mean_of_moments(moments).to(DType::f64);
    const Tensor variance = ops::exp(log_variance_of_moments(moments).to(DType::f64));
    sum_ += ops::sum(mean).item();
    squares_ += ops::sum(mean * mean + variance).item();
    count_ += static_cast<double>(mean.numel());
  }
  [[nodiscard]] double mean() const { return sum_ / count_; }
  [[nodiscard]] double deviation() const { return std::sqrt(squares_ / count_ - mean() * mean()); }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

class Encoding {
 public:
  Encoding(const EncodeRequest& request, const LoadedVae& vae,
           std::shared_ptr<const Dataset> images, ProgressLine& line)
      : request_(request), vae_(vae), images_(std::move(images)), line_(line) {
    const std::int64_t side = side_of(request, vae.model->config());
    const std::int64_t latent = side / vae.model->config().factor();
    info_.source = {.vae = vae.model->info().name,
                    .hash = vae.hash,
                    .scale = request.scaling_factor > 0 ? request.scaling_factor
                                                        : vae.model->config().scaling_factor,
                    .preparation = concat(request.crop, " ", side)};
    info_.channels = vae.model->config().latent_channels;
    info_.size = {latent, latent};
    info_.has_flipped = request.flips;
    info_.classes = images_->class_names();
    if (info_.classes.empty()) info_.classes = {"image"};
    ctx_.activations = parse_dtype(request.precision);
  }

  /// Writes the file. Returns false, without a file, if a signal stopped it.
  bool run() {
    const NoGrad no_grad;
    const std::int64_t side = side_of(request_, vae_.model->config());
    Loader loader(
        images_, pipeline_for(request_, side),
        evaluation_loader_options(request_.batch_size, static_cast<int>(request_.workers)));
    LatentWriter writer(request_.output, info_, images_->size());
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t done = 0; loader.has_next();) {
      const Batch batch = loader.next();
      add(batch, writer);
      done += batch.size();
      show(done, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      if (SignalRequest::pending() != 0) return false;
    }
    writer.finish();
    return true;
  }

  void report() const {
    const double deviation = statistics_.deviation(), scaled = deviation * info_.source.scale;
    line_.print(concat("wrote ", request_.output, ": ", images_->size(), " images, latents of ",
                       info_.channels, "x", to_string(info_.size), ", mean ",
                       short_text(statistics_.mean()), ", standard deviation ",
                       short_text(deviation), ", scaled ", short_text(scaled)));
    if (scaled > 0.5 && scaled < 2) return;
    line_.print(
        concat("note: diffusion expects scaled latents with a standard deviation of about "
               "1; --scaling-factor ",
               short_text(1 / deviation), " gives that"));
  }

 private:
  static std::string short_text(double x) {  // four digits
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", x);
    return text.data();
  }

  void add(const Batch& batch, LatentWriter& writer) {
    const Tensor moments = moments_of(batch.images);
    const Tensor flipped = info_.has_flipped ? moments_of(mirrored(batch.images)) : Tensor();
    writer.add(moments, flipped, batch.labels);
    statistics_.add(moments);
  }

  Tensor moments_of(const Tensor& images) const {
    const Vae& model = *vae_.model;
    const Tensor m = model.moments(upload(images, model.device()), ctx_).to(Device{});
    return m.to(DType::f32).contiguous();
  }

  void show(std::int64_t done, double seconds) {
    line_.update({.label = "encoding",
                  .done = done,
                  .total = images_->size(),
                  .seconds = seconds,
                  .img_s = static_cast<double>(done) / std::max(seconds, 1e-9),
                  .note = {}});
  }

  const EncodeRequest& request_;
  const LoadedVae& vae_;
  std::shared_ptr<const Dataset> images_;
  ProgressLine& line_;
  LatentInfo info_;
  LatentStatistics statistics_;
  Context ctx_;
};

void check_request(const EncodeRequest& r) {
  check_usage(!r.vae.empty(),
              "encode: needs --vae, a run of train_vae, a folder of diffusers or a weights file");
  check_usage(!r.output.empty(), "encode: needs --output FILE");
  check(r.overwrite || !std::filesystem::exists(r.output), "--output: ", r.output,
        " already exists; --overwrite replaces it");
}

}  // namespace

int encode(int argc, char** argv) {
  EncodeRequest request;
  request.data.name = "auto";
  request.data.labelled = false;
  static_cast<void>(parse_into_fields(
      argc, argv,
      {"encode",
       "Encodes images with a VAE: means and log-variances of their latents, in one file for\n"
       "./run train_diffusion --dataset latents.",
       "", fields_of(request)}));
  check_request(request);
  request.data.data_dir = request.data_dir;
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const Device device = parse_device(request.device);
  require_device(device);
  ProgressLine line(1);
  const auto images =
      open_dataset(request.data, request.split == "train" ? Split::train : Split::test);
  if (!images->notice().empty()) line.print("note: " + images->notice());
  const LoadedVae vae = load_vae(request.vae, {DType::f32, device});
  for (const std::string& note : vae.notes) {
    line.print(concat("note: ", vae.weights.string(), " ", note));
  }
  Encoding encoding(request, vae, images, line);
  const SignalRequest signals;
  if (!encoding.run()) {
    line.print("stopped: nothing was written");
    return 128 + SignalRequest::pending();
  }
  encoding.report();
  return 0;
}

}  // namespace fovea::programs
