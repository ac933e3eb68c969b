// Decisions between shape and texture, and their tables.
#include "report/shape_bias.h"

#include <doctest/doctest.h>

#include <cmath>

#include "data/sources/drawn/builtin.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "report/measured_bias.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// Pictures that are never looked at.
class Labels : public Dataset {
 public:
  explicit Labels(std::vector<std::int64_t> labels) : labels_(std::move(labels)) {}
  [[nodiscard]] std::int64_t size() const override { return std::ssize(labels_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return {Image(1, 1), label(index)};
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }

 private:
  std::vector<std::int64_t> labels_;
  std::vector<std::string> names_ = {"cat", "dog", "emu, large"};
};

/// Of four cats two decided by shape, one by texture, one as an emu; one dog as neither; an emu
/// that is broken.
CueConflict cues() {
  return {std::make_shared<Labels>(std::vector<std::int64_t>{0, 0, 0, 0, 1, 2}),
          {1, 1, 1, 1, 0, 0}};
}
const std::vector<std::int64_t> kDecisions = {0, 0, 1, 2, 2, -1};

}  // namespace

TEST_CASE("a decision is the category with the largest mean probability, not the largest sum") {
  const std::vector<Category> categories = {{"many", {0, 1, 2}}, {"one", {4}}};
  const auto decision = [&](std::vector<double> logits) {
    return decide(from_values({1, 5}, logits), categories).front();
  };
  const auto logs = [](std::vector<double> probabilities) {
    for (double& p : probabilities) p = std::log(p);
    return probabilities;
  };
  CHECK(decision(logs({0.2, 0.2, 0.2, 0.1, 0.3})) == 1);  // sums 0.6 and 0.3, means 0.2 and 0.3
  CHECK(decision(logs({0.3, 0.3, 0.3, 0.05, 0.05})) == 0);
  CHECK(decision({0, 0, 0, 0, 0}) == 0);                 // equal: the first
  CHECK(decision({-1e30, -1e30, -1e30, 1e30, 0}) == 0);  // both 0
  CHECK(decision({1e4, -1e4, -1e4, 0, 1e4}) == 1);       // no overflow
  CHECK(contains(message_of([&] { (void)decide(zeros({5}), categories); }), "expected f32 [N, K]"));
  CHECK(contains(message_of([&] {
                   (void)decide(zeros({2, 4}), categories);
                 }),
                 "category one has class 4, expected 0 to 3"));
}

TEST_CASE("shape bias counts where either was chosen, and broken pictures nowhere") {
  const ShapeBias bias(cues(), kDecisions);
  CHECK(bias.csv() ==
        "category,images,shape,texture,either,shape_bias\n"
        "cat,4,2,1,75,66.66666666666667\n"
        "dog,1,0,0,0,\n"
        "all,5,2,1,60,66.66666666666667\n"
        "mean of the categories,,,,,66.66666666666667\n");
  CHECK(bias.all().images == 5);
  CHECK(std::isnan(bias.rows()[1].bias()));
  const std::vector<std::int64_t> too_few = {0};
  CHECK(contains(message_of([&] { ShapeBias(cues(), too_few); }), "got 1 decisions"));
}

TEST_CASE("the mean of the categories weighs them alike") {
  const ShapeBias bias(cues(), {0, 0, 1, 2, 0, 0});  // cat 2 of 3, dog 0 of 1, emu 0 of 1
  CHECK(bias.all().bias() == doctest::Approx(40));
  CHECK(bias.mean_bias() == doctest::Approx(200.0 / 9));
}

TEST_CASE("without a decision for either there is no shape bias, and tables say so") {
  const ShapeBias bias(cues(), {2, 2, 2, 2, 2, -1});
  CHECK(std::isnan(bias.all().bias()));
  CHECK(std::isnan(bias.mean_bias()));
  CHECK(contains(bias.table(),
                 "all                          5      0        0        5      0.00"
                 "             -\n"));
  CHECK(contains(bias.svg(), "Shape bias - %"));
}

TEST_CASE("the table has a row per shape, all, and the mean") {
  const std::string table = ShapeBias(cues(), kDecisions).table();
  CHECK(contains(table, "mean of the categories" + std::string(52, ' ') + "66.67\n"));
  CHECK(!contains(table, "emu"));
}

TEST_CASE("decisions picture by picture") {
  CHECK(csv_of_decisions(cues(), kDecisions) ==
        "image,shape,texture,decision\n"
        "image 0,cat,dog,cat\nimage 1,cat,dog,cat\nimage 2,cat,dog,dog\n"
        "image 3,cat,dog,\"emu, large\"\nimage 4,dog,cat,\"emu, large\"\n"
        "image 5,\"emu, large\",cat,\n");
}

TEST_CASE("several models in one table, and the files of one") {
  MeasuredBias model;
  model.checkpoint = "a.safetensors";
  model.model = "vit";
  model.images = "builtin";
  model.size = {32, 48};
  model.cues = cues();
  model.responses.decisions = kDecisions;
  model.responses.pass.bad_images = {{0, "one"}};
  const std::vector<MeasuredBias> models = {model, model};
  CHECK(contains(bias_table(models),
                 "a.safetensors  32x48       5      2        1     60.00"
                 "         66.67\n"));
  CHECK(contains(bias_csv(models),
                 "a.safetensors,vit,builtin,32,48,0.875,5,1,2,1,60,66.66666666666667,"));
  const TemporaryFolder folder;
  const auto files = write_bias(folder / "new", model);
  REQUIRE(files.size() == 3);
  CHECK(read_file(files[0]) == model.bias().csv());
}

TEST_CASE("categories are the model's classes, or those of a map") {
  const ModelClasses builtin{10, Builtin(Split::test).class_names()};
  CHECK(open_cues({.images = "builtin"}, builtin).categories.size() == 10);
  CHECK(contains(message_of([] { (void)open_cues({.images = "builtin"}, {10}); }),
                 "got the category \"disc\""));  // a model that names no classes
  const TemporaryFolder folder;
  write_file_atomically(folder / "map.txt", "cat: 0\ndog: 10\n");
  CHECK(contains(message_of([&] {
                   (void)open_cues({.images = "builtin", .class_map = folder / "map.txt"}, builtin);
                 }),
                 "got class 10 for dog; the model has 10 classes"));
}

TEST_CASE("pictures are matched with a model's classes by name: label names, synset ids") {
  const TemporaryFolder folder;
  for (const char* const shape : {"cat", "dog"})
    std::filesystem::create_directories(folder / shape);
  for (const char* const file : {"cat/cat1-dog2.png", "dog/dog1-cat2.png"})
    write_png(folder / file, Image(4, 4));
  const std::string images = folder.path().string();
  const ModelClasses described{2, {"a barking animal", "a feline"}, {"dog", "cat"}};
  const ShownCues shown = open_cues({.images = images}, described);
  CHECK(category_names(shown.categories) == std::vector<std::string>{"dog", "cat"});
  CHECK(shown.cues.images->label(0) == 1);  // a cat is the model's second class
  const ModelClasses synsets{2, {"dog (n02)", "cat (n01)"}};
  CHECK(open_cues({.images = images}, synsets).cues.textures == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("a map of categories takes classes by name, and says which ones numbers mean") {
  const ModelClasses model{4, {"tabby", "Egyptian cat", "beagle", "pug (n03)"}};
  const auto map = parse_category_map(
      "\xEF\xBB\xBF"
      "cat: tabby, Egyptian cat\r\ndog: 2 n03\r\n",
      "map.txt", model);
  CHECK(map[0].classes == std::vector<std::int64_t>{0, 1});
  CHECK(map[1].classes == std::vector<std::int64_t>{2, 3});
  CHECK(contains(
      message_of([&] { (void)parse_category_map("cat: taby\ndog: 2\n", "map.txt", model); }),
      "got \"taby\" for cat, expected the name of a class of the model or its number; did you mean "
      "tabby?"));
  CHECK(categories_notice({.images = "x", .class_map = "map.txt"}, model, map) ==
        "map.txt: cat is tabby, Egyptian cat; dog is beagle, pug (n03)");
  CHECK(categories_notice({.images = "x"}, model, map).empty());
  // Names that are numbers in another order are names.
  const ModelClasses turned{3, {"2", "0", "1"}};
  CHECK(parse_category_map("cat: 2\ndog: 0 1\n", "m", turned)[0].classes ==
        std::vector<std::int64_t>{0});
}

}  // namespace fovea
