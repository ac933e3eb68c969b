// Computing the rows, and writing them as text and JSON.
#include "report/measures/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"
#include "engine/base/wrap.h"
#include "report/measures/frechet.h"
#include "report/measures/kernel_distance.h"
#include "report/measures/neighbours.h"

namespace fovea {
namespace {

using nlohmann::ordered_json;

/// Settings of the samples shown below every table: key in the JSON, and label.
constexpr std::array<std::pair<const char*, const char*>, 5> kShown{
    {{"sampler", "sampler"},
     {"num_sampling_steps", "steps"},
     {"cfg_scale", "guidance"},
     {"seed", "seed"},
     {"model", "model"}}};

std::string text_or_dash(const std::optional<double>& value, int digits) {
  return value ? general_text(*value, digits) : "-";
}
std::string share_or_dash(const std::optional<double>& value) {
  return value ? fixed_text(*value, 4) : "-";
}

std::string settings_line(const std::string& settings) {
  if (settings.empty()) return "made by: sampler, steps, guidance and seed are unknown\n";
  const nlohmann::json known = parse_json(settings);
  std::vector<std::string> parts;
  for (const auto& [key, word] : kShown) {
    const auto value = known.find(key);
    if (value == known.end()) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : json_text(*value);
    parts.push_back(std::string(word) + " " + visible_text(text));
  }
  return "made by: " + join(parts, ", ") + "\n";
}

ordered_json to_json(const MeasureRow& row, const SpaceInfo& space) {
  ordered_json j{{"set", row.kind}, {"pictures", row.pictures}, {"count", row.count}};
  if (row.reference_count > 0) j["reference_count"] = row.reference_count;
  j[space.distance] = row.frechet;
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) j[name] = *value;
  };
  if (!space.spatial_distance.empty()) add(space.spatial_distance, row.spatial_frechet);
  add("kid", row.kid);
  add("precision", row.precision);
  add("recall", row.recall);
  add("inception_score", row.inception_score);
  add("conditional_accuracy", row.accuracy);
  return j;
}

}  // namespace

MeasureRow measure(const FeatureStatistics& set, const FeatureStatistics& reference) {
  MeasureRow row;
  row.count = set.count;
  row.reference_count = reference.count;
  row.frechet = frechet_distance(reference, set);
  return row;
}

MeasureRow measure(const SetFeatures& set, const Reference& reference, std::int64_t k) {
  MeasureRow row;
  row.count = set.count();
  row.reference_count = reference.statistics->count;
  row.frechet = frechet_distance(*reference.statistics, set.statistics);
  if (set.inception_score > 0) row.inception_score = set.inception_score;
  row.accuracy = set.accuracy();
  if (reference.spatial != nullptr && set.spatial) {
    row.spatial_frechet = frechet_distance(*reference.spatial, *set.spatial);
  }
  if (reference.features == nullptr) return row;
  const SetFeatures& real = *reference.features;
  row.kid = kernel_distance(real.rows, set.rows);
  if (real.count() <= k || set.count() <= k) return row;
  const PrecisionRecall shares = precision_recall(real.rows, set.rows, k);
  row.precision = shares.precision;
  row.recall = shares.recall;
  return row;
}

std::string comparison_table(const FeatureComparison& c, const std::string& settings) {
  const bool has_spatial = !c.space.spatial_distance.empty();
  const bool has_accuracy =
      std::any_of(c.rows.begin(), c.rows.end(), [](const MeasureRow& row) { return row.accuracy; });
  std::vector<std::string> titles{"", "pictures", "against", c.space.distance};
  if (has_spatial) titles.push_back(c.space.spatial_distance);
  for (const char* title : {"KID", "precision", "recall", "IS"}) titles.emplace_back(title);
  if (has_accuracy) titles.emplace_back("accuracy");
  std::vector<std::vector<std::string>> rows{titles};
  for (const MeasureRow& row : c.rows) {
    std::vector<std::string> cells{
        row.kind, std::to_string(row.count),
        row.reference_count > 0 ? std::to_string(row.reference_count) : "?",
        general_text(row.frechet, 5)};
    if (has_spatial) cells.push_back(text_or_dash(row.spatial_frechet, 5));
    cells.push_back(text_or_dash(row.kid, 4));
    cells.push_back(share_or_dash(row.precision));
    cells.push_back(share_or_dash(row.recall));
    cells.push_back(text_or_dash(row.inception_score, 4));
    if (has_accuracy) cells.push_back(row.accuracy ? percent_text(100 * *row.accuracy) : "-");
    rows.push_back(std::move(cells));
  }
  std::string text = text_table(rows);
  for (const MeasureRow& row : c.rows) text += row.kind + ": " + row.pictures + "\n";
  text += concat("reference: ", c.reference, "\nprotocol: ", c.space.protocol, ", ", c.features,
                 " features, k = ", c.k, ", IS over ", c.split,
                 " pictures at a time\nweights: ", c.space.weights, ", ", c.space.network,
                 ", sha256 ", c.sha256, "\n");
  text += settings_line(settings);
  for (const std::string& note : c.notes) text += note_of(note) + "\n";
  return text;
}

std::string comparisons_json(std::span<const FeatureComparison> comparisons,
                             const std::string& settings) {
  ordered_json all = ordered_json::object();
  if (!settings.empty()) all["samples"] = ordered_json::parse(settings);
  all["comparisons"] = ordered_json::array();
  for (const FeatureComparison& c : comparisons) {
    ordered_json j{{"distance", c.space.distance},
                   {"protocol", c.space.protocol},
                   {"network", c.space.network},
                   {"weights", c.space.weights},
                   {"sha256", c.sha256},
                   {"reference", c.reference},
                   {"features", c.features},
                   {"k", c.k},
                   {"split", c.split},
                   {"rows", ordered_json::array()},
                   {"notes", c.notes}};
    for (const MeasureRow& row : c.rows) j["rows"].push_back(to_json(row, c.space));
    all["comparisons"].push_back(std::move(j));
  }
  return json_text(all, 2) + "\n";
}

}  // namespace fovea
