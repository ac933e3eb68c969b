// Ranking of classes, and formatting of predictions.
#include "apps/tasks/predictions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using nlohmann::json;

std::string as_text(std::span<const PicturePrediction> pictures, const Predictor& predictor) {
  std::string text = "model  " + predictor.checkpoint + "\n";
  text += "names  " + predictor.named_by + "\n";
  for (const PicturePrediction& picture : pictures) {
    text += picture.file + "\n";
    if (!picture.error.empty()) text += "  broken: " + picture.error + "\n";
    for (const PicturePrediction::Choice& choice : picture.choices) {
      std::string share = percent_text(100 * choice.probability);
      share.insert(0, 10 - std::min<std::size_t>(10, share.size()), ' ');
      text.append("  ").append(share).append("  ").append(choice.name).append("\n");
    }
  }
  return text;
}

std::string as_csv(std::span<const PicturePrediction> pictures, const Predictor& predictor) {
  Csv csv("file,rank,index,class,probability,named_by");
  for (const PicturePrediction& picture : pictures) {
    for (std::size_t i = 0; i < picture.choices.size(); ++i) {
      const PicturePrediction::Choice& choice = picture.choices[i];
      csv.row(picture.file, i + 1, choice.index, choice.name, choice.probability,
              predictor.named_by);
    }
  }
  return csv.text();
}

std::string as_json(std::span<const PicturePrediction> pictures, const Predictor& predictor) {
  json list = json::array();
  for (const PicturePrediction& picture : pictures) {
    json entry{{"file", picture.file}};
    if (!picture.error.empty()) {
      entry["error"] = picture.error;
    } else {
      entry["classes"] = json::array();
      for (const PicturePrediction::Choice& choice : picture.choices) {
        entry["classes"].push_back(
            {{"index", choice.index}, {"name", choice.name}, {"probability", choice.probability}});
      }
    }
    list.push_back(std::move(entry));
  }
  const json all{{"checkpoint", predictor.checkpoint},
                 {"named_by", predictor.named_by},
                 {"pictures", std::move(list)}};
  return json_text(all, 2) + "\n";
}

}  // namespace

std::vector<PicturePrediction::Choice> top_choices(const Tensor& logits, std::int64_t row,
                                                   const std::vector<std::string>& classes,
                                                   std::int64_t count) {
  const auto known = static_cast<std::int64_t>(classes.size());
  check(logits.rank() == 2 && logits.size(1) == known && row >= 0 && row < logits.size(0),
        "top_choices: got row ", row, " of logits ", logits.shape(), " and ", known, " names");
  std::vector<double> values(classes.size());
  for (std::int64_t k = 0; k < known; ++k) {
    values[static_cast<std::size_t>(k)] = logits.at(row * known + k);
  }
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    return {};
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  double sum = 0;
  for (const double value : values) sum += std::exp(value - values[order.front()]);
  std::vector<PicturePrediction::Choice> choices;
  order.resize(static_cast<std::size_t>(std::min(count, known)));
  for (const std::size_t k : order) {
    const double share = std::exp(values[k] - values[order.front()]) / sum;
    choices.push_back({static_cast<std::int64_t>(k), classes[k], share});
  }
  return choices;
}

std::string format_predictions(std::span<const PicturePrediction> pictures,
                               const std::string& format, const Predictor& predictor) {
  if (format == "text") return as_text(pictures, predictor);
  if (format == "csv") return as_csv(pictures, predictor);
  if (format == "json") return as_json(pictures, predictor);
  fail("predictions: got format ", format, ", expected text, csv or json");
}

}  // namespace fovea
