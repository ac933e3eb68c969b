// Tables of depth.
#include "report/depth_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/csv.h"
#include "engine/base/json.h"

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

/// What the table says of a row's predictor.
std::string name_in_table(const ProtocolRow& row) {
  return row.predictor == "model" ? row.of.checkpoint : "  " + row.predictor;
}

std::vector<DepthProtocol> distinct_protocols(std::span<const EvaluatedDepth> models) {
  std::vector<DepthProtocol> distinct;
  for (const EvaluatedDepth& m : models) {
    for (const DepthProtocol& protocol : m.protocols) {
      if (std::find(distinct.begin(), distinct.end(), protocol) == distinct.end())
        distinct.push_back(protocol);
    }
  }
  return distinct;
}

}  // namespace

std::string depth_table(std::span<const EvaluatedDepth> models) {
  std::size_t name = 16, protocol = 8;
  for_each_row(models, [&](const ProtocolRow& row) {
    name = std::max(name, name_in_table(row).size());
    protocol = std::max(protocol, to_text(row.protocol).size());
  });
  std::ostringstream out;
  out << std::left << std::setw(static_cast<int>(name)) << "checkpoint"
      << "  " << std::setw(static_cast<int>(protocol)) << "protocol" << std::right << std::setw(9)
      << "size" << std::setw(8) << "images";
  for (const char* title : {"RMSE", "per img", "AbsRel", "log10", "d1 %", "d2 %", "d3 %"})
    out << std::setw(9) << title;
  out << '\n' << std::fixed;
  for_each_row(models, [&](const ProtocolRow& row) {
    out << std::left << std::setw(static_cast<int>(name)) << name_in_table(row) << "  "
        << std::setw(static_cast<int>(protocol)) << to_text(row.protocol) << std::right
        << std::setw(9) << to_string(row.of.size) << std::setw(8) << row.of.results.pass.samples;
    const DepthMeasures measures = row.sums.measures();
    for (std::size_t i = 0; i < measures.size(); ++i) {
      const bool is_share = i >= kDelta1;
      out << std::setprecision(is_share ? 2 : 4) << std::setw(9)
          << (is_share ? 100 * measures[i] : measures[i]);
    }
    out << '\n';
  });
  for (const DepthProtocol& each : distinct_protocols(models))
    out << to_text(each) << ": " << description(each) << '\n';
  return out.str();
}

std::string depth_csv(std::span<const EvaluatedDepth> models) {
  std::string header = "checkpoint,model,dataset,height,width,images,bad_images,protocol,predictor";
  for (const std::string_view measure : kDepthMeasureNames) header.append(",").append(measure);
  Csv csv(header + ",pixels");
  for_each_row(models, [&](const ProtocolRow& row) {
    const EvaluatedDepth& m = row.of;
    csv.cell(m.checkpoint).cell(m.model).cell(m.dataset).cell(m.size.height).cell(m.size.width);
    csv.cell(m.results.pass.samples).cell(m.results.pass.bad_images.size());
    csv.cell(to_text(row.protocol)).cell(row.predictor);
    for (const double measure : row.sums.measures()) csv.cell(measure);
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
               {"loss", m.results.loss()},
               {"protocol", to_text(row.protocol)},
               {"description", description(row.protocol)},
               {"predictor", row.predictor},
               {"pixels", row.sums.pixels}};
    const DepthMeasures measures = row.sums.measures();
    for (std::size_t i = 0; i < measures.size(); ++i)
      entry[std::string(kDepthMeasureNames[i])] = measures[i];
    entry["bad_images"] = json::array();
    for (const BrokenImage& image : m.results.pass.bad_images)
      entry["bad_images"].push_back(image.message);
    results.push_back(std::move(entry));
  });
  return json_text(json{{"results", results}}, 2) + "\n";
}

}  // namespace fovea
