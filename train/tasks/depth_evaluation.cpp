// The pass of depth's evaluation, and the baselines.
#include "train/tasks/depth_evaluation.h"

#include <algorithm>
#include <limits>

#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

constexpr const char* kDepth = "depth";
constexpr const char* kRawDepth = "raw_depth";

/// Row `b` of depths f64 [B, H, W] on the CPU.
DepthPicture row_of(const Tensor& depths, std::int64_t b) {
  const std::int64_t height = depths.size(1), width = depths.size(2), area = height * width;
  return {{depths.data<double>() + b * area, static_cast<std::size_t>(area)}, height, width};
}

/// What a batch's loss counts as: the known pixels of l1, the images of scale_invariant.
double loss_weight(DepthLoss loss, const Tensor& depths) {
  if (loss == DepthLoss::scale_invariant) return static_cast<double>(depths.size(0));
  const Tensor nothing = zeros({1}, depths.options());
  return ops::sum(ops::greater(depths, nothing).to(DType::f32)).item();
}

const DenseMap* find_map(const Sample& sample, std::string_view name) {
  const auto& maps = sample.targets.maps;
  const auto found =
      std::find_if(maps.begin(), maps.end(), [&](const DenseMap& map) { return map.name == name; });
  return found == maps.end() ? nullptr : &*found;
}

void measure_batch(const std::vector<DepthProtocol>& protocols, const DepthBaselines& baselines,
                   const Batch& host, const Tensor& predicted, DepthResults& results) {
  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const Tensor depths = depths_of(host, protocols[i].source).to(DType::f64);
    DepthComparison& sums = results.protocols[i];
    for (std::int64_t b = 0; b < host.size(); ++b) {
      const DepthPicture depth = row_of(depths, b);
      sums.model += measure_depth(protocols[i], row_of(predicted, b), depth);
      sums.median += measure_depth(protocols[i], baselines.median_picture(), depth);
      sums.mean += measure_depth(protocols[i], baselines.mean_picture(), depth);
    }
  }
}

/// The first picture that is not broken: the loader counts those that are.
Sample first_readable(const Dataset& dataset) {
  for (std::int64_t i = 0;; ++i) try {
      return dataset.get(i);
    } catch (const ImageError&) {
      if (i + 1 >= dataset.size()) throw;
    }
}

void require_raw(bool has_raw_depth) {
  check(has_raw_depth, "--protocol raw: the data set has no raw depth, expected a map \"",
        kRawDepth, "\"; use filled");
}

}  // namespace

std::vector<double> DepthComparison::to_vector() const {
  std::vector<double> values;
  for (const DepthSums& sums : {model, median, mean}) {
    const std::vector<double> own = sums.to_vector();
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

DepthComparison DepthComparison::from(std::span<const double> values) {
  check(values.size() == kDepthComparisonSums, "DepthComparison: got ", values.size(),
        " values, expected ", kDepthComparisonSums);
  return {DepthSums::from(values.subspan(0, kDepthSums)),
          DepthSums::from(values.subspan(kDepthSums, kDepthSums)),
          DepthSums::from(values.subspan(2 * kDepthSums, kDepthSums))};
}

std::vector<double> DepthResults::to_vector() const {
  std::vector<double> values{loss_sum, loss_weight};
  for (const DepthComparison& protocol : protocols) {
    const std::vector<double> own = protocol.to_vector();
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

DepthResults DepthResults::from(std::span<const double> values) {
  DepthResults results;
  results.loss_sum = values[0];
  results.loss_weight = values[1];
  for (std::size_t at = 2; at < values.size(); at += kDepthComparisonSums)
    results.protocols.push_back(DepthComparison::from(values.subspan(at, kDepthComparisonSums)));
  return results;
}

double DepthResults::loss() const {
  return loss_weight > 0 ? loss_sum / loss_weight : std::numeric_limits<double>::quiet_NaN();
}

const DenseMap* find_depth(const Sample& sample, DepthSource source) {
  return find_map(sample, source == DepthSource::filled ? kDepth : kRawDepth);
}

Tensor depths_of(const Batch& batch, DepthSource source) {
  const Tensor map = source == DepthSource::filled ? batch.at(kDepth) : batch.find(kRawDepth);
  require_raw(map.defined());
  check(map.size(1) == 1, "depth: got ", map.size(1), " channels, expected 1");
  return ops::select(map, 1, 0).contiguous();
}

void require_depths(const Dataset& dataset, const std::vector<DepthProtocol>& protocols) {
  const Sample sample = first_readable(dataset);
  check(find_map(sample, kDepth) != nullptr,
        "--dataset: its pictures have no depth; expected rooms, or pictures with depth maps");
  for (const DepthProtocol& protocol : protocols) {
    require_raw(protocol.source == DepthSource::filled || find_map(sample, kRawDepth) != nullptr);
  }
}

DepthResults evaluate_depth(DepthTransformer& model, const std::shared_ptr<const Dataset>& dataset,
                            const EvaluateOptions& options,
                            const std::vector<DepthProtocol>& protocols,
                            const DepthBaselines& baselines) {
  BatchNumbers numbers;
  const auto measure = [&](const EvaluationBatch& batch) {
    const Tensor target = depths_of(batch.there, DepthSource::filled);
    const auto read = batch.forward({batch.there.images, target}, [&](const auto& there) {
      const Tensor output = model.forward(there[0], batch.ctx);
      return std::vector{depth_loss(model.loss(), output, there[1]), output};
    });
    const double weight = loss_weight(model.loss(), depths_of(batch.host, DepthSource::filled));
    DepthResults own;
    own.protocols.resize(protocols.size());
    own.loss_sum = read[0].item() * weight;
    own.loss_weight = weight;
    const Tensor predicted = read[1].to(DType::f64).contiguous();
    measure_batch(protocols, baselines, batch.host, predicted, own);
    numbers.add(own.to_vector());
    return nonfinite_rows(ops::reshape(predicted, {batch.host.size(), -1}));
  };
  const EvaluationPass pass = evaluate_batches(model, dataset, options, measure);
  const std::size_t count = 2 + protocols.size() * kDepthComparisonSums;
  DepthResults results = DepthResults::from(numbers.sums(*options.processes, count));
  results.pass = pass;
  return results;
}

DepthBaselines measure_baselines(const Model& model, const Dataset& dataset,
                                 const EvaluateOptions& options) {
  const Pipeline pipeline = evaluation_pipeline(evaluation_transform(model, options));
  const std::int64_t count = std::min(dataset.size(), kBaselinePictures);
  DepthStatistics statistics;
  std::vector<float> values;
  Rng unused(0, 0);
  for (std::int64_t i = 0; i < count; ++i) try {
      const Sample sample = pipeline.apply(dataset.get(i * dataset.size() / count), unused);
      const DenseMap* const map = find_map(sample, kDepth);
      check(map != nullptr, "depth baselines: picture ", i, " has no depth");
      const ImageSize size = map->values.size();
      values.resize(static_cast<std::size_t>(size.height * size.width));
      planar_values(map->values, values.data());
      const std::vector<double> depths(values.begin(), values.end());
      statistics.add({depths, size.height, size.width});
    } catch (const ImageError&) {
      continue;  // the loader reports it
    }
  return statistics.baselines();
}

}  // namespace fovea
