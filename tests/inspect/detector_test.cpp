// inspect detection: attention of encoder and queries, boxes by query.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/random.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "report/inspect/detector_maps.h"
#include "report/inspect/inspect.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

std::unique_ptr<Model> tiny(const std::string& name, nlohmann::json overrides = {}) {
  nlohmann::json settings{{"num_classes", 6}, {"num_queries", 7}, {"d_model", 32},
                          {"nheads", 2},      {"enc_layers", 1},  {"dec_layers", 2},
                          {"stem", 4},        {"planes", {4, 8}}, {"dim_feedforward", 16}};
  if (overrides.is_object()) settings.update(overrides);
  return make_model(name, settings, 3);
}

double sum_of(const std::vector<double>& map) {
  return std::accumulate(map.begin(), map.end(), 0.0);
}

std::vector<std::filesystem::path> run(Model& model, const TemporaryFolder& folder) {
  Inspection what;
  what.model = &model;
  what.source = "a & b";
  what.classes = {"disc", "b", "c", "d", "e", "f"};
  what.options.output = (folder / "out").string();
  what.options.count = 2;
  return run_inspection("detection", what);
}

}  // namespace

TEST_CASE("attention maps of DETR sum to one; those of a deformable one may leave the map") {
  const Tensor image = rand_normal({1, 3, 48, 64}, {0, 1}, {4});
  for (const char* const name : {"detr_tiny_scenes", "deformable_detr_tiny_scenes"}) {
    CAPTURE(std::string(name));
    const auto model = tiny(name);
    const DetectorMaps maps(model_as<Detector>(*model), image);
    REQUIRE(maps.height() == 6);
    REQUIRE(maps.width() == 8);
    const bool deformable = std::string(name) != "detr_tiny_scenes";
    for (const auto& map : {maps.of_cell(11), maps.of_query(3)}) {
      CHECK(map.size() == 48);
      CHECK(sum_of(map) <= 1 + 1e-5);
      if (!deformable) CHECK(sum_of(map) == doctest::Approx(1).epsilon(1e-5));
    }
    CHECK(maps.of_query(3) != maps.of_query(4));
  }
}

TEST_CASE("a deformable encoder looks around the cell that is asked for") {
  const Tensor image = rand_normal({1, 3, 64, 64}, {0, 1}, {4});
  const auto model = tiny("deformable_detr_tiny_scenes");
  const DetectorMaps maps(model_as<Detector>(*model), image);
  const std::vector<double> map = maps.of_cell(3 * 8 + 5);
  double far = 0;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      // offsets start as 1 to 4 cells in a direction of each head
      if (std::abs(y - 3) > 4 || std::abs(x - 5) > 4)
        far += map[static_cast<std::size_t>(y * 8 + x)];
    }
  }
  CHECK(far == doctest::Approx(0));
  CHECK(sum_of(map) > 0.2);
}

TEST_CASE("a picture per image, and the boxes of each query on all of them") {
  const TemporaryFolder folder;
  const auto model = tiny("detr_tiny_scenes");
  const auto files = run(*model, folder);
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.filename().string());
  CHECK(names == std::vector<std::string>{"detection-000.svg", "detection-001.svg", "queries.svg",
                                          "queries.csv"});
  const std::string table = read_file(folder / "out/queries.csv");
  CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 2 * 7);
  const std::string picture = read_file(folder / "out/detection-000.svg");
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(picture.find("encoder at its centre") != std::string::npos);
  CHECK(picture.find("nan") == std::string::npos);
}

TEST_CASE("the PEG of a detector's encoder") {
  const TemporaryFolder folder;
  const auto model = tiny("detr_tiny_scenes", {{"encoder_pos", "peg"}, {"peg_positions", {0}}});
  Inspection what;
  what.model = model.get();
  what.options.output = (folder / "out").string();
  CHECK(!run_inspection("peg-kernels", what).empty());
  const std::string table = read_file(folder / "out/peg-kernels.csv");
  CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 32 * 9);
}

TEST_CASE("only detectors have queries") {
  const auto model =
      make_model("vit_tiny_patch8_32", {{"depth", 1}, {"embed_dim", 12}, {"num_heads", 2}});
  const TemporaryFolder folder;
  tests::check_error([&] { run(*model, folder); }, "fovea train_detection trains one");
}

}  // namespace fovea
