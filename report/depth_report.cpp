// Tables of depth.
#include "report/depth_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/csv.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"
#include "engine/base/wrap.h"

namespace fovea {
namespace {

using nlohmann::json;

/// A row of the table: a protocol's measures of the model or of a constant prediction.
struct ProtocolRow {
  const EvaluatedDepth& of;
  const DepthProtocol& protocol;
  std::string predictor;  ///< "model", "train median", "per-pixel mean"
  const DepthSums& sums;
};

void for_each_row(std::span<const EvaluatedDepth> models,
                  const std::function<void(const ProtocolRow&)>& use) {
  for (const EvaluatedDepth& m : models) {
    for (std::size_t i = 0; i < m.protocols.size(); ++i) {
      const DepthComparison& sums = m.results.protocols[i];
      use({m, m.protocols[i], "model", sums.model});
      use({m, m.protocols[i], "train median", sums.median});
      use({m, m.protocols[i], "per-pixel mean", sums.mean});
    }
  }
}

/// The checkpoint for the model's rows, an indented name for the constant predictions below it.
std::string name_in_table(const ProtocolRow& row) {
  return row.predictor == "model" ? row.of.checkpoint : "  " + row.predictor;
}

std::string shown(double number, int digits) {
  return std::isnan(number) ? "-" : fixed_text(number, digits);
}

/// A line about a protocol for below the table.
struct ProtocolLine {
  std::string name, description;
  double least_share = 100, most_share = 0;  ///< of pixels that count, in percent, over the models
};

std::vector<ProtocolLine> protocol_lines(std::span<const EvaluatedDepth> models) {
  std::vector<ProtocolLine> lines;
  for (const EvaluatedDepth& m : models) {
    const auto pixels = static_cast<double>(m.results.pass.samples * m.size.height * m.size.width);
    for (std::size_t i = 0; i < m.protocols.size(); ++i) {
      const ProtocolLine own{to_text(m.protocols[i], m.limit), description(m.protocols[i])};
      auto line = std::find_if(lines.begin(), lines.end(), [&](const ProtocolLine& known) {
        return known.name == own.name && known.description == own.description;
      });
      if (line == lines.end()) line = lines.insert(line, own);
      const double counted = m.results.protocols[i].model.pixels;
      const double share = pixels > 0 ? 100 * counted / pixels : 0;
      line->least_share = std::min(line->least_share, share);
      line->most_share = std::max(line->most_share, share);
    }
  }
  return lines;
}

std::string text_of(const ProtocolLine& line) {
  const std::string from = percent_text(line.least_share), to = percent_text(line.most_share);
  const std::string counted = line.most_share == 0
                                  ? "no pixel counts"
                                  : (from == to ? to : from + " to " + to) + " of the pixels count";
  return wrapped(pieces_of(line.name + ": " + line.description + "; " + counted), 2) + "\n";
}

constexpr std::array<const char*, 7> kTitles{"RMSE", "per img", "AbsRel", "log10",
                                             "d1 %", "d2 %",    "d3 %"};

/// The measure as in the tables; those from kDelta1 on are percentages.
std::string cell_of(const DepthMeasures& measures, std::size_t i) {
  return i >= kDelta1 ? shown(100 * measures[i], 2) : shown(measures[i], 4);
}

std::string rows_of(std::span<const EvaluatedDepth> models) {
  std::vector<std::vector<std::string>> rows{{"checkpoint", "protocol", "size", "images"}};
  rows[0].insert(rows[0].end(), kTitles.begin(), kTitles.end());
  for_each_row(models, [&](const ProtocolRow& row) {
    std::vector<std::string>& cells = rows.emplace_back(
        std::vector{name_in_table(row), to_text(row.protocol, row.of.limit), to_string(row.of.size),
                    std::to_string(row.of.results.pass.samples)});
    const DepthMeasures measures = row.sums.measures();
    for (std::size_t i = 0; i < measures.size(); ++i) cells.push_back(cell_of(measures, i));
  });
  return terminal_table(rows, "ll", 2);
}

/// One model: for each protocol a line per measure, beside those of the constant predictions.
std::string lists_of(const EvaluatedDepth& m) {
  std::string text = text_table({{"checkpoint", m.checkpoint},
                                 {"size", to_string(m.size)},
                                 {"images", std::to_string(m.results.pass.samples)}},
                                "ll");
  for (std::size_t p = 0; p < m.protocols.size(); ++p) {
    const DepthComparison& sums = m.results.protocols[p];
    const std::array<DepthMeasures, 3> columns{sums.model.measures(), sums.median.measures(),
                                               sums.mean.measures()};
    std::vector<std::vector<std::string>> rows{
        {to_text(m.protocols[p], m.limit), "model", "train median", "per-pixel mean"}};
    for (std::size_t i = 0; i < kTitles.size(); ++i) {
      rows.push_back({kTitles[i]});
      for (const DepthMeasures& measures : columns) rows.back().push_back(cell_of(measures, i));
    }
    text += "\n" + text_table(rows);
  }
  return text + "\n";
}

}  // namespace

std::string depth_table(std::span<const EvaluatedDepth> models) {
  std::string text = models.size() == 1 ? lists_of(models.front()) : rows_of(models);
  for (const ProtocolLine& line : protocol_lines(models)) text += text_of(line);
  return text;
}

std::string depth_csv(std::span<const EvaluatedDepth> models) {
  std::string header = "checkpoint,model,dataset,height,width,images,bad_images,protocol,predictor";
  for (const std::string_view measure : kDepthMeasureNames) header.append(",").append(measure);
  Csv csv(header + ",pixels");
  for_each_row(models, [&](const ProtocolRow& row) {
    const EvaluatedDepth& m = row.of;
    csv.cell(m.checkpoint).cell(m.model).cell(m.dataset).cell(m.size.height).cell(m.size.width);
    csv.cell(m.results.pass.samples).cell(m.results.pass.bad_images.size());
    csv.cell(to_text(row.protocol, row.of.limit)).cell(row.predictor);
    for (const double measure : row.sums.measures())
      csv.cell(std::isnan(measure) ? std::nullopt : std::optional(measure));
    csv.cell(row.sums.pixels).end_row();
  });
  return csv.text();
}

std::string depth_json(std::span<const EvaluatedDepth> models) {
  json results = json::array();
  for_each_row(models, [&](const ProtocolRow& row) {
    const EvaluatedDepth& m = row.of;
    json entry{{"checkpoint", m.checkpoint},
               {"model", m.model},
               {"dataset", m.dataset},
               {"height", m.size.height},
               {"width", m.size.width},
               {"images", m.results.pass.samples},
               {"protocol", to_text(row.protocol, row.of.limit)},
               {"description", description(row.protocol)},
               {"predictor", row.predictor},
               {"pixels", row.sums.pixels}};
    const DepthMeasures measures = row.sums.measures();
    if (!std::isnan(m.results.loss())) entry["loss"] = m.results.loss();
    for (std::size_t i = 0; i < measures.size(); ++i)
      if (!std::isnan(measures[i])) entry[std::string(kDepthMeasureNames[i])] = measures[i];
    entry["bad_images"] = json::array();
    for (const BrokenImage& image : m.results.pass.bad_images)
      entry["bad_images"].push_back(image.message);
    results.push_back(std::move(entry));
  });
  return json_text(json{{"results", results}}, 2) + "\n";
}

}  // namespace fovea
