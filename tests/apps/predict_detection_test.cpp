// predict with a detector: boxes of picture files, COCO's results, drawings, texts.
#include "apps/tasks/predict_detection.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "data/sources/drawn/scenes.h"
#include "engine/base/files.h"
#include "models/detection/coco_results.h"
#include "models/registry.h"
#include "tests/support/coco_results_reader.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

LoadedModel untrained_detector() {
  LoadedModel loaded;
  loaded.model = make_model("deformable_detr_tiny_scenes",
                            {{"num_classes", 6},
                             {"num_queries", 8},
                             {"d_model", 32},
                             {"nheads", 2},
                             {"enc_layers", 1},
                             {"dec_layers", 1},
                             {"dim_feedforward", 16},
                             {"stem", 4},
                             {"planes", {4, 8}}},
                            3);
  loaded.info.classes = {"a", "b", "c", "d", "e", "f"};
  loaded.info.crop.mode = CropMode::keep;
  loaded.weights = "untrained";
  return loaded;
}

ObjectOptions options_of(const TemporaryFolder& folder) {
  ObjectOptions options;
  options.run.batch_size = 4;
  options.run.workers = 0;
  options.run.crop.mode = CropMode::keep;
  options.run.pad_multiple = 1;
  options.run.bad_image_limit = 1;
  options.json = folder / "results.json";
  return options;
}

std::vector<PictureObjects> two_pictures_with_boxes() {
  return {{"a, b.png", {{1, "cat", 0.75, 1.25, 2, 30, 40}}}, {"c.png", {}, "c.png: is cut off"}};
}

}  // namespace

TEST_CASE("results of picture files have the same average precision as the images of the set") {
  const TemporaryFolder folder;
  const auto images = std::make_shared<Scenes>(
      Split::test, SceneOptions{.seed = 5, .side = 32, .train_size = 4, .test_size = 6});
  std::vector<std::filesystem::path> files;
  for (std::int64_t i = 0; i < images->size(); ++i) {
    files.push_back(folder / (std::to_string(images->image_id(i)) + ".png"));
    write_png(files.back(), images->get(i).image);
  }
  const LoadedModel detector = untrained_detector();
  const ObjectOptions options = options_of(folder);
  std::vector<std::filesystem::path> written;
  static_cast<void>(find_in_pictures(detector, files, options, written));
  CHECK(written == std::vector<std::filesystem::path>{options.json});

  const FoundObjects found =
      find_objects(dynamic_cast<Detector&>(*detector.model), images, options.run,
                   [&](std::int64_t index) { return images->stored_size(index); });
  FoundObjects read;
  for (ScoredBox box : parse_coco_results(read_file(options.json))) {
    --box.image;  // ids begin with 1
    read.objects.push_back({box, 0});
  }
  REQUIRE(read.objects.size() == found.objects.size());
  CHECK(precision_of(read, images).numbers == precision_of(found, images).numbers);
}

TEST_CASE("files whose names are no numbers are numbered in their order") {
  const TemporaryFolder folder;
  const Image picture(32, 32);
  std::vector<std::filesystem::path> files{folder / "cat.png", folder / "7.png"};
  for (const auto& file : files) write_png(file, picture);
  std::vector<std::filesystem::path> written;
  static_cast<void>(find_in_pictures(untrained_detector(), files, options_of(folder), written));
  std::set<std::int64_t> ids;
  for (const ScoredBox& box : parse_coco_results(read_file(folder / "results.json")))
    ids.insert(box.image);
  CHECK(ids == std::set<std::int64_t>{1, 2});
}

TEST_CASE("ids of pictures come from an annotation file, and those of classes from training's") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sub");
  const std::vector<std::filesystem::path> files{folder / "x.png", folder / "sub/x.png"};
  for (const auto& file : files) write_png(file, Image(32, 32));
  write_file_atomically(folder / "ids.json", R"({"images": [
    {"id": 30, "file_name": "x.png", "width": 32, "height": 32},
    {"id": 40, "file_name": "./sub/x.png", "width": 32, "height": 32}],
    "annotations": [], "categories": [{"id": 1, "name": "a"}]})");
  ObjectOptions options = options_of(folder);
  options.annotations = folder / "ids.json";
  options.threshold = 0;
  LoadedModel trained = untrained_detector();
  trained.info.categories = CategoryIds({11, 12, 13, 14, 15});  // of the outputs 1 to 5
  std::vector<std::filesystem::path> written;
  const auto pictures = find_in_pictures(trained, files, options, written);
  std::set<std::int64_t> images, categories;
  for (const ScoredBox& box : parse_coco_results(read_file(options.json))) {
    images.insert(box.image);
    categories.insert(box.category);
  }
  CHECK(images == std::set<std::int64_t>{30, 40});
  CHECK(categories == std::set<std::int64_t>{11, 12, 13, 14, 15});
  REQUIRE(!pictures[0].objects.empty());
  for (const PictureObject& object : pictures[0].objects)
    CHECK(object.name == std::string(1, static_cast<char>('a' + object.index - 10)));

  write_png(folder / "y.png", Image(32, 32));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(find_in_pictures(trained, {files[0], folder / "y.png"}, options, written)),
      doctest::Contains("y.png, so these pictures have no id in it"), Error);
}

TEST_CASE("only objects above the threshold are shown; pictures of one name are drawn apart") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "b");
  const Image picture(32, 32);
  std::vector<std::filesystem::path> files{folder / "a.png", folder / "b/a.png",
                                           folder / "broken.png"};
  write_png(files[0], picture);
  write_png(files[1], picture);
  write_file_atomically(files[2], "this is no picture");
  ObjectOptions options = options_of(folder);
  options.drawn = folder / "drawn";
  options.json.clear();
  options.threshold = 0;
  std::vector<std::filesystem::path> written;
  const auto all = find_in_pictures(untrained_detector(), files, options, written);
  CHECK(written ==
        std::vector<std::filesystem::path>{folder / "drawn/a.png", folder / "drawn/a.svg",
                                           folder / "drawn/a-2.png", folder / "drawn/a-2.svg"});
  CHECK(!all[0].objects.empty());
  CHECK(all[2].error.find("broken.png") != std::string::npos);
  CHECK(read_file(written[1]).find("</svg>") != std::string::npos);
  CHECK(read_image(written[0]).size() == ImageSize{480, 480});
  options.threshold = 1;
  const auto none = find_in_pictures(untrained_detector(), files, options, written);
  CHECK(none[0].objects.empty());
}

TEST_CASE("objects as text, CSV and JSON") {
  CHECK(format_objects(two_pictures_with_boxes(), "text", "w") ==
        "model  w\na, b.png\n  0.75  cat  at 1,2  30 x 40\nc.png\n  broken: c.png: is cut off\n");
  CHECK(format_objects(two_pictures_with_boxes(), "csv", "w") ==
        "file,index,class,score,x,y,width,height\n\"a, b.png\",1,cat,0.75,1.25,2,30,40\n");
  const auto json = nlohmann::json::parse(format_objects(two_pictures_with_boxes(), "json", "w"));
  CHECK(json["pictures"][0]["objects"][0]["box"] == nlohmann::json({1.25, 2, 30, 40}));
  CHECK(json["pictures"][1]["error"] == "c.png: is cut off");
  CHECK_THROWS_WITH_AS(static_cast<void>(format_objects({}, "xml", "w")),
                       "format_objects: got xml, expected text, csv or json", Error);
}

}  // namespace fovea
