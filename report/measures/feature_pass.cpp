// The loop over batches.
#include "report/measures/feature_pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "data/loading/loader.h"
#include "engine/base/error.h"
#include "ops/view.h"
#include "report/measures/inception_score.h"

namespace fovea {
namespace {

void require_finite_rows(const Tensor& features, const Tensor& indices, const Dataset& images,
                         const SpaceInfo& space) {
  const std::int64_t d = features.size(1);
  for (std::int64_t i = 0; i < features.size(0); ++i) {
    const float* const row = features.data<float>() + i * d;
    const bool ok = std::all_of(row, row + d, [](float v) { return std::isfinite(v); });
    check(ok, images.describe(indices.data<std::int64_t>()[i]), ": the features of ", space.network,
          " for it are not finite; are the weights ", space.weights, " damaged?");
  }
}

/// Counts pictures whose largest logit is their label's.
void add_accuracy(SetFeatures& set, const Tensor& logits, const Tensor& labels,
                  const std::vector<std::int64_t>& classes) {
  const std::int64_t count = logits.size(1);
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    const std::int64_t label = labels.data<std::int64_t>()[i];
    if (label < 0 || label >= std::ssize(classes)) continue;
    const float* const row = logits.data<float>() + i * count;
    const std::int64_t found = std::max_element(row, row + count) - row;
    ++set.asked;
    set.right += found == classes[static_cast<std::size_t>(label)] ? 1 : 0;
  }
}

std::string_view row_bytes(const Tensor& rows, std::int64_t index) {
  const auto size = static_cast<std::size_t>(rows.size(1)) * sizeof(float);
  return {reinterpret_cast<const char*>(rows.data<float>() + index * rows.size(1)), size};
}

}  // namespace

FeatureStatistics statistics_of_rows(const Tensor& rows) {
  StatisticsSum sum;
  sum.add(rows);
  return sum.finish();
}

std::optional<double> SetFeatures::accuracy() const {
  if (asked == 0) return {};
  return static_cast<double>(right) / static_cast<double>(asked);
}

SetFeatures SetFeatures::subset(std::span<const std::int64_t> indices) const {
  SetFeatures part;
  part.rows = empty({std::ssize(indices), rows.size(1)});
  for (std::int64_t i = 0; i < std::ssize(indices); ++i) {
    const std::string_view row = row_bytes(rows, indices[static_cast<std::size_t>(i)]);
    std::memcpy(part.rows.data<float>() + i * rows.size(1), row.data(), row.size());
  }
  part.statistics = statistics_of_rows(part.rows);
  return part;
}

std::int64_t SetFeatures::rows_also_in(const SetFeatures& other) const {
  std::unordered_set<std::string_view> known;
  for (std::int64_t i = 0; i < other.count(); ++i) known.insert(row_bytes(other.rows, i));
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < count(); ++i) equal += known.contains(row_bytes(rows, i)) ? 1 : 0;
  return equal;
}

SetFeatures read_features(FeatureSpace& space, const std::shared_ptr<const Dataset>& images,
                          const PassOptions& options) {
  Loader loader(images, space.pipeline(),
                evaluation_loader_options(options.batch_size, options.workers));
  SetFeatures set;
  StatisticsSum statistics, spatial;
  InceptionScore score(options.split);
  std::int64_t done = 0;
  while (loader.has_next()) {
    const Batch batch = loader.next();
    const FeatureSpace::Output out = space(batch.images);
    require_finite_rows(out.features, batch.indices, *images, space.info());
    if (!set.rows.defined()) {
      if (options.on_features) options.on_features(out.features.size(1));
      set.rows = empty({images->size(), out.features.size(1)});
    }
    ops::slice(set.rows, 0, done, done + batch.size()).copy_(out.features);
    statistics.add(out.features);
    if (out.spatial.defined()) spatial.add(out.spatial);
    score.add_logits(out.logits);
    add_accuracy(set, out.logits, batch.labels, options.classes);
    done += batch.size();
    if (options.on_batch) options.on_batch(done);
  }
  set.statistics = statistics.finish();
  if (spatial.count() > 0) set.spatial = spatial.finish();
  set.inception_score = score.mean();
  return set;
}

}  // namespace fovea
