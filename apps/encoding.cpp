// Rounds of images: read, encoded and written.
#include "apps/encoding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "apps/common/progress_line.h"
#include "apps/common/rounds.h"
#include "apps/common/signals.h"
#include "data/geometry/adm_crop.h"
#include "data/image_list.h"
#include "data/loading/loader.h"
#include "data/sources/image_subset.h"
#include "data/sources/packed/latent_writer.h"
#include "engine/autograd.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/upload.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/loop/evaluation_pass.h"
#include "train/run/image_lists.h"

namespace fovea {
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

/// What decides the latents beside the VAE and the preparation, so that a stopped call is continued
/// with the same images.
Metadata origin_of(const EncodeRequest& r, const Dataset& images) {
  Sha256 list;
  list.add(format_image_list(image_list(images)));
  Metadata origin{{"images", list.finish()}};
  if (r.precision != "f32") origin["precision"] = r.precision;
  if (images.exif_orientation() != ExifOrientation::ignore) {
    origin["exif_orientation"] = name_of(images.exif_orientation());
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

/// Images with what the file keeps of them.
struct EncodedImages {
  Tensor images;            ///< i64 [B], their numbers in the data set
  Tensor labels;            ///< i64 [B]
  Tensor moments, flipped;  ///< f32 [B, 2C, h, w]; the mirrored images' may be undefined
};

/// Encodes the images in rounds, of which every process makes a part; the first one writes the
/// file.
class Encoding {
 public:
  Encoding(const EncodeRequest& request, const LoadedVae& vae,
           std::shared_ptr<const Dataset> images, Communicator& processes)
      : request_(request), vae_(vae), images_(std::move(images)), processes_(processes) {
    const std::int64_t latent = side() / vae.model->config().factor();
    info_.source = {.vae = vae.model->info().name,
                    .hash = vae.hash,
                    .scale = request.scaling_factor > 0 ? request.scaling_factor
                                                        : vae.model->config().scaling_factor,
                    .preparation = concat(request.crop, " ", side())};
    info_.channels = vae.model->config().latent_channels;
    info_.size = {latent, latent};
    info_.has_flipped = request.flips;
    info_.classes = images_->class_names();
    if (info_.classes.empty()) info_.classes = {"image"};
    info_.others = origin_of(request, *images_);
  }

  /// Writes the file. Returns false if a signal stopped it: the next call continues.
  bool run() {
    const NoGrad no_grad;
    require_same(processes_, "images", info_.others.at("images"));
    if (processes_.is_first()) {
      writer_.emplace(request_.output, info_, images_->size(), request_.overwrite);
      start_ = writer_->done();
      tell_of_earlier();
    }
    broadcast(processes_, std::as_writable_bytes(std::span(&start_, 1)));
    const bool is_complete = add_all();
    if (writer_) close(is_complete);
    return is_complete;
  }

 private:
  [[nodiscard]] std::int64_t side() const { return side_of(request_, vae_.model->config()); }

  void tell_of_earlier() {
    if (start_ == 0) return;
    line_.print(note_of(concat(
        "continues ", request_.output, ".partial after ", start_, " of ", images_->size(),
        " images",
        writer_->left_out() > 0 ? concat(", ", writer_->left_out(), " of them left out") : "")));
  }

  /// Returns false if a signal has stopped one of the processes.
  bool add_all() {
    const Rounds rounds{
        .items = images_->size(), .batch = request_.batch_size, .processes = processes_};
    own_ = own_images(rounds);
    const std::unique_ptr<Loader> loader = loader_of_own();
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t done = start_; done < rounds.items;) {
      const Round round = rounds.from(done);
      add(round, round.own() > 0 ? loader.get() : nullptr);
      done = round.end;
      show(done - start_,
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      const bool is_stopped = any(processes_, SignalRequest::pending() != 0);
      if (is_stopped && done < rounds.items) return false;
    }
    return true;
  }

  /// The images of this process in all rounds.
  [[nodiscard]] std::vector<std::int64_t> own_images(const Rounds& rounds) const {
    std::vector<std::int64_t> own;
    for (std::int64_t done = start_; done < rounds.items;) {
      const Round round = rounds.from(done);
      for (std::int64_t image = round.own_first; image < round.own_end; ++image) {
        own.push_back(image);
      }
      done = round.end;
    }
    return own;
  }

  /// Its batches are this process's parts of the rounds; null if it has none.
  [[nodiscard]] std::unique_ptr<Loader> loader_of_own() const {
    if (own_.empty()) return nullptr;
    LoaderOptions options =
        evaluation_loader_options(request_.batch_size, static_cast<int>(request_.workers));
    options.bad_images.then = OnBadImage::drop;
    return std::make_unique<Loader>(std::make_shared<ImageSubset<Dataset>>(images_, own_, ""),
                                    pipeline_for(request_, side()), options);
  }

  /// Adds the images of a round, of which `loader` has this process's; null: it has none. Broken
  /// images lack in the batch, and are left out of the file.
  void add(const Round& round, Loader* loader) {
    const Batch batch = loader != nullptr ? loader->next() : Batch();
    const std::vector<BrokenImage> broken =
        loader != nullptr ? loader->take_bad_images() : std::vector<BrokenImage>();
    report_broken(all_bad_images(broken, processes_));
    const EncodedImages all = gathered(encoded(batch));
    if (!writer_) return;
    for (std::int64_t row = 0; row < all.images.size(0); ++row) {
      const auto rows = [&](const Tensor& values) {
        return values.defined() ? ops::slice(values, 0, row, row + 1).contiguous() : values;
      };
      writer_->leave_out(all.images.data<std::int64_t>()[row] - writer_->done());
      writer_->add(rows(all.moments), rows(all.flipped), rows(all.labels));
    }
    writer_->leave_out(round.end - writer_->done());
    if (all.images.size(0) > 0) statistics_.add(all.moments);
  }

  [[nodiscard]] EncodedImages encoded(const Batch& batch) const {
    if (batch.size() == 0) {
      const Tensor none = empty({0}, {DType::i64, {}});
      const Tensor moments = empty({0, 2 * info_.channels, info_.size.height, info_.size.width});
      return {none, none, moments, info_.has_flipped ? moments : Tensor()};
    }
    const Tensor images = empty(batch.indices.shape(), batch.indices.options());
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const std::int64_t place = batch.indices.data<std::int64_t>()[row];
      images.data<std::int64_t>()[row] = own_[static_cast<std::size_t>(place)];
    }
    return {images, batch.labels, moments_of(batch.images),
            info_.has_flipped ? moments_of(mirrored(batch.images)) : Tensor()};
  }

  /// Those of all processes at the first one.
  [[nodiscard]] EncodedImages gathered(const EncodedImages& own) const {
    return {gather_rows(processes_, own.images), gather_rows(processes_, own.labels),
            gather_rows(processes_, own.moments),
            info_.has_flipped ? gather_rows(processes_, own.flipped) : Tensor()};
  }

  /// Throws at the first process if they are too many with those before. The file then lacks them,
  /// so that the next call reads them again.
  void report_broken(const std::vector<BrokenImage>& broken) {
    if (broken.empty() || !writer_) return;
    const std::int64_t all = images_->size(), count = writer_->left_out() + std::ssize(broken);
    for (const BrokenImage& image : broken) line_.print("left out: " + image.message);
    if (static_cast<double>(count) <= request_.bad_image_limit() * static_cast<double>(all)) {
      return;
    }
    throw TooManyBadImages(concat("encode: ", count, " of ", all,
                                  " images are broken, the last: ", broken.back().message));
  }

  [[nodiscard]] Tensor moments_of(const Tensor& images) const {
    const Vae& model = *vae_.model;
    Context ctx;
    ctx.activations = parse_dtype(request_.precision);
    const Tensor m = model.moments(upload(images, model.device()), ctx).to(Device{});
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

  void close(bool is_complete) {
    if (is_complete) {
      writer_->finish();
      return report();
    }
    writer_->commit();
    line_.print(concat("stopped   after ", writer_->done(), " of ", images_->size(),
                       " images; the same command continues"));
  }

  void report() {
    const std::int64_t left_out = writer_->left_out();
    const std::string text =
        concat("wrote ", request_.output, ": ", images_->size() - left_out, " images",
               left_out > 0 ? concat(" (", left_out, " broken ones left out)") : "",
               ", latents of ", info_.channels, "x", to_string(info_.size));
    if (statistics_.is_empty()) return line_.print(text);
    const double deviation = statistics_.deviation(), scaled = deviation * info_.source.scale;
    line_.print(concat(text, ", mean ", general_text(statistics_.mean(), 4),
                       ", standard deviation ", general_text(deviation, 4), ", scaled ",
                       general_text(scaled, 4), start_ > 0 ? " (of the images of this call)" : ""));
    if (scaled > 0.5 && scaled < 2) return;
    line_.print(
        note_of(concat("diffusion expects scaled latents with a standard deviation of about "
                       "1; --scaling-factor ",
                       general_text(1 / deviation, 4), " gives that")));
  }

  const EncodeRequest& request_;
  const LoadedVae& vae_;
  std::shared_ptr<const Dataset> images_;
  Communicator& processes_;
  ProgressLine line_{/*descriptor=*/1};
  LatentInfo info_;
  std::optional<LatentWriter> writer_;  ///< of the first process
  std::vector<std::int64_t> own_;       ///< the images of this process
  LatentStatistics statistics_;         ///< of the images of this call
  std::int64_t start_ = 0;              ///< images of earlier calls
};

}  // namespace

bool encode_images(const EncodeRequest& request, const LoadedVae& vae,
                   const std::shared_ptr<const Dataset>& images, Communicator& processes) {
  return Encoding(request, vae, images, processes).run();
}

}  // namespace fovea
