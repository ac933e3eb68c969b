// encode: writes a VAE's latents of a data set as one file, for train_diffusion.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "apps/common/signals.h"
#include "apps/encode_request.h"
#include "data/geometry/adm_crop.h"
#include "data/image_list.h"
#include "data/loading/loader.h"
#include "data/sources/image_subset.h"
#include "data/sources/packed/latent_writer.h"
#include "data/sources/verify.h"
#include "engine/autograd.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "engine/device.h"
#include "engine/parallel.h"
#include "engine/upload.h"
#include "models/checkpoints/vae_file.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/run/image_lists.h"
#include "train/run/weights_info.h"
#include "train/tasks/kept_vae.h"

namespace fovea::programs {
namespace {

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

/// The images from `first` on.
std::shared_ptr<const Dataset> images_from(const std::shared_ptr<const Dataset>& images,
                                           std::int64_t first) {
  std::vector<std::int64_t> rest(static_cast<std::size_t>(images->size() - first));
  std::iota(rest.begin(), rest.end(), first);
  return std::make_shared<ImageSubset<Dataset>>(images, std::move(rest), "");
}

/// What decides the latents beside the VAE and the preparation, so that a stopped call is continued
/// with the same images.
Metadata origin_of(const EncodeRequest& r, const Dataset& images) {
  Sha256 list;
  list.add(format_image_list(image_list(images)));
  Metadata origin{{"images", list.finish()}};
  if (r.precision != "f32") origin["precision"] = r.precision;
  if (r.data.exif_orientation != ExifOrientation::ignore) {
    origin["exif_orientation"] = name_of(r.data.exif_orientation);
  }
  return origin;
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
  [[nodiscard]] bool is_empty() const { return count_ == 0; }
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
    info_.others = origin_of(request, *images_);
    ctx_.activations = parse_dtype(request.precision);
  }

  /// Writes the file. Returns false if a signal stopped it: the next call continues.
  bool run() {
    const NoGrad no_grad;
    LatentWriter writer(request_.output, info_, images_->size(), request_.overwrite);
    start_ = writer.done();
    if (start_ > 0) {
      line_.print(concat(
          "note: continues ", request_.output, ".partial after ", start_, " of ", images_->size(),
          " images",
          writer.left_out() > 0 ? concat(", ", writer.left_out(), " of them left out") : ""));
    }
    const bool is_complete = start_ == images_->size() || add_all(writer);
    left_out_ = writer.left_out();
    is_complete ? writer.finish() : writer.commit();
    if (is_complete) return true;
    line_.print(concat("stopped   after ", writer.done(), " of ", images_->size(),
                       " images; the same command continues"));
    return false;
  }

  void report() const {
    const std::string text =
        concat("wrote ", request_.output, ": ", images_->size() - left_out_, " images",
               left_out_ > 0 ? concat(" (", left_out_, " broken ones left out)") : "",
               ", latents of ", info_.channels, "x", to_string(info_.size));
    if (statistics_.is_empty()) return line_.print(text);
    const double deviation = statistics_.deviation(), scaled = deviation * info_.source.scale;
    line_.print(concat(text, ", mean ", general_text(statistics_.mean(), 4),
                       ", standard deviation ", general_text(deviation, 4), ", scaled ",
                       general_text(scaled, 4), start_ > 0 ? " (of the images of this call)" : ""));
    if (scaled > 0.5 && scaled < 2) return;
    line_.print(
        concat("note: diffusion expects scaled latents with a standard deviation of about "
               "1; --scaling-factor ",
               general_text(1 / deviation, 4), " gives that"));
  }

 private:
  /// Returns false if a signal stopped it.
  bool add_all(LatentWriter& writer) {
    const std::int64_t side = side_of(request_, vae_.model->config());
    LoaderOptions options =
        evaluation_loader_options(request_.batch_size, static_cast<int>(request_.workers));
    options.bad_images.then = OnBadImage::drop;
    Loader loader(images_from(images_, start_), pipeline_for(request_, side), options);
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t rest = images_->size() - start_;
    for (std::int64_t seen = 0; loader.has_next();) {
      const Batch batch = loader.next();
      report_broken(loader.take_bad_images(), writer.left_out());
      seen = std::min(seen + request_.batch_size, rest);
      add(batch, writer);
      writer.leave_out(start_ + seen - writer.done());
      show(seen, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      if (SignalRequest::pending() != 0) return false;
    }
    return true;
  }

  /// Broken images lack in the batch, and are left out of the file.
  void add(const Batch& batch, LatentWriter& writer) {
    if (batch.size() == 0) return;
    const Tensor moments = moments_of(batch.images);
    const Tensor flipped = info_.has_flipped ? moments_of(mirrored(batch.images)) : Tensor();
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const auto rows = [&](const Tensor& all) {
        return all.defined() ? ops::slice(all, 0, row, row + 1).contiguous() : all;
      };
      const std::int64_t image = start_ + batch.indices.data<std::int64_t>()[row];
      writer.leave_out(image - writer.done());
      writer.add(rows(moments), rows(flipped), rows(batch.labels));
    }
    statistics_.add(moments);
  }

  /// Throws if they are too many with those `before`. The file then lacks them, so that the next
  /// call reads them again.
  void report_broken(const std::vector<BrokenImage>& broken, std::int64_t before) {
    const std::int64_t all = images_->size(), count = before + std::ssize(broken);
    for (const BrokenImage& image : broken) line_.print("left out: " + image.message);
    if (broken.empty() ||
        static_cast<double>(count) <= request_.bad_image_limit() * static_cast<double>(all)) {
      return;
    }
    throw TooManyBadImages(concat("encode: ", count, " of ", all,
                                  " images are broken, the last: ", broken.back().message));
  }

  Tensor moments_of(const Tensor& images) const {
    const Vae& model = *vae_.model;
    const Tensor m = model.moments(upload(images, model.device()), ctx_).to(Device{});
    return m.to(DType::f32).contiguous();
  }

  void show(std::int64_t done, double seconds) {
    line_.update({.label = "encoding",
                  .done = done,
                  .total = images_->size() - start_,
                  .seconds = seconds,
                  .img_s = static_cast<double>(done) / std::max(seconds, 1e-9),
                  .note = {}});
  }

  const EncodeRequest& request_;
  const LoadedVae& vae_;
  std::shared_ptr<const Dataset> images_;
  ProgressLine& line_;
  LatentInfo info_;
  LatentStatistics statistics_;  ///< of the images of this call
  std::int64_t start_ = 0, left_out_ = 0;
  Context ctx_;
};

std::shared_ptr<const Dataset> open_images(const EncodeRequest& r, ProgressLine& line) {
  auto images = open_dataset(r.data, r.split == "train" ? Split::train : Split::test);
  if (!images->notice().empty()) line.print("note: " + images->notice());
  return images;
}

/// Lists the broken images. Returns the exit code.
int verify(const Dataset& images, ProgressLine& line) {
  const SignalRequest signals;
  const std::vector<BrokenImage> broken = verify_dataset(images, [&](std::int64_t done) {
    line.update({.label = "verifying", .done = done, .total = images.size(), .note = {}});
    return SignalRequest::pending() == 0;
  });
  for (const BrokenImage& image : broken) line.print("broken: " + image.message);
  line.print(concat(broken.size(), " of ", images.size(), " images are broken"));
  if (SignalRequest::pending() != 0) return 128 + SignalRequest::pending();
  return broken.empty() ? 0 : 1;
}

/// As the flag says, or as the VAE saw its training images.
ExifOrientation orientation_of(const EncodeRequest& r, const LoadedVae& vae) {
  if (r.exif_orientation.empty()) return read_weights_info(vae.weights).exif_orientation;
  return parse_name<ExifOrientation>("--exif-orientation", r.exif_orientation);
}

}  // namespace

int encode(int argc, char** argv) {
  require_one_process();
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
  if (request.verify_data) return verify(*open_images(request, line), line);
  const LoadedVae vae = load_vae(request.vae, {DType::f32, device});
  request.data.exif_orientation = orientation_of(request, vae);
  const auto images = open_images(request, line);
  for (const std::string& note : vae.notes) {
    line.print(concat("note: ", vae.weights.string(), " ", note));
  }
  if (const std::string failure = keep_vae(request.vae, vae.hash); !failure.empty()) {
    line.print(concat("note: the weights of ", request.vae, " cannot be kept (", failure,
                      "); if that run is continued, these latents lose their VAE"));
  }
  Encoding encoding(request, vae, images, line);
  const SignalRequest signals;
  if (!encoding.run()) return 128 + SignalRequest::pending();
  encoding.report();
  return 0;
}

}  // namespace fovea::programs
