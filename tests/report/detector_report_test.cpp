// Tables and files of an evaluated detector.
#include "report/detector_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/text.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// Two discs and a star in one image; the discs are found, with a wrong disc between them.
EvaluatedDetector evaluated_detector() {
  const std::vector<TruthBox> truth{{1, 0, 0, 0, 20, 20, 400, false},
                                    {1, 0, 50, 50, 40, 40, 1600, false},
                                    {1, 2, 100, 0, 30, 30, 900, false}};
  const std::vector<ScoredBox> found{
      {1, 0, 0, 0, 20, 20, 0.9}, {1, 0, 200, 200, 20, 20, 0.8}, {1, 0, 50, 50, 40, 40, 0.7}};
  EvaluatedDetector detector;
  detector.checkpoint = "runs/a/best.safetensors";
  detector.model = "detr_tiny_scenes";
  detector.dataset = "scenes";
  detector.classes = {"disc", "square", "star, large"};
  detector.loss = 4.5;
  const std::vector<std::int64_t> categories{0, 1, 2}, images{1};
  detector.precision = average_precision(truth, found, categories, images);
  detector.pass.samples = 1;
  detector.pass.seconds = 0.5;
  return detector;
}

}  // namespace

TEST_CASE("the table of classes leaves out those without objects, and '-' stands for no size") {
  const std::string table = category_table(evaluated_detector());
  CHECK(table.find("class") == 0);
  CHECK(table.find("square") == std::string::npos);
  CHECK(table.find("disc               2  0.835  0.835  0.835  1.000   1.000      -  1.000") !=
        std::string::npos);
  CHECK(table.find("star, large        1  0.000") != std::string::npos);
}

TEST_CASE("a row per checkpoint, in tables of 80 columns with the twelve numbers") {
  const std::vector<EvaluatedDetector> all{evaluated_detector(), evaluated_detector()};
  const std::string table = detector_table(all), csv = detector_csv(all);
  for (const std::string_view name : kPrecisionNames) CHECK(table.find(name) != std::string::npos);
  for (const std::string& line : lines_of(table)) CHECK(line.size() <= 80);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(csv.find("checkpoint,model,dataset,images,bad_images,loss,AP,AP50,AP75,") == 0);
  const auto json = nlohmann::json::parse(detector_json(all));
  const EvaluatedDetector one = evaluated_detector();
  CHECK(json["results"][1]["numbers"]["AP"] == one.precision.numbers[0]);
  CHECK(json["results"][0]["categories"].size() == 2);
  CHECK(json["results"][0]["categories"][1]["name"] == "star, large");
}

TEST_CASE("curves: precision falls to two thirds after half of the discs") {
  const TemporaryFolder folder;
  const auto files = write_precision(folder.path(), evaluated_detector());
  CHECK(files.size() == 3);
  const std::string csv = read_file(folder / "precision_recall.csv");
  CHECK(csv.find("0,disc,0.50,0.50,1.000000\n") != std::string::npos);
  CHECK(csv.find("0,disc,0.50,0.51,0.666667") != std::string::npos);
  CHECK(csv.find("2,\"star, large\",0.95,1.00,0.000000\n") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 2 * 10 * 101);
  CHECK(read_file(folder / "precision_recall.svg").find("IoU 0.75") != std::string::npos);
}

}  // namespace fovea
