// The table of depth: rows, and protocols named below it.
#include "report/depth_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"

namespace fovea {
namespace {

EvaluatedDepth evaluated_depth() {
  EvaluatedDepth depth{.checkpoint = "runs/a/best.safetensors",
                       .model = "depth_pit_tiny_24x32",
                       .dataset = "rooms",
                       .size = {24, 32},
                       .protocols = parse_protocols("full,eigen+median"),
                       .results = {}};
  const std::vector<double> target{2, 4}, exact{2, 4}, three{3, 3};
  for (const DepthProtocol& protocol : depth.protocols) {
    const auto measure = [&](const std::vector<double>& predicted) {
      DepthProtocol whole = protocol;
      whole.crop = DepthCrop::none;
      return measure_depth(whole, {predicted, 1, 2}, {target, 1, 2});
    };
    depth.results.protocols.push_back({measure(exact), measure(three), measure(three)});
  }
  depth.results.pass.samples = 7;
  depth.results.loss_sum = 3;
  depth.results.loss_weight = 2;
  return depth;
}

}  // namespace

TEST_CASE("the table has both baselines below each protocol of a model, and names the protocols") {
  const std::vector<EvaluatedDepth> models{evaluated_depth(), evaluated_depth()};
  const std::string table = depth_table(models);
  const auto at = [&](const char* text, std::size_t from = 0) {
    const std::size_t found = table.find(text, from);
    INFO(table);
    CHECK_MESSAGE(found != std::string::npos, text);
    return found;
  };
  const std::size_t model = at("runs/a/best.safetensors");
  const std::size_t median = at("  train median", model);
  const std::size_t mean = at("  per-pixel mean", median);
  const std::size_t second = at("eigen+median", mean);
  at("eigen+median: the crop of Eigen et al. with filled depth", second);
  at("full: all pixels with filled depth from 0.001 to 10 m");
  at("24x32");
}

TEST_CASE("the table of one model has a line per measure, in 80 columns") {
  const std::string table = depth_table(std::vector<EvaluatedDepth>{evaluated_depth()});
  CHECK(
      table.starts_with("checkpoint  runs/a/best.safetensors\n"
                        "size        24x32\n"
                        "images      7\n"
                        "\n"
                        "full      model  train median  per-pixel mean\n"
                        "RMSE     0.0000        1.0000          1.0000\n"));
  CHECK(table.find("\neigen+median   model") != std::string::npos);
  for (const std::string& line : lines_of(table)) {
    if (line.find("; ") == std::string::npos) CHECK(line.size() <= 80);
  }
}

TEST_CASE("CSV and JSON have a row for each row of the table") {
  const std::vector<EvaluatedDepth> models{evaluated_depth()};
  const std::string csv = depth_csv(models);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 2 * 3);
  CHECK(
      csv.starts_with("checkpoint,model,dataset,height,width,images,bad_images,protocol,"
                      "predictor,rmse,rmse_image,absrel,log10,delta1,delta2,delta3,pixels\n"));
  const auto rows = nlohmann::json::parse(depth_json(models))["results"];
  REQUIRE(rows.size() == 6);
  CHECK(rows[0]["rmse"] == 0);
  CHECK(rows[1]["rmse"] == 1);
  CHECK(rows[1]["predictor"] == "train median");
  CHECK(rows[0]["loss"] == 1.5);
  CHECK(rows[3]["protocol"] == "eigen+median");
}

TEST_CASE("the share of pixels that count stands below the table; without any there are dashes") {
  std::vector<EvaluatedDepth> models{evaluated_depth()};
  models[0].size = {2, 2};
  models[0].results.pass.samples = 1;  // 2 of 4 pixels count
  CHECK(depth_table(models).find("; 50.00 % of the pixels count\n") != std::string::npos);
  for (DepthComparison& sums : models[0].results.protocols) sums = {};
  const std::string table = depth_table(models);
  CHECK(table.find("; no pixel counts\n") != std::string::npos);
  CHECK(table.find("nan") == std::string::npos);
  CHECK(table.find(" - ") != std::string::npos);
  CHECK(depth_csv(models).find("nan") == std::string::npos);
  const auto row = nlohmann::json::parse(depth_json(models))["results"][0];
  CHECK(row["pixels"] == 0);
  CHECK(!row.contains("rmse"));
}

}  // namespace fovea
