// Prefixes of names, several encoders in a file, and keys that choose one of them.
#include "models/checkpoints/official_names.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/models/same_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

using Names = std::vector<std::string>;

TensorMap small_state(std::uint64_t seed = 1) {
  return state_of(*make_model_from_config({{"family", "vit"},
                                           {"img_size", {8, 8}},
                                           {"patch_size", 4},
                                           {"num_classes", 5},
                                           {"embed_dim", 12},
                                           {"depth", 2},
                                           {"num_heads", 3}},
                                          seed));
}

TensorMap with_prefix(const std::string& prefix, const TensorMap& tensors) {
  TensorMap longer;
  for (const auto& [name, tensor] : tensors) longer[prefix + name] = tensor;
  return longer;
}

TensorMap without_head(TensorMap tensors) {
  tensors.erase("head.weight");
  tensors.erase("head.bias");
  return tensors;
}

TensorMap together(TensorMap a, const TensorMap& b) {
  a.insert(b.begin(), b.end());
  return a;
}

std::string names_error(const TensorMap& tensors) {
  return message_of([&] { static_cast<void>(official_weights(tensors)); });
}

}  // namespace

TEST_CASE("a prefix that all names share is removed, with a note") {
  const TensorMap state = small_state();
  for (const std::string prefix :
       {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "model.", "backbone.",
        "encoder.", "student.backbone.", "module.model.", "state.net.vit."}) {
    CAPTURE(prefix);
    const OfficialWeights found = official_weights(with_prefix(prefix, state));
    check_same(found.tensors, state);
    CHECK(found.notes == Names{"all names begin with \"" + prefix + "\", which is removed"});
  }
  CHECK(official_weights(state).notes.empty());
}

TEST_CASE("counters beside the weights do not have their prefix") {
  TensorMap averaged = with_prefix("module.", small_state());
  averaged["n_averaged"] = full({}, 5, {DType::i64, {}});
  const OfficialWeights found = official_weights(averaged);
  CHECK(found.tensors.contains("head.weight"));
  CHECK(found.notes == Names{"all names begin with \"module.\", which is removed"});
}

TEST_CASE("what compilers and shards put into names is removed anywhere") {
  CHECK(official_name("module._orig_mod.blocks.0._orig_mod.norm1.weight") ==
        "blocks.0.norm1.weight");
  CHECK(official_name("blocks.0._fsdp_wrapped_module.mlp._checkpoint_wrapped_module.fc1.bias") ==
        "blocks.0.mlp.fc1.bias");
  CHECK(official_name("my_orig_mod.x") == "my_orig_mod.x");
}

TEST_CASE("a model without a ViT's patch embedding loses a shared prefix too") {
  const TensorMap tensors{{"model.conv_layers.0.weight", zeros({1})},
                          {"model.blocks.0.norm1.weight", zeros({1})},
                          {"model.head.weight", zeros({1})}};
  CHECK(official_weights(tensors).tensors.contains("conv_layers.0.weight"));
  const TensorMap part{{"blocks.0.a", zeros({1})}, {"blocks.1.a", zeros({1})}};
  CHECK(official_weights(part).tensors.contains("blocks.0.a"));  // a part keeps its names
  const TensorMap other{{"x.a", zeros({1})}, {"x.b", zeros({1})}};
  CHECK(official_weights(other).tensors.contains("x.a"));  // no model's names
  CHECK(official_weights({}).tensors.empty());
}

TEST_CASE("the only encoder of a file is used, and the note says what is ignored") {
  const TensorMap state = small_state();
  TensorMap file = with_prefix("backbone.", without_head(state));
  file["head.mlp.0.weight"] = zeros({8, 12});
  file["head.last_layer.weight"] = zeros({8, 8});
  const OfficialWeights found = official_weights(file);
  check_same(found.tensors, without_head(state));
  CHECK(found.notes == Names{"uses the 30 tensors under \"backbone.\" and ignores 2 tensors, such "
                             "as head.last_layer.weight"});
  // A classifier's head beside the encoder belongs to it.
  TensorMap classifier = with_prefix("backbone.", without_head(state));
  classifier["head.weight"] = state.at("head.weight");
  classifier["head.bias"] = state.at("head.bias");
  check_same(official_weights(classifier).tensors, state);
}

TEST_CASE("several encoders are listed by their prefixes") {
  const TensorMap state = without_head(small_state());
  const std::string moco = names_error(together(with_prefix("module.base_encoder.", state),
                                                with_prefix("module.momentum_encoder.", state)));
  CHECK(moco ==
        "contains 2 encoders, expected one; --weights-key selects one of \"module.base_encoder\" "
        "(30 tensors), \"module.momentum_encoder\" (30 tensors)");
  const std::string nested = names_error(together(state, with_prefix("ema.", state)));
  CHECK(contains(nested, "selects one of \".\" (30 tensors), \"ema\" (30 tensors)"));
}

TEST_CASE("a prefix chooses an encoder, with or without what wrappers add") {
  const TensorMap first = small_state(1), second = small_state(2);
  const TensorMap file = together(with_prefix("module.base_encoder.", first),
                                  with_prefix("module.momentum_encoder.", second));
  for (const char* prefix : {"module.momentum_encoder", "momentum_encoder", "momentum_encoder."}) {
    const OfficialWeights found = official_weights(file, prefix);
    check_same(found.tensors, second);
    CHECK(found.notes.empty());
  }
  const TensorMap both = together(first, with_prefix("ema.", second));
  check_same(official_weights(both, ".").tensors, first);
  check_same(official_weights(both, "ema").tensors, second);
}

TEST_CASE("equal names with and without a prefix are an error") {
  CHECK(contains(names_error({{"module.x", zeros({1})}, {"x", zeros({1})}}),
                 "x appears twice, with and without a prefix"));
}

TEST_CASE("the key of a file selects a dictionary, a prefix, or both") {
  const TemporaryFolder folder;
  const TensorMap student = small_state(1), teacher = small_state(2);
  PyStorages storages;
  TensorMap of_teacher = with_prefix("backbone.", teacher);
  of_teacher["head.mlp.0.weight"] = zeros({8, 12});
  const std::string first = torch_state(with_prefix("module.backbone.", student), storages),
                    second = torch_state(of_teacher, storages);
  write_file_atomically(folder / "dino.pth",
                        torch_zip(py_dict({{"student", first}, {"teacher", second}}), storages));
  check_same(read_checkpoint(folder / "dino.pth", "student").tensors, student);
  check_same(read_checkpoint(folder / "dino.pth", "teacher").tensors, teacher);
  check_same(read_checkpoint(folder / "dino.pth", "teacher.backbone").tensors, teacher);
  check_same(read_checkpoint(folder / "dino.pth", "student.module.backbone").tensors, student);
  CHECK(contains(message_of([&] { (void)read_checkpoint(folder / "dino.pth"); }),
                 "--weights-key selects one of \"student\""));
  CHECK(contains(message_of([&] { (void)read_checkpoint(folder / "dino.pth", "teacher.nose"); }),
                 "\"teacher.nose\" is not in it"));

  PyStorages of_moco;
  const std::string state = torch_state(together(with_prefix("module.base_encoder.", student),
                                                 with_prefix("module.momentum_encoder.", teacher)),
                                        of_moco);
  write_file_atomically(folder / "moco.pth", torch_zip(py_dict({{"state_dict", state}}), of_moco));
  CHECK(contains(message_of([&] { (void)read_checkpoint(folder / "moco.pth"); }),
                 (folder / "moco.pth").string() + ": contains 2 encoders"));
  for (const char* key : {"module.momentum_encoder", "state_dict.module.momentum_encoder"}) {
    check_same(read_checkpoint(folder / "moco.pth", key).tensors, teacher);
  }
}

TEST_CASE("a key chooses a prefix of a safetensors file") {
  const TemporaryFolder folder;
  const TensorMap first = small_state(1), second = small_state(2);
  write_safetensors(folder / "two.safetensors", together(first, with_prefix("ema.", second)));
  const Checkpoint ema = read_checkpoint(folder / "two.safetensors", "ema");
  check_same(ema.tensors, second);
  CHECK(ema.notes.empty());
  check_same(read_checkpoint(folder / "two.safetensors", ".").tensors, first);
  write_safetensors(folder / "one.safetensors", first);
  CHECK(read_checkpoint(folder / "one.safetensors", "ema").notes ==
        Names{"contains a single set of weights, which is used; --weights-key ema is not in it"});
}
