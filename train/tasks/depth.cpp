// The depth task: loss, measures, pictures.
#include "train/tasks/depth.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "data/figures/colormap.h"
#include "data/figures/contact_sheet.h"
#include "data/figures/depth_figure.h"
#include "data/figures/generated_pictures.h"
#include "engine/base/program_call.h"
#include "models/model_as.h"
#include "ops/view.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/depth_sample.h"

namespace fovea {
namespace {

constexpr std::int64_t kDepthsShown = 8;
constexpr std::int64_t kDepthSide = 192;  // pixels of an enlarged picture, at most
constexpr std::size_t kLossSums = 2;      // the loss and its weight, before those of the measures

/// Adds depths f64 [B, H, W] on the CPU in colours from 0 to `most`.
void add_colored(std::vector<Image>& pictures, const Tensor& depths, double most) {
  const ImageSize size{depths.size(1), depths.size(2)};
  const auto area = static_cast<std::size_t>(size.height * size.width);
  const std::span<const double> all(depths.data<double>(),
                                    static_cast<std::size_t>(depths.numel()));
  for (std::size_t first = 0; first < all.size(); first += area)
    pictures.push_back(colored_depth({all.subspan(first, area), size}, most));
}

/// The whole number by which a picture grows to at most kDepthSide pixels on each side.
std::int64_t enlargement(const Image& picture) {
  return std::max<std::int64_t>(1, kDepthSide / std::max(picture.height, picture.width));
}

}  // namespace

TaskInfo depth_info() {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "rmse", .title = "RMSE", .chart = "RMSE in metres"},
                   {.name = "rmse_image", .title = "RMSE per image", .chart = "RMSE in metres"},
                   {.name = "absrel", .title = "AbsRel", .chart = "Relative error"},
                   {.name = "log10", .title = "log10", .chart = "Relative error"}};
  for (const char* share : {"delta1", "delta2", "delta3"}) {
    info.measures.push_back({.name = share,
                             .title = share,
                             .chart = "Pixels within 1.25, 1.25^2, 1.25^3",
                             .is_percent = true,
                             .more_is_better = true});
  }
  info.measures.push_back(
      {.name = "rmse_of_median", .title = "RMSE of the train median", .chart = "RMSE in metres"});
  info.measures.push_back(
      {.name = "rmse_of_mean", .title = "RMSE of the per-pixel mean", .chart = "RMSE in metres"});
  info.best = 1;
  info.has_divisors = info.has_targets = info.needs_training_images = true;
  info.pictures = "Pictures, depths and predictions";
  info.next_steps = {{"all measures beside the baselines",
                      program_call("evaluate") + " RUN --protocol full,full+median"},
                     {"depth of your pictures as 16-bit PNG",
                      program_call("predict") + " RUN PICTURES --output FOLDER"}};
  return info;
}

DepthEstimation::DepthEstimation(Model& model, const DepthProtocol& protocol, const Dataset* images,
                                 Notices notices)
    : model_(model_as<DepthTransformer>(model)),
      protocol_(protocol),
      images_(images),
      info_(depth_info()),
      notices_(std::move(notices)) {
  if (images != nullptr) require_depths(*images);
}

TaskLoss DepthEstimation::loss(const Batch& batch, Context& ctx) const {
  const Tensor depths = model_.forward(batch.images, ctx);
  std::optional<double> pixels;
  if (!batch.divisors.empty()) pixels = batch.divisors[0] * batch.share();
  return {depth_loss(model_.loss(), depths, depths_of(batch, DepthSource::filled), pixels)};
}

std::vector<double> DepthEstimation::divisors(const Batch& batch) const {
  return {known_pixels(depths_of(batch, DepthSource::filled))};
}

const DepthBaselines& DepthEstimation::baselines(const EvaluateOptions& options) const {
  std::call_once(measured_, [&] {
    check(images_ != nullptr, "depth: an evaluation needs the training images for its baselines");
    baselines_ = measure_baselines(model_, *images_, options);
  });
  return *baselines_;
}

void DepthEstimation::require_evaluable(const Dataset& images) const {
  require_depths(images, {protocol_});
}

Notices DepthEstimation::evaluation_notices(const Dataset& images) const {
  Notices notices;
  const DepthSample sample = sample_depths(images, protocol_);
  if (sample.maps == 0 || sample.counted > 0) return notices;
  const std::string why = sample.known == 0 ? "has a known depth"
                                            : "counts by the protocol " + to_text(protocol_) +
                                                  ", of depths of " + range_text(sample);
  notices.add("test images: no pixel of the ", sample.maps, " maps looked at ", why,
              "; without any there is no RMSE and no best epoch");
  return notices;
}

EvaluationResult DepthEstimation::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                           const EvaluateOptions& options) const {
  const DepthResults results =
      evaluate_depth(model_, dataset, options, {protocol_}, baselines(options));
  std::vector<double> sums{results.loss_sum, results.loss_weight};
  const std::vector<double> measured = results.protocols[0].to_vector();
  sums.insert(sums.end(), measured.begin(), measured.end());
  return {ScoreSums{sums, results.pass.samples}, results.pass};
}

Scores DepthEstimation::from_sums(const ScoreSums& sums) const {
  const std::span<const double> values(sums.values);
  const DepthComparison found = DepthComparison::from(values.subspan(kLossSums));
  Scores scores{values[1] > 0 ? values[0] / values[1] : std::numeric_limits<double>::quiet_NaN()};
  const DepthMeasures model = found.model.measures();
  for (std::size_t i = 0; i < model.size(); ++i)
    scores.push_back(i >= kDelta1 ? 100 * model[i] : model[i]);
  scores.push_back(found.median.measures()[kRmse]);
  scores.push_back(found.mean.measures()[kRmse]);
  return scores;
}

std::optional<Image> DepthEstimation::picture(const std::shared_ptr<const Dataset>& dataset,
                                              const EvaluateOptions& options) const {
  EvaluateOptions few = options;
  few.batch_size = std::min(kDepthsShown, dataset->size());
  few.on_batch = [](std::int64_t) { return false; };
  std::optional<Image> picture;
  const auto show = [&](const EvaluationBatch& batch) {
    const Tensor output = model_.forward(batch.there.images, batch.ctx);
    const Tensor predicted = output.to(Device{}).to(DType::f64).contiguous();
    const Tensor depths = depths_of(batch.host, DepthSource::filled).to(DType::f64);
    const std::vector<double> metres = depths.to_vector();
    const double most = std::max(1e-3, *std::max_element(metres.begin(), metres.end()));
    std::vector<Image> pictures;
    for (std::int64_t b = 0; b < batch.host.size(); ++b) {
      const Tensor one = ops::slice(batch.host.images, 0, b, b + 1);
      pictures.push_back(contact_sheet(one, options.normalization, 1));
    }
    add_colored(pictures, depths, most);
    add_colored(pictures, predicted, most);
    for (Image& shown : pictures) shown = enlarged(shown, enlargement(shown));
    picture = with_depth_scale(picture_grid(pictures, batch.host.size()), most);
    return std::int64_t{0};
  };
  static_cast<void>(evaluate_batches(model_, dataset, few, show));
  return picture;
}

}  // namespace fovea
