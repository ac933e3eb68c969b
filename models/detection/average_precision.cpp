// Average precision: groups the boxes by category and image, ranks the detections of a category
// over all images, and averages.
#include "models/detection/average_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "models/detection/image_matching.h"

namespace fovea {

const std::array<std::string_view, 12> kPrecisionNames{
    "AP",   "AP50",  "AP75",   "AP small", "AP medium", "AP large",
    "AR 1", "AR 10", "AR 100", "AR small", "AR medium", "AR large"};

namespace {

using detail::ImageMatching;
using detail::kMaxDetections;
using detail::Verdict;

constexpr double kNothing = -1;  ///< nothing to average
constexpr std::array<std::size_t, 3> kLimits{1, 10, kMaxDetections};

/// The rank of each ID; throws if one occurs twice.
std::map<std::int64_t, std::size_t> ranks_of(std::span<const std::int64_t> ids, const char* what) {
  std::map<std::int64_t, std::size_t> ranks;
  for (const std::int64_t id : ids) {
    check(ranks.emplace(id, 0).second, "average_precision: ", what, " ", id,
          " is given twice, expected each ID once");
  }
  std::size_t rank = 0;
  for (auto& entry : ranks) entry.second = rank++;
  return ranks;
}

void require_finite(const TruthBox& t) {
  const double sum = t.x + t.y + t.width + t.height + t.area;
  check(std::isfinite(sum), "average_precision: an object of image ", t.image, " and category ",
        t.category, " has a box or an area that is not finite");
}
void require_finite(const ScoredBox& d) {
  const double sum = d.x + d.y + d.width + d.height + d.score;
  check(std::isfinite(sum), "average_precision: a detection in image ", d.image, " of category ",
        d.category, " has a box or a score that is not finite");
}

/// Boxes by category, then by image, in the order given.
template <class Box>
class Grouped {
 public:
  using Ranks = std::map<std::int64_t, std::size_t>;

  Grouped(std::span<const Box> boxes, const Ranks& categories, const Ranks& images)
      : images_(images.size()) {
    std::vector<std::pair<std::size_t, const Box*>> kept;
    for (const Box& box : boxes) {
      const auto category = categories.find(box.category), image = images.find(box.image);
      if (category == categories.end() || image == images.end()) continue;
      require_finite(box);
      kept.emplace_back(category->second * images_ + image->second, &box);
    }
    std::ranges::stable_sort(kept, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [group, box] : kept) {
      groups_.push_back(group);
      boxes_.push_back(*box);
    }
  }

  /// The boxes of a category in an image, both by rank.
  [[nodiscard]] std::span<const Box> of(std::size_t category, std::size_t image) const {
    const auto [first, last] =
        std::equal_range(groups_.begin(), groups_.end(), category * images_ + image);
    return std::span(boxes_).subspan(static_cast<std::size_t>(first - groups_.begin()),
                                     static_cast<std::size_t>(last - first));
  }

 private:
  std::size_t images_;
  std::vector<std::size_t> groups_;  ///< ascending, one per box
  std::vector<Box> boxes_;
};

/// The images of a category that have an object or a detection of it.
using CategoryMatching = std::vector<ImageMatching>;

/// The detections of a category: image and position in it.
struct Ranked {
  std::size_t image, position;
};

/// At most `limit` detections per image, by falling score; equal scores by image.
std::vector<Ranked> ranked(const CategoryMatching& images, std::size_t limit) {
  std::vector<Ranked> all;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t count = std::min(limit, images[i].scores.size());
    for (std::size_t k = 0; k < count; ++k) all.push_back({i, k});
  }
  const auto score = [&](const Ranked& r) { return images[r.image].scores[r.position]; };
  std::ranges::stable_sort(all,
                           [&](const Ranked& a, const Ranked& b) { return score(a) > score(b); });
  return all;
}

/// Recall and precision after each detection that counts, for `objects` objects.
struct Curve {
  std::vector<double> recall, precision;

  Curve(const CategoryMatching& images, const std::vector<Ranked>& order, std::size_t size,
        std::size_t threshold, std::int64_t objects) {
    double right = 0, wrong = 0;
    for (const Ranked& r : order) {
      const Verdict verdict = images[r.image].verdicts[size][threshold][r.position];
      if (verdict == Verdict::ignored) continue;
      (verdict == Verdict::right ? right : wrong) += 1;
      recall.push_back(right / static_cast<double>(objects));
      precision.push_back(right / (right + wrong + std::numeric_limits<double>::epsilon()));
    }
  }

  [[nodiscard]] double last_recall() const { return recall.empty() ? 0 : recall.back(); }

  /// The best precision at or beyond each recall point; 0 where the recall is not reached.
  [[nodiscard]] std::array<double, kRecallPoints> sampled() const {
    std::vector<double> best = precision;
    for (std::size_t i = best.size(); i-- > 1;) best[i - 1] = std::max(best[i - 1], best[i]);
    std::array<double, kRecallPoints> at{};
    const std::array points = detail::recall_points();
    for (std::size_t i = 0; i < kRecallPoints; ++i) {
      const auto reached = std::ranges::lower_bound(recall, points[i]);
      if (reached == recall.end()) break;
      at[i] = best[static_cast<std::size_t>(reached - recall.begin())];
    }
    return at;
  }
};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Recall at the end of the list, averaged over thresholds.
double mean_recall(const CategoryMatching& images, std::size_t size, std::size_t limit,
                   std::int64_t objects) {
  const std::vector<Ranked> order = ranked(images, limit);
  std::array<double, kIouThresholds> recalls;
  for (std::size_t t = 0; t < kIouThresholds; ++t) {
    recalls[t] = Curve(images, order, size, t, objects).last_recall();
  }
  return mean_of(recalls);
}

void measure_size(const CategoryMatching& images, std::size_t size, std::int64_t objects,
                  CategoryPrecision& result) {
  const std::vector<Ranked> order = ranked(images, kMaxDetections);
  std::array<double, kIouThresholds> averages;
  for (std::size_t t = 0; t < kIouThresholds; ++t) {
    const std::array sampled = Curve(images, order, size, t, objects).sampled();
    averages[t] = mean_of(sampled);
    if (size == 0) result.precision[t] = sampled;
  }
  result.ap[size] = mean_of(averages);
  result.ap50[size] = averages[0];
  result.ap75[size] = averages[5];
  result.ar[size] = mean_recall(images, size, kMaxDetections, objects);
}

CategoryPrecision measure(std::int64_t category, const CategoryMatching& images) {
  CategoryPrecision result;
  result.category = category;
  for (auto* const values : {&result.ap, &result.ap50, &result.ap75, &result.ar}) {
    values->fill(kNothing);
  }
  result.ar_at.fill(kNothing);
  for (auto& curve : result.precision) curve.fill(kNothing);
  for (std::size_t size = 0; size < kSizes; ++size) {
    std::int64_t objects = 0;
    for (const ImageMatching& image : images) objects += image.objects[size];
    if (size == 0) result.objects = objects;
    if (objects == 0) continue;
    measure_size(images, size, objects, result);
    if (size != 0) continue;
    for (std::size_t i = 0; i < kLimits.size(); ++i) {
      result.ar_at[i] = mean_recall(images, size, kLimits[i], objects);
    }
  }
  return result;
}

/// The mean of value(category) over the categories that have one.
template <class Value>
double mean_over(const std::vector<CategoryPrecision>& categories, const Value& value) {
  std::vector<double> values;
  for (const CategoryPrecision& category : categories) {
    if (value(category) != kNothing) values.push_back(value(category));
  }
  return values.empty() ? kNothing : mean_of(values);
}

std::array<double, 12> summarize(const std::vector<CategoryPrecision>& categories) {
  std::array<double, 12> numbers;
  const auto over = [&](const auto& value) { return mean_over(categories, value); };
  numbers[0] = over([](const CategoryPrecision& c) { return c.ap[0]; });
  numbers[1] = over([](const CategoryPrecision& c) { return c.ap50[0]; });
  numbers[2] = over([](const CategoryPrecision& c) { return c.ap75[0]; });
  for (std::size_t i = 0; i < 3; ++i) {
    numbers[3 + i] = over([i](const CategoryPrecision& c) { return c.ap[1 + i]; });
    numbers[6 + i] = over([i](const CategoryPrecision& c) { return c.ar_at[i]; });
    numbers[9 + i] = over([i](const CategoryPrecision& c) { return c.ar[1 + i]; });
  }
  return numbers;
}

}  // namespace

AveragePrecision average_precision(std::span<const TruthBox> truth,
                                   std::span<const ScoredBox> detections,
                                   std::span<const std::int64_t> categories,
                                   std::span<const std::int64_t> images) {
  const auto category_ranks = ranks_of(categories, "category");
  const auto image_ranks = ranks_of(images, "image");
  const Grouped<TruthBox> objects(truth, category_ranks, image_ranks);
  const Grouped<ScoredBox> found(detections, category_ranks, image_ranks);
  AveragePrecision result;
  result.categories.resize(categories.size());
  parallel_for(
      static_cast<std::int64_t>(categories.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const std::size_t category = category_ranks.at(categories[i]);
          CategoryMatching matchings;
          for (std::size_t image = 0; image < images.size(); ++image) {
            const auto own = objects.of(category, image);
            const auto seen = found.of(category, image);
            if (own.empty() && seen.empty()) continue;
            matchings.push_back(detail::match_image(own, seen));
          }
          result.categories[i] = measure(categories[i], matchings);
        }
      });
  result.numbers = summarize(result.categories);
  return result;
}

}  // namespace fovea
