// Tensors that are laid out by a grid: known by what the file says, resized, computed or refused.
#include "models/checkpoints/grid_fit.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/base/files.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "ops/resize.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"

using namespace fovea;
using nlohmann::json;

namespace {

using Grid = std::array<std::int64_t, 2>;
using Names = std::vector<std::string>;
const ops::ResizeOptions kTimm{ops::ResizeMode::bicubic, true};

/// Patches of four pixels in `grid`.
std::unique_ptr<Model> vit_on(const Grid& grid, std::uint64_t seed,
                              const json& more = json::object()) {
  json config{{"family", "vit"}, {"img_size", {4 * grid[0], 4 * grid[1]}},
              {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 12}, {"depth", 1},
              {"num_heads", 3}};
  config.update(more);
  return make_model_from_config(config, seed);
}

std::unique_ptr<Model> mae_on(const Grid& grid, std::uint64_t seed, const std::string& positions) {
  return make_model_from_config({{"family", "mae"},
                                 {"img_size", {4 * grid[0], 4 * grid[1]}},
                                 {"patch_size", 4},
                                 {"embed_dim", 12},
                                 {"depth", 1},
                                 {"num_heads", 3},
                                 {"decoder_embed_dim", 8},
                                 {"decoder_depth", 1},
                                 {"decoder_num_heads", 2},
                                 {"pos_embed", positions}},
                                seed);
}

std::unique_ptr<Model> pervit_on(std::int64_t side, std::uint64_t seed, const json& more) {
  json config{{"family", "pervit"},  {"img_size", {side, side}}, {"convstem_dims", {3, 8, 8}},
              {"emb_dims", {8, 12}}, {"depths", {1, 1}},         {"num_heads", 2},
              {"num_classes", 5}};
  config.update(more);
  return make_model_from_config(config, seed);
}

std::vector<double> values(const Model& model, const char* name = "pos_embed") {
  return model.store().find(name).to_vector();
}

std::vector<double> resampled(const Model& from, const Grid& old_grid, const Grid& grid,
                              const ops::ResizeOptions& how = {}, const char* name = "pos_embed") {
  const NoGrad no_grad;
  return ops::resample_pos_embed(from.store().find(name), 1, old_grid, grid, how).to_vector();
}

/// All of one model into another, as from a file that says its model.
LoadReport load(Model& model, const Model& from, const LoadOptions& options = {}) {
  return load_state(model, state_of(from), {from.info().config}, options);
}

std::string grid_error(Model& model, const Model& from, const WeightsOrigin& origin,
                       const LoadOptions& options = {}) {
  return message_of([&] { load_state(model, state_of(from), origin, options); });
}

LoadOptions said_grid(const Grid& grid) {
  LoadOptions options;
  options.pos_grid = grid;
  return options;
}

LoadOptions finetuning() {
  LoadOptions options;
  options.finetune = true;
  return options;
}

}  // namespace

TEST_CASE("a table of as many tokens but another grid is resized, not copied") {
  const auto wide = vit_on({2, 8}, 1);
  for (const Grid grid : {Grid{4, 4}, Grid{8, 2}}) {
    const auto model = vit_on(grid, 2);
    const LoadReport report = load(*model, *wide);
    CHECK(report.resized == Names{"pos_embed"});
    CHECK(values(*model) == resampled(*wide, {2, 8}, grid));
    REQUIRE(report.notes.size() == 1);
    CHECK(contains(report.notes[0], "pos_embed was resized from 2x8 to "));
    CHECK(contains(report.notes[0], "as in DeiT's code (bicubic); --pos-resize timm"));
  }
  const auto same = vit_on({2, 8}, 3);
  const LoadReport report = load(*same, *wide);
  CHECK(report.resized.empty());
  CHECK(report.notes.empty());
  CHECK(values(*same) == values(*wide));
}

TEST_CASE("an oblong table of another number of tokens is resized by the grid that its file says") {
  const auto wide = vit_on({2, 3}, 1);
  const auto model = vit_on({4, 5}, 2);
  load(*model, *wide);
  CHECK(values(*model) == resampled(*wide, {2, 3}, {4, 5}));
}

TEST_CASE("the way of resizing is the origin's, unless a flag says another") {
  const auto small = vit_on({3, 3}, 1);
  const auto resized_by = [&](PosResize origin, PosResize flag) {
    const auto model = vit_on({2, 2}, 2);
    LoadOptions options;
    options.pos_resize = flag;
    load_state(*model, state_of(*small), {small->info().config, origin}, options);
    return values(*model);
  };
  const std::vector<double> plain = resampled(*small, {3, 3}, {2, 2}),
                            antialiased = resampled(*small, {3, 3}, {2, 2}, kTimm);
  CHECK(plain != antialiased);
  CHECK(resized_by(PosResize::deit, PosResize::automatic) == plain);
  CHECK(resized_by(PosResize::timm, PosResize::automatic) == antialiased);
  CHECK(resized_by(PosResize::deit, PosResize::timm) == antialiased);
  CHECK(resized_by(PosResize::timm, PosResize::deit) == plain);
}

TEST_CASE("a folder of timm's says the grid and is resized as timm does") {
  const TemporaryFolder folder;
  const json config{{"architecture", "vit_tiny_patch16_224"},
                    {"num_classes", 5},
                    {"model_args",
                     {{"img_size", {8, 32}},
                      {"patch_size", 4},
                      {"embed_dim", 12},
                      {"depth", 1},
                      {"num_heads", 3}}}};
  const auto wide = vit_on({2, 8}, 1);
  write_safetensors(folder / "model.safetensors", state_of(*wide));
  write_file_atomically(folder / "config.json", config.dump());
  const auto model = vit_on({4, 4}, 2);
  const LoadReport report = load_weights(*model, folder.path(), finetuning());
  CHECK(values(*model) == resampled(*wide, {2, 8}, {4, 4}, kTimm));
  REQUIRE(report.notes.size() == 1);
  CHECK(contains(report.notes[0], "from 2x8 to 4x4 patches as in timm (bicubic, antialiased)"));

  // One of an architecture that is not here is resized so too, by a guess.
  write_file_atomically(folder / "config.json", R"({"architecture": "vit_wonderful"})");
  CHECK(origin_of({}, folder / "model.safetensors").resize == PosResize::timm);
  CHECK(origin_of({}, folder / "model.safetensors").config.empty());
}

TEST_CASE("where nothing says the grid, a square is taken and reported") {
  const auto wide = vit_on({2, 8}, 1);
  const auto model = vit_on({4, 4}, 2), oblong = vit_on({8, 2}, 2);
  const LoadReport report = load_state(*model, state_of(*wide));
  CHECK(values(*model) == values(*wide));
  CHECK(report.notes ==
        Names{"does not record the grid of its 16 patches; using the square 4x4 (--pos-grid "
              "HxW sets another)"});
  CHECK(load_state(*oblong, state_of(*model)).notes.size() == 2);
  CHECK(values(*oblong) == resampled(*model, {4, 4}, {8, 2}));

  // No square: the model's own where it has as many, else there is none to take.
  const auto six = vit_on({2, 3}, 1), turned = vit_on({3, 2}, 2);
  CHECK(contains(load_state(*turned, state_of(*six)).notes.at(0), "using the model's own 3x2"));
  CHECK(contains(grid_error(*model, *six, {}),
                 "pos_embed is [1, 7, 12], expected [1, 17, 12], and the grid of "
                 "its patches is not recorded; set it with --pos-grid HxW"));
}

TEST_CASE("the user can say the grid, if it has as many patches") {
  const auto wide = vit_on({2, 8}, 1);
  const auto model = vit_on({4, 4}, 2);
  CHECK(load_state(*model, state_of(*wide), {}, said_grid({2, 8})).resized == Names{"pos_embed"});
  CHECK(values(*model) == resampled(*wide, {2, 8}, {4, 4}));
  CHECK(grid_error(*model, *wide, {}, said_grid({2, 7})) ==
        "--pos-grid: got 2x7, which has 14 patches, but pos_embed has 16");
}

TEST_CASE("a statement that does not fit the table is none") {
  const auto wide = vit_on({2, 8}, 1);
  const auto model = vit_on({4, 4}, 2);
  for (const std::string& config :
       {vit_on({3, 7}, 1)->info().config, std::string("{\"family\": \"unheard of\"}"),
        std::string("no JSON"), std::string("[]")}) {
    CAPTURE(config);
    CHECK(contains(load_state(*model, state_of(*wide), {config}).notes.at(0), "the square 4x4"));
  }
}

TEST_CASE("both tables of an autoencoder go by its grid, learned or computed") {
  for (const std::string kind : {"learned", "sincos"}) {
    CAPTURE(kind);
    const bool learned = kind == "learned";
    const auto wide = mae_on({2, 8}, 1, kind), model = mae_on({4, 4}, 2, kind),
               fresh = mae_on({4, 4}, 3, kind);
    const LoadReport report = load(*model, *wide);
    const Names both{"pos_embed", "decoder_pos_embed"};
    CHECK((learned ? report.resized : report.kept) == both);
    for (const char* name : {"pos_embed", "decoder_pos_embed"}) {
      CHECK(values(*model, name) ==
            (learned ? resampled(*wide, {2, 8}, {4, 4}, {}, name) : values(*fresh, name)));
    }
    // And the encoder's, when a classifier starts from it.
    const auto classifier = vit_on({4, 4}, 4, {{"global_pool", "avg"}});
    CHECK(load(*classifier, *wide, finetuning()).resized == Names{"pos_embed"});
    CHECK(values(*classifier) == resampled(*wide, {2, 8}, {4, 4}));
  }
}

TEST_CASE("a computed table is computed for the model's grid, and this is reported") {
  const json sincos{{"pos_embed", "sincos"}};
  const auto wide = vit_on({2, 8}, 1, sincos), model = vit_on({4, 4}, 2, sincos);
  const std::vector<double> own = values(*model);
  const LoadReport report = load(*model, *wide);
  CHECK(report.kept == Names{"pos_embed"});
  CHECK(report.notes == Names{"pos_embed was computed for 4x4 patches; the file's is for 2x8"});
  CHECK(values(*model) == own);
  // The values show their grid, where nothing else does.
  CHECK(load_state(*model, state_of(*wide)).notes == report.notes);
  CHECK(values(*model) == own);
  // In fine-tuning the encoder's own is resized.
  CHECK(load(*model, *wide, finetuning()).resized == Names{"pos_embed"});
  CHECK(values(*model) == resampled(*wide, {2, 8}, {4, 4}));
}

TEST_CASE("a computed table takes no other values from a file without a word") {
  const json sincos{{"pos_embed", "sincos"}};
  const auto learned = vit_on({4, 4}, 1), model = vit_on({4, 4}, 2, sincos);
  const std::vector<double> own = values(*model);
  for (const LoadOptions& options : {LoadOptions{}, finetuning()}) {
    const std::string said = grid_error(*model, *learned, {learned->info().config}, options);
    CHECK(contains(said, " from the sin-cos table for 4x4 patches that this model computes"));
    CHECK(contains(said, "a model with pos_embed learned accepts other values"));
  }
  CHECK(values(*model) == own);
  // A table that was resized in fine-tuning is what its model learned with.
  const auto tuned = vit_on({4, 4}, 3, sincos), again = vit_on({4, 4}, 4, sincos);
  load(*tuned, *vit_on({2, 8}, 1, sincos), finetuning());
  CHECK(contains(load(*again, *tuned).notes.at(0),
                 "the file's values are used, because its model was trained with them"));
  CHECK(values(*again) == values(*tuned));
  const auto larger = vit_on({6, 6}, 5, sincos);
  CHECK(load(*larger, *tuned).resized == Names{"pos_embed"});
  CHECK(values(*larger) == resampled(*tuned, {4, 4}, {6, 6}));
}

TEST_CASE("a learned table takes the grid that computed values show") {
  const auto wide = mae_on({2, 8}, 1, "sincos");
  const auto classifier = vit_on({4, 4}, 2, {{"global_pool", "avg"}});
  const LoadReport report = load_state(*classifier, state_of(*wide), {}, finetuning());
  CHECK(report.resized == Names{"pos_embed"});
  CHECK(values(*classifier) == resampled(*wide, {2, 8}, {4, 4}));
  REQUIRE(report.notes.size() == 1);
  CHECK(contains(report.notes[0], "pos_embed was resized from 2x8 to 4x4 patches"));
}

TEST_CASE("a computed table in half precision is the computed one") {
  const json sincos{{"pos_embed", "sincos"}};
  const auto from = vit_on({4, 4}, 1, sincos), model = vit_on({4, 4}, 2, sincos);
  TensorMap tensors = state_of(*from);
  tensors["pos_embed"] = tensors["pos_embed"].to(DType::bf16);
  CHECK(load_state(*model, tensors, {from->info().config}).notes.empty());
}

TEST_CASE("tokens before the patches are kept, and must be as many") {
  const json distilled{{"family", "deit"}, {"distilled", true}};
  const auto wide = vit_on({2, 8}, 1, distilled), model = vit_on({4, 4}, 2, distilled);
  load(*model, *wide);
  const NoGrad no_grad;
  CHECK(values(*model) ==
        ops::resample_pos_embed(wide->store().find("pos_embed"), 2, {2, 8}, {4, 4}).to_vector());

  // 1 + 15 and 16 are as many tokens.
  const json uncovered{{"no_embed_class", true}};
  const auto fifteen = vit_on({3, 5}, 1), sixteen = vit_on({4, 4}, 2, uncovered);
  CHECK(contains(grid_error(*sixteen, *fifteen, {fifteen->info().config}),
                 "pos_embed has a layout of 1 + 3x5 positions, expected 4x4"));
  const auto bare = vit_on({2, 8}, 1, uncovered);
  load(*sixteen, *bare);
  CHECK(values(*sixteen) ==
        ops::resample_pos_embed(bare->store().find("pos_embed"), 0, {2, 8}, {4, 4}).to_vector());
}

TEST_CASE("PerViT's tables go by the grid behind its stem") {
  const auto small = pervit_on(16, 1, {{"pos_embed", "learned"}}),
             model = pervit_on(24, 2, {{"pos_embed", "learned"}});
  CHECK(load(*model, *small).resized == Names{"pos_embed"});
  const NoGrad no_grad;
  CHECK(values(*model) ==
        ops::resample_pos_embed(small->store().find("pos_embed"), 0, {4, 4}, {6, 6}).to_vector());
}

TEST_CASE("PerViT's learned relative vectors are resized, and their margin stays as wide") {
  const json learned{{"ppe_embed", "lrn"}};
  const auto small = pervit_on(16, 1, learned), model = pervit_on(24, 2, learned);
  const LoadReport report = load(*model, *small);
  CHECK(report.resized == Names{"rpe_vec"});
  const NoGrad no_grad;
  const Tensor before = small->store().find("rpe_vec"), after = model->store().find("rpe_vec");
  REQUIRE(before.size(0) == 8);  // 4 and two on each side
  REQUIRE(after.size(0) == 10);
  const auto part = [](const Tensor& map, int axis, std::int64_t begin, std::int64_t end) {
    return ops::slice(map, axis, begin, end).contiguous();
  };
  CHECK(part(part(before, 0, 0, 2), 1, 6, 8).to_vector() ==
        part(part(after, 0, 0, 2), 1, 8, 10).to_vector());
  const auto inner = [&](const Tensor& map, std::int64_t side) {
    const Tensor cut = part(part(map, 0, 2, 2 + side), 1, 2, 2 + side);
    return ops::unsqueeze(ops::permute(cut, {2, 0, 1}), 0).contiguous();
  };
  const Tensor expected = ops::resize(inner(before, 4), {6, 6});
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    CHECK(inner(after, 6).at(i) == doctest::Approx(expected.at(i)).epsilon(1e-5));
  }
  // A bare file of the same grid, or of another, needs no word: the grid is square by nature.
  const auto bare = pervit_on(24, 3, learned);
  const LoadReport said_nothing = load_state(*bare, state_of(*small));
  CHECK(values(*bare, "rpe_vec") == values(*model, "rpe_vec"));
  CHECK(said_nothing.resized == Names{"rpe_vec"});
}

TEST_CASE("what belongs to pixels is refused at another size of as many") {
  const json permuted{{"permutation", true}, {"permute_T", 5}};
  const auto wide = vit_on({2, 8}, 1, permuted), model = vit_on({4, 4}, 2, permuted);
  CHECK(contains(grid_error(*model, *wide, {wide->info().config}),
                 "perm has a layout of 8x32 positions, expected 16x16"));
  const auto linear = [](const Grid& size) {
    return make_model("linear", {{"img_size", size}, {"num_classes", 5}}, 1);
  };
  const auto from = linear({4, 16}), turned = linear({16, 4});
  CHECK(grid_error(*turned, *from, {from->info().config}) ==
        "weights do not fit linear: 1 of its 2 tensors fit; 1 mis-shaped: head.weight has a layout "
        "of 4x16 positions, expected 16x4");
  CHECK(load(*turned, *from, finetuning()).kept == Names{"head.weight"});
}

TEST_CASE("positions that go by no grid load at any size without a word") {
  for (const json& more : std::vector<json>{{{"pos_embed", "rpe2d"}},
                                            {{"pos_embed", "none"}, {"irpe", true}},
                                            {{"family", "cpvt"}, {"peg_positions", {0}}}}) {
    CAPTURE(more.dump());
    const auto wide = vit_on({2, 8}, 1, more), model = vit_on({3, 5}, 2, more);
    const LoadReport report = load(*model, *wide);
    CHECK(report.notes.empty());
    CHECK(report.resized.empty());
  }
}

TEST_CASE("the model that the user names says the grid of a bare file") {
  const TemporaryFolder folder;
  const json sizes{{"depth", 1}, {"embed_dim", 12}, {"num_heads", 3}, {"num_classes", 5}};
  const auto wide = make_model("vit_tiny_patch4_8x32", sizes, 1);
  write_file_atomically(folder / "wide.pth", tests::torch_checkpoint(state_of(*wide)));
  json square = sizes;
  square["img_size"] = {16, 16};
  const auto model = make_model("vit_tiny_patch4_8x32", square, 2);
  LoadOptions options;
  options.model = "vit_tiny_patch4_8x32";
  const LoadReport report = load_weights(*model, folder / "wide.pth", options);
  CHECK(report.resized == Names{"pos_embed"});
  CHECK(values(*model) == resampled(*wide, {2, 8}, {4, 4}));
}
