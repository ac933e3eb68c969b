// The error for weights that do not fit: its length, and the reasons that it gives.
#include "models/checkpoints/mismatch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;

namespace {

std::unique_ptr<Model> small(const json& more = json::object()) {
  json config{{"family", "vit"}, {"img_size", {8, 8}}, {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 12}, {"depth", 2},         {"num_heads", 3}};
  config.update(more);
  return make_model_from_config(config, 1);
}

std::string mismatch_error(const TensorMap& tensors, const LoadOptions& options = {}) {
  return message_of([&] { load_state(*small(), tensors, {}, options); });
}

std::string mismatch_error_with(const std::string& name, const Shape& shape) {
  TensorMap tensors = state_of(*small());
  tensors[name] = zeros(shape);
  return mismatch_error(tensors);
}

}  // namespace

TEST_CASE("a mismatch says how many tensors fit and the first names; all names are for --verbose") {
  const TensorMap deep = state_of(*small({{"depth", 24}}));
  const std::string said = mismatch_error(deep);
  CHECK(said.size() < 800);  // ten lines of a terminal
  CHECK(std::count(said.begin(), said.end(), '\n') == 0);
  CHECK(contains(said,
                 "weights do not fit vit: 32 of its 32 tensors fit; 264 unexpected: "
                 "blocks.10.attn.proj.bias, blocks.10.attn.proj.weight, "
                 "blocks.10.attn.qkv.bias and 261 more"));
  CHECK(contains(said, "another depth: 24 blocks, expected 2"));
  CHECK(contains(said, "--verbose lists all names"));
  LoadOptions verbose;
  verbose.all_names = true;
  const std::string all = mismatch_error(deep, verbose);
  CHECK(contains(all, "blocks.23.norm2.weight"));
  CHECK_FALSE(contains(all, "--verbose"));
}

TEST_CASE("a mismatch names the probable reason") {
  CHECK(contains(mismatch_error(state_of(*small({{"embed_dim", 24}}))),
                 "another width: 24, expected 12"));
  CHECK_FALSE(contains(mismatch_error(state_of(*small({{"embed_dim", 24}}))), "width of the MLP"));
  CHECK(contains(mismatch_error(state_of(*small({{"patch_size", 8}}))),
                 "another patch size: 8, expected 4"));
  CHECK(contains(mismatch_error(state_of(*small({{"mlp_ratio", 2}}))),
                 "another width of the MLP: 24, expected 48"));
  CHECK(contains(mismatch_error(state_of(*small({{"num_classes", 7}}))),
                 "another number of classes: 7, expected 5"));
  CHECK(contains(mismatch_error(state_of(*small({{"num_classes", 0}}))),
                 "the file has no head for classes: training starts a new one with --finetune"));
  CHECK(contains(mismatch_error_with("blocks.0.gamma_1", {12}),
                 "the file has layer scale: blocks.0.ls1.gamma"));
  CHECK(contains(mismatch_error_with("blocks.0.attn.gate.weight", {12, 12}),
                 "the file has gated attention: blocks.0.attn.gate.weight"));
  CHECK(contains(mismatch_error_with("reg_token", {1, 4, 12}),
                 "the file has register tokens: reg_token"));
  CHECK(contains(mismatch_error_with("head_dist.weight", {5, 12}),
                 "the head of a distilled model: deit_..._distilled: head_dist.weight"));
  CHECK(contains(mismatch_error_with("norm_pre.weight", {12}), "a norm before the blocks"));
  CHECK(contains(mismatch_error_with("text_model.x", {12}), "a text tower: text_model.x"));
  CHECK(contains(mismatch_error_with("head.mlp.0.weight", {12}), "a projection head"));
  CHECK(
      contains(mismatch_error(state_of(*small({{"global_pool", "avg"}}))), "a norm after average"));
}

TEST_CASE("a missing part of the model is named too") {
  const auto averaging = small({{"global_pool", "avg"}});
  const std::string said = message_of([&] { load_state(*averaging, state_of(*small()), {}, {}); });
  CHECK(contains(said, "the model has a norm after average pooling"));
}

TEST_CASE("a counter is not a weight, whatever its name") {
  TensorMap tensors = state_of(*small());
  tensors["num_updates"] = full({}, 7, {DType::i64, {}});
  tensors["swa.n_averaged"] = full({1}, 7, {DType::i64, {}});
  const auto model = small();
  CHECK(load_state(*model, tensors).kept.empty());
}
