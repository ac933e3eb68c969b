// Greedy matching by score: each detection takes the best object that is still free.
#include "models/detection/image_matching.h"

#include <algorithm>
#include <numeric>

namespace fovea::detail {
namespace {

constexpr std::int64_t kNone = -1;

template <int kCount>
std::array<double, kCount> evenly_spaced(double first, double last) {
  const double step = (last - first) / (kCount - 1);
  std::array<double, kCount> values;
  for (std::size_t i = 0; i < kCount; ++i) values[i] = first + static_cast<double>(i) * step;
  values.back() = last;
  return values;
}

/// The intersection over the union; over the detection's area for a crowd.
double overlap(const ScoredBox& d, const TruthBox& t) {
  const double width = std::min(d.x + d.width, t.x + t.width) - std::max(d.x, t.x);
  const double height = std::min(d.y + d.height, t.y + t.height) - std::max(d.y, t.y);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height, own = d.width * d.height;
  return both / (t.crowd ? own : own + t.width * t.height - both);
}

/// The detections that are kept, by falling score; equal scores in the order given.
std::vector<ScoredBox> best_detections(std::span<const ScoredBox> detections) {
  std::vector<ScoredBox> best(detections.begin(), detections.end());
  std::stable_sort(best.begin(), best.end(),
                   [](const ScoredBox& a, const ScoredBox& b) { return a.score > b.score; });
  if (best.size() > kMaxDetections) best.resize(kMaxDetections);
  return best;
}

/// The objects of one size: those that count first, in the order given, then those that do not.
struct Candidates {
  std::vector<std::size_t> order;
  std::size_t counted = 0;

  Candidates(std::span<const TruthBox> truth, const AreaRange& range) : order(truth.size()) {
    std::iota(order.begin(), order.end(), 0);
    const auto ignored = std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
      return !truth[i].crowd && range.contains(truth[i].area);
    });
    counted = static_cast<std::size_t>(ignored - order.begin());
  }
};

/// All pairs of an image.
struct Pairs {
  std::span<const TruthBox> truth;
  std::span<const ScoredBox> detections;
  std::vector<double> ious;  ///< [detection, object]

  [[nodiscard]] double iou(std::size_t detection, std::size_t object) const {
    return ious[detection * truth.size() + object];
  }
};

/// The position in `candidates` of the object that a detection takes, or kNone: of highest IoU, of
/// equal ones the last; one that does not count only if none that counts fits.
std::int64_t choose(const Pairs& pairs, const Candidates& candidates, std::size_t detection,
                    double threshold, const std::vector<char>& is_taken) {
  double best = std::min(threshold, 1 - 1e-10);
  std::int64_t chosen = kNone;
  for (std::size_t k = 0; k < candidates.order.size(); ++k) {
    if (k == candidates.counted && chosen != kNone) break;
    const std::size_t object = candidates.order[k];
    if (is_taken[k] != 0 && !pairs.truth[object].crowd) continue;
    if (pairs.iou(detection, object) < best) continue;
    best = pairs.iou(detection, object);
    chosen = static_cast<std::int64_t>(k);
  }
  return chosen;
}

std::vector<Verdict> judge(const Pairs& pairs, const Candidates& candidates, const AreaRange& range,
                           double threshold) {
  std::vector<char> is_taken(candidates.order.size(), 0);
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < pairs.detections.size(); ++i) {
    const std::int64_t chosen = choose(pairs, candidates, i, threshold, is_taken);
    if (chosen == kNone) {
      const ScoredBox& d = pairs.detections[i];
      verdicts.push_back(range.contains(d.width * d.height) ? Verdict::wrong : Verdict::ignored);
      continue;
    }
    const auto at = static_cast<std::size_t>(chosen);
    is_taken[at] = 1;
    verdicts.push_back(at < candidates.counted ? Verdict::right : Verdict::ignored);
  }
  return verdicts;
}

}  // namespace

std::array<double, kIouThresholds> iou_thresholds() {
  return evenly_spaced<kIouThresholds>(0.5, 0.95);
}
std::array<double, kRecallPoints> recall_points() { return evenly_spaced<kRecallPoints>(0, 1); }

ImageMatching match_image(std::span<const TruthBox> truth, std::span<const ScoredBox> detections) {
  const std::vector<ScoredBox> best = best_detections(detections);
  Pairs pairs{truth, best, {}};
  ImageMatching matching;
  for (const ScoredBox& d : best) {
    matching.scores.push_back(d.score);
    for (const TruthBox& t : truth) pairs.ious.push_back(overlap(d, t));
  }
  const std::array thresholds = iou_thresholds();
  for (std::size_t size = 0; size < kSizes; ++size) {
    const Candidates candidates(truth, kAreaRanges[size]);
    matching.objects[size] = static_cast<std::int64_t>(candidates.counted);
    for (std::size_t t = 0; t < kIouThresholds; ++t) {
      matching.verdicts[size][t] = judge(pairs, candidates, kAreaRanges[size], thresholds[t]);
    }
  }
  return matching;
}

}  // namespace fovea::detail
