// Every analysis from model to files: what is written, what the numbers are, what is refused.
#include "report/inspect/inspect.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/image.h"
#include "engine/autograd.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "models/registry.h"
#include "report/inspect/command.h"
#include "report/inspect/measures.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using doctest::Approx;
using nlohmann::json;

namespace {

std::unique_ptr<Model> tiny_vit(json overrides = json::object()) {
  json settings{
      {"depth", 3}, {"embed_dim", 12}, {"num_heads", 2}, {"patch_size", 8}, {"num_classes", 4}};
  settings.update(overrides);
  return make_model("vit_tiny_patch4_32", settings);
}

std::unique_ptr<Model> tiny_cpvt(json overrides = json::object()) {
  json settings{{"depth", 2},      {"embed_dim", 12},  {"num_heads", 2},
                {"patch_size", 8}, {"num_classes", 4}, {"img_size", {32, 32}}};
  settings.update(overrides);
  return make_model("cpvt_tiny_peg0_224", settings);
}

std::unique_ptr<Model> tiny_pervit(json overrides = json::object()) {
  json settings{{"emb_dims", {8, 16}}, {"depths", {2, 1}},     {"convstem_dims", {3, 8, 8}},
                {"num_heads", 2},      {"img_size", {16, 16}}, {"num_classes", 4}};
  settings.update(overrides);
  return make_model("pervit_tiny_224", settings);
}

/// Runs an analysis on two of the built-in pictures and gives its files by name.
struct Ran {
  TemporaryFolder folder;
  InspectOptions options;
  std::vector<std::string> names;
  std::int64_t progress = 0;
  std::string table;  ///< for the terminal

  Ran() { options.count = 2; }
  void run(const std::string& name, Model* model) {
    options.output = (folder / "out").string();
    Inspection what;
    what.model = model;
    what.source = "a & b";
    what.options = options;
    what.progress = [&](std::int64_t done, std::int64_t total) {
      CHECK(done <= total);
      progress = done;
    };
    what.print = [&](const std::string& text) { table = text; };
    for (const auto& file : run_inspection(name, what)) names.push_back(file.filename().string());
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return read_file(std::filesystem::path(options.output) / name);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  /// Rows of numbers, the header left out; texts count as NaN.
  [[nodiscard]] std::vector<std::vector<double>> rows(const std::string& name) const {
    std::vector<std::vector<double>> rows;
    std::istringstream lines(text(name));
    for (std::string line; std::getline(lines, line);) {
      std::vector<double>& row = rows.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) {
        char* end = nullptr;
        const double value = std::strtod(cell.c_str(), &end);
        row.push_back(end != cell.c_str() ? value : std::nan(""));
      }
    }
    rows.erase(rows.begin());
    return rows;
  }
};

std::string refusal(const std::string& name, Model* model, InspectOptions options = {}) {
  const TemporaryFolder folder;
  options.output = folder.path().string();
  options.count = 1;
  return message_of([&] {
    Inspection what;
    what.model = model;
    what.options = options;
    (void)run_inspection(name, what);
  });
}

void check_picture(const std::string& svg) {
  CHECK(svg.ends_with("</svg>\n"));
  CHECK_FALSE(contains(svg, "nan"));
  CHECK_FALSE(contains(svg, "inf"));
}

}  // namespace

TEST_CASE("pictures are shown as in evaluation: size, crop and filter; .gif files too") {
  const TemporaryFolder folder;
  Image picture(20, 40);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
    picture.pixels[i] = static_cast<std::uint8_t>(i * 37);
  }
  write_png(folder / "a.png", picture);
  std::filesystem::copy_file(std::string(FOVEA_TESTS) + "/fuzz/corpus/image/tiny.gif",
                             folder / "b.gif");
  const auto model = tiny_vit();
  EvaluationTransform transform;
  transform.crop = {.crop_pct = 0.5, .mode = CropMode::squash, .filter = Filter::nearest};
  const InspectImages images({.path = folder.path().string()}, model->info(), transform);
  REQUIRE(images.size() == 2);
  CHECK(images.name(1) == "b.gif");
  transform.size = {32, 32};
  CHECK(images.picture(0) == prepare_for_evaluation(picture, transform));
  transform.crop = {};
  CHECK(images.picture(0) != prepare_for_evaluation(picture, transform));
}

TEST_CASE("attention: a picture, its rows sum to one, the mean is the mean of the heads") {
  const auto model = tiny_vit();
  Ran ran;
  ran.options.layers = "1,3";
  ran.run("attention", model.get());
  CHECK(ran.progress == 2);
  CHECK(ran.has("attention-001.svg"));
  CHECK(ran.has("attention-001-layer003.png"));
  CHECK_FALSE(ran.has("attention-001-layer002.png"));
  const std::string svg = ran.text("attention-000.svg");
  check_picture(svg);
  for (const char* part : {"layer 1", "layer 3", "head 0", "head 1", "mean", "patch (2, 2)",
                           "a &amp; b", "data:image/png;base64,", "attention weight"}) {
    CHECK_MESSAGE(contains(svg, part), part);
  }
  const auto rows = ran.rows("attention-000.csv");
  REQUIRE(rows.size() == 2 * 3 * 17);  // layers, mean and heads, keys
  for (std::size_t map = 0; map < 6; ++map) {
    double sum = 0;
    for (std::size_t k = 0; k < 17; ++k) sum += rows[map * 17 + k].back();
    CHECK(sum == Approx(1));
  }
  CHECK(rows[5].back() == Approx((rows[17 + 5].back() + rows[34 + 5].back()) / 2));
  CHECK(rows[5][2] == 11);  // the query: the class token, then patch (2, 2) of 4 x 4
  CHECK(read_image(ran.folder / "out/attention-000-layer001.png").width == 256);
}

TEST_CASE("attention: class token, one head, whole matrices, files") {
  const auto model = tiny_vit();
  Ran class_token;
  class_token.options.query = "class";
  class_token.options.head = "1";
  class_token.options.layer = "0";
  class_token.run("attention", model.get());
  CHECK(contains(class_token.text("attention-000.svg"), "class token"));
  CHECK(class_token.rows("attention-000.csv").size() == 17);

  Ran matrix;
  matrix.options.matrix = true;
  const Image picture(40, 30);
  write_png(matrix.folder / "a.png", picture);
  matrix.options.images = matrix.folder.path().string();
  matrix.run("attention", model.get());
  CHECK(matrix.has("matrix-000-layer002-mean.csv"));
  CHECK(matrix.has("matrix-000-layer002-1.png"));
  CHECK_FALSE(matrix.has("matrix-001.svg"));
  check_picture(matrix.text("matrix-000.svg"));
  CHECK(contains(matrix.text("matrix-000.svg"), "a.png"));
  const auto rows = matrix.rows("matrix-000-layer002-0.csv");
  REQUIRE(rows.size() == 15);  // 16 patches; rows() drops the first line
  for (const auto& row : rows) {
    double sum = 0;
    for (const double weight : row) sum += weight;
    CHECK(sum == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("attention-distance and -offset agree with one head measured by itself") {
  const auto model = tiny_vit();
  for (const std::string name : {"attention-distance", "attention-offset"}) {
    Ran ran;
    ran.options.batch_size = 1;
    ran.run(name, model.get());
    check_picture(ran.text(name + ".svg"));
    CHECK(contains(ran.text(name + ".svg"), "heads, sorted"));
    CHECK(contains(ran.text(name + ".svg"), "image side"));
    const auto rows = ran.rows(name + ".csv");
    REQUIRE(rows.size() == 6);

    const InspectImages images({.count = 2}, model->info(), {});
    double sum = 0;
    visit_blocks(*model, images.batch(0, 2), [&](const BlockAttention& block) {
      if (block.block() != 2) return;
      for (std::int64_t image = 0; image < 2; ++image) {
        const Locality l =
            locality_of(block.patch_weights({image, 1}), block.grid(), block.layout());
        sum += (name == "attention-distance" ? l.distance : l.offset) / 32 / 2;
      }
    });
    CHECK(rows[5][3] == Approx(sum).epsilon(1e-5));
    CHECK(rows[5][4] == Approx(sum * 32).epsilon(1e-5));
  }
}

TEST_CASE("distances are those of queries and keys that rotary positions have turned") {
  const auto model = tiny_vit({{"num_heads", 3}, {"rope", "axial"}, {"depth", 1}});
  {
    const NoGrad no_grad;
    model->store().find("blocks.0.attn.qkv.weight").fill_(0);
    model->store().find("blocks.0.attn.qkv.bias").fill_(1.5);
  }
  Ran ran;
  ran.run("attention-distance", model.get());
  // In a head of four channels, either axis turns one pair by its coordinate.
  double distances = 0;
  for (int query = 0; query < 16; ++query) {
    double all = 0, far = 0;
    for (int key = 0; key < 16; ++key) {
      const double dy = query / 4 - key / 4, dx = query % 4 - key % 4;
      const double weight = std::exp(2 * 1.5 * 1.5 * (std::cos(dy) + std::cos(dx)) / 2);
      all += weight;
      far += weight * std::hypot(dy, dx);
    }
    distances += far / all;
  }
  for (const auto& row : ran.rows("attention-distance.csv"))
    CHECK(row[3] == Approx(distances / 16 * 8 / 32).epsilon(1e-5));
}

TEST_CASE("locality: the numbers of each layer are means over heads, in file and table") {
  const auto model = tiny_vit();
  Ran whole, heads;
  whole.run("locality", model.get());
  heads.run("attention-distance", model.get());
  CHECK(whole.table == heads.table);
  check_picture(whole.text("locality.svg"));
  const auto rows = whole.rows("locality.csv"), by_head = heads.rows("attention-distance.csv");
  REQUIRE(rows.size() == 3);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const double mean = (by_head[2 * layer][3] + by_head[2 * layer + 1][3]) / 2;
    CHECK(rows[layer][2] == Approx(mean));
    CHECK(rows[layer][3] == Approx(by_head[2 * layer][5]));
    CHECK(rows[layer][7] == Approx((4 * 3 + 8 * 4 + 4 * 5) / 256.0));  // of 16 x 16 pairs, 64 near
    CHECK(contains(whole.table, fixed_text(mean, 4)));
  }
  CHECK(lines_of(whole.table).size() == 4 + 3);
}

TEST_CASE("the list of analyses has a line for each") {
  const std::vector<std::string> lines = lines_of(inspect_help());
  CHECK(lines.size() == 13);
  for (const std::string& line : lines) {
    CAPTURE(line);
    REQUIRE(split_words(line).size() > 3);
    CHECK(is_analysis(split_words(line).front()));
  }
  CHECK_FALSE(is_analysis("attentions"));
}

TEST_CASE("pos-embed: cosines between positions, the class token left out") {
  const auto model = tiny_vit();
  Ran ran;
  ran.run("pos-embed", model.get());
  check_picture(ran.text("pos-embed.svg"));
  const auto rows = ran.rows("pos-embed.csv");
  REQUIRE(rows.size() == 15);
  const Tensor table = model->store().find("pos_embed");
  double dot = 0, a = 0, b = 0;
  for (int i = 0; i < 12; ++i) {
    const double x = table.at((1 + 3) * 12 + i), y = table.at((1 + 7) * 12 + i);
    dot += x * y;
    a += x * x;
    b += y * y;
  }
  CHECK(rows[2][7] == Approx(dot / std::sqrt(a * b)).epsilon(1e-5));
  CHECK(rows[2][3] == Approx(1));
  const auto without = tiny_vit({{"pos_embed", "none"}});
  CHECK(
      contains(refusal("pos-embed", without.get()), "has no pos_embed; use peg-kernels for CPVT"));
}

TEST_CASE("peg-kernels: every weight and the mean magnitudes") {
  const auto model = tiny_cpvt({{"peg_positions", {-1, 0}}, {"peg_kernel", 5}});
  Ran ran;
  ran.run("peg-kernels", model.get());
  for (const char* name : {"peg-kernels-0.svg", "peg-kernels-1.svg", "peg-kernels-1-mean.svg"}) {
    check_picture(ran.text(name));
  }
  const auto rows = ran.rows("peg-kernels.csv");
  REQUIRE(rows.size() == 2 * 12 * 25);
  const Tensor weight = model->store().find("pos_block.1.proj.0.weight");
  CHECK(rows[12 * 25 + 77].back() == Approx(weight.at(77)));
  double mean = 0;
  for (int c = 0; c < 12; ++c) mean += std::abs(weight.at(c * 25 + 8)) / 12;
  CHECK(ran.rows("peg-kernels-mean.csv")[25 + 8].back() == Approx(mean));
  const auto full = tiny_cpvt({{"peg_conv", "full"}});
  Ran full_ran;
  full_ran.run("peg-kernels", full.get());
  CHECK(full_ran.rows("peg-kernels.csv")[9 + 4].back() ==  // channel 1 to channel 1
        Approx(full->store().find("pos_block.0.proj.0.weight").at((12 + 1) * 9 + 4)));
  const auto vit = tiny_vit();
  CHECK(contains(refusal("peg-kernels", vit.get()),
                 "has no position encoding generator, expected CPVT"));
}

TEST_CASE("attention where the grid shrinks on the way") {
  const auto model = tiny_cpvt({{"peg_padding", "none"}, {"patch_size", 4}});
  Ran ran;
  ran.run("attention", model.get());
  check_picture(ran.text("attention-000.svg"));
  CHECK(ran.rows("attention-000.csv").size() == 3 * (65 + 37));  // 8 x 8, then 6 x 6
}

TEST_CASE("the analyses of PerViT") {
  const auto model = tiny_pervit();
  Ran ran;
  ran.options.layers = "2";
  for (const char* name : {"pervit-phi", "pervit-regions", "pervit-nonlocality", "pervit-impact",
                           "pervit-attention"}) {
    CAPTURE(std::string(name));
    ran.run(name, model.get());
  }
  for (const std::string& name : ran.names) {
    CAPTURE(name);
    if (name.ends_with(".svg")) check_picture(ran.text(name));
  }
  CHECK(ran.rows("pervit-phi.csv").size() == 3 * 2 * 16);
  CHECK(ran.rows("pervit-regions.csv").size() == 6);
  CHECK(ran.rows("pervit-nonlocality.csv").size() == 6);
  CHECK(ran.rows("pervit-attention.csv").size() == 2 * 2 * 16);
  CHECK(ran.has("pervit-attention-layer002.svg"));
  const auto impact = ran.rows("pervit-impact.csv");
  const auto omega = ran.rows("pervit-nonlocality.csv");
  CHECK(impact[0][3] > impact[5][3]);  // position decides early, content late
  CHECK(omega[0][4] < omega[5][4]);
  CHECK(contains(ran.text("pervit-regions-pie.svg"), "central: "));
}

TEST_CASE("pervit-phi --init varies s and v apart and together, whatever the weights are") {
  const auto model = tiny_pervit();
  {
    const NoGrad no_grad;
    model->store().find("blocks.0.attn.activation.gn2.bias").fill_(100);
  }
  Ran ran;
  ran.options.init = true;
  ran.run("pervit-phi", model.get());
  check_picture(ran.text("pervit-phi-init.svg"));
  const auto rows = ran.rows("pervit-phi-init.csv");
  REQUIRE(rows.size() == 3 * 3 * 16);
  CHECK(rows[0][2] == -5);
  CHECK(rows[0][3] == 1);
  CHECK(rows[6 * 16][2] == -5);
  CHECK(rows[6 * 16][3] == 3);
  // With s alone the logits of a layer are those of the first, moved by the difference of s.
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  CHECK(logit(rows[16 + 3].back()) - logit(rows[3].back()) == Approx(4.5).epsilon(1e-3));
}

TEST_CASE("the regions of a grid need no model") {
  Ran ran;
  ran.options.grid = true;
  CHECK_FALSE(needs_model("pervit-regions", ran.options));
  ran.run("pervit-regions", nullptr);
  check_picture(ran.text("pervit-regions-grid.svg"));
  CHECK(ran.rows("pervit-regions-grid.csv").size() == 196);
  CHECK(contains(ran.text("pervit-regions-grid.csv"), "7,7,0,central"));
  CHECK(contains(ran.text("pervit-regions-grid.csv"), "0,0,9.899494936611665,outside"));
}

TEST_CASE("relative position encodings answer the questions about position") {
  const auto model = make_model("vit_tiny_patch4_32", {{"depth", 2},
                                                       {"embed_dim", 12},
                                                       {"num_heads", 2},
                                                       {"patch_size", 8},
                                                       {"pos_embed", "rpe2d"}});
  Ran ran;
  for (const char* name : {"pervit-phi", "pervit-impact", "pervit-nonlocality"}) {
    ran.run(name, model.get());
  }
  CHECK(ran.rows("pervit-phi.csv").size() == 2 * 2 * 16);
}

TEST_CASE("questions that a model cannot answer") {
  const auto vit = tiny_vit({{"class_token", false}, {"global_pool", "avg"}});
  InspectOptions options;
  options.query = "class";
  CHECK(contains(refusal("attention", vit.get(), options), "has no class token"));
  CHECK(contains(refusal("pervit-phi", vit.get()), "no position attention, expected PerViT"));
  CHECK(contains(refusal("pervit-impact", vit.get()), "no position attention"));
  options = {};
  options.init = true;
  CHECK(contains(refusal("pervit-phi", vit.get(), options), "expected PerViT (pervit_tiny_224)"));
  const auto linear = make_model("linear", {{"img_size", {32, 32}}});
  CHECK(contains(refusal("attention", linear.get()), "has no attention, expected a transformer"));
  CHECK(contains(refusal("atention", vit.get()), "did you mean attention?"));
  CHECK(contains(refusal("attention", nullptr), "needs a model"));
  const auto gray = tiny_vit({{"in_chans", 1}});
  CHECK(contains(refusal("attention", gray.get()), "takes images of 1 channels"));
  const auto no_content = tiny_pervit({{"phi_c", false}});
  CHECK(contains(refusal("pervit-impact", no_content.get()), "has no content attention"));
  Ran ran;
  ran.run("pervit-nonlocality", no_content.get());
  CHECK_FALSE(contains(ran.text("pervit-nonlocality.svg"), "Content attention"));
}

TEST_CASE("choices that do not exist") {
  const auto model = tiny_vit();
  const auto with = [&](auto&& set) {
    InspectOptions options;
    set(options);
    return refusal("attention", model.get(), options);
  };
  CHECK(
      contains(with([](auto& o) { o.layers = "0"; }), "--layers: got 0, expected a number from 1"));
  CHECK(contains(with([](auto& o) { o.layers = "2-9"; }), "--layers: got 9"));
  CHECK(contains(with([](auto& o) { o.layer = "3"; }), "--layer: got 3"));
  CHECK(contains(with([](auto& o) { o.layers = "1", o.layer = "1"; }), "not both"));
  CHECK(contains(with([](auto& o) { o.head = "2"; }), "--head: got 2"));
  CHECK(contains(with([](auto& o) { o.query = "middle"; }), "expected center, class or Y,X"));
  CHECK(contains(with([](auto& o) { o.query = "4,0"; }), "--query: row: got 4"));
  CHECK(contains(with([](auto& o) { o.images = "/nowhere"; }), "does not exist"));
  InspectOptions ranges;
  ranges.layers = "2-3,1";
  CHECK(inspect::chosen_blocks(ranges, 3, "all") == std::vector<std::int64_t>{0, 1, 2});
}
