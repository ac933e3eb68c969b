// Which patches are hidden, and what is made of them.
#include "train/tasks/masked_autoencoding.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "engine/autograd.h"
#include "engine/upload.h"
#include "figures/contact_sheet.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "train/loop/read_together.h"
#include "train/tasks/hole_filling.h"

namespace fovea {
namespace {

constexpr std::uint64_t kMaskStream = 0x6D61736B;    // "mask": of training
constexpr std::uint64_t kEvaluationStream = 0x6576;  // "ev": of held-out images
constexpr std::int64_t kImagesShown = 8;

Mae& as_mae(Model& model) {
  auto* const mae = dynamic_cast<Mae*>(&model);
  check(mae != nullptr, "masked autoencoding: ", model.info().name, " is no masked autoencoder");
  return *mae;
}

}  // namespace

TaskInfo masked_autoencoding_info() {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "fill", .title = "loss of filling by distance"}};
  info.pictures = "Reconstructions";
  info.next_steps = "  ./run inspect mae RUN          what it makes of hidden patches\n";
  return info;
}

Tensor mask_noise(const RandomKey& key, const Tensor& indices, std::int64_t patches) {
  std::map<std::int64_t, std::uint64_t> met;
  std::vector<Tensor> rows;
  for (std::int64_t b = 0; b < indices.size(0); ++b) {
    const std::int64_t index = indices.data<std::int64_t>()[b];
    const RandomKey own{key.seed,
                        stream_of(key.stream, static_cast<std::uint64_t>(index), met[index]++)};
    rows.push_back(rand_uniform({1, patches}, {0, 1}, own));
  }
  return ops::cat(rows, 0);
}

Tensor held_out_noise(const Tensor& indices, std::int64_t patches) {
  return mask_noise({kEvaluationStream, 0}, indices, patches);
}

MaeErrors::MaeErrors(Mae& model, const Tensor& images, const Tensor& noise, Context& ctx,
                     const Tensor& there) {
  const NoGrad no_grad;
  const MaeConfig& c = model.config();
  const Tensor seen = there.defined() ? there : upload(images, model.device());
  const Masking masking(upload(noise, model.device()), c.kept());
  const Tensor pixels = model.reconstruct(seen, masking, ctx).pixels;
  hidden = Masking(noise, c.kept()).hidden;  // the same: the device is not asked for it
  filled = fill_holes(images, hidden, c.image.patch_size);
  const Tensor guess = upload(PatchTargets(filled, c).values(), model.device());
  const auto read =
      read_together({model.loss(seen, masking, pixels), model.loss(seen, masking, guess), pixels});
  loss = read[0].item();
  fill_loss = read[1].item();
  nonfinite = nonfinite_rows(ops::reshape(read[2], {images.size(0), -1}));
  predicted = read[2].to(DType::f32);
}

MaeViews::MaeViews(Mae& model, const Tensor& images, const Tensor& noise, Context& ctx)
    : MaeErrors(model, images, noise, ctx) {
  const NoGrad no_grad;
  const MaeConfig& c = model.config();
  const Tensor mask = ops::reshape(hidden, {hidden.size(0), hidden.size(1), 1});
  const Tensor kept = patch_pixels(images, c.image.patch_size) * (mask * -1.0 + 1.0);
  const Tensor colours = PatchTargets(images, c).to_pixels(predicted);
  seen = images_of_patches(kept, c.image);
  reconstructed = images_of_patches(kept + colours * mask, c.image);
}

MaskedAutoencoding::MaskedAutoencoding(TaskInfo info, const ModelInfo& model, std::uint64_t seed)
    : info_(std::move(info)), seed_(seed) {
  nlohmann::json config = parse_json(model.config);
  config.erase("family");
  patches_ = read_mae_config(config).image.patches();
}

Batch MaskedAutoencoding::prepare(Batch batch, const BatchPlace& place) const {
  const RandomKey key{stream_of(kMaskStream, seed_), static_cast<std::uint64_t>(place.step)};
  batch.set("noise", mask_noise(key, batch.indices, patches_));
  return batch;
}

TaskLoss MaskedAutoencoding::loss(Model& model, const Batch& batch, Context& ctx) const {
  const Mae& mae = as_mae(model);
  const Masking masking(batch.at("noise"), mae.config().kept());
  return {mae.loss(batch.images, masking, mae.reconstruct(batch.images, masking, ctx).pixels)};
}

Task::Evaluated MaskedAutoencoding::evaluate(Model& model,
                                             const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const {
  Mae& mae = as_mae(model);
  double loss = 0, fill = 0;
  const auto measure = [&](const EvaluationBatch& batch) {
    const MaeErrors errors(mae, batch.host.images, held_out_noise(batch.host.indices, patches_),
                           batch.ctx, batch.there.images);
    const auto images = static_cast<double>(batch.host.size());
    loss += errors.loss * images;
    fill += errors.fill_loss * images;
    return errors.nonfinite;
  };
  const EvaluationPass pass = evaluate_batches(model, dataset, options, measure);
  return {{{loss, fill}, pass.samples}, pass};
}

std::optional<Image> MaskedAutoencoding::picture(Model& model,
                                                 const std::shared_ptr<const Dataset>& dataset,
                                                 const EvaluateOptions& options) const {
  Mae& mae = as_mae(model);
  EvaluateOptions few = options;
  few.batch_size = std::min(kImagesShown, dataset->size());
  few.on_batch = [](std::int64_t) { return false; };
  std::optional<Image> picture;
  const auto show = [&](const EvaluationBatch& batch) {
    const Tensor& images = batch.host.images;
    const MaeViews views(mae, images, held_out_noise(batch.host.indices, patches_), batch.ctx);
    const Tensor rows = ops::cat({images, views.seen, views.reconstructed}, 0);
    picture = contact_sheet(rows, options.normalization, batch.host.size());
    return std::int64_t{0};
  };
  static_cast<void>(evaluate_batches(model, dataset, few, show));
  return picture;
}

}  // namespace fovea
