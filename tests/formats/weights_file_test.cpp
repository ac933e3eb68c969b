// Weights of either kind of file: every family's names from a checkpoint of torch.save, and keys.
#include "engine/formats/weights_file.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/checkpoints/pretrained.h"
#include "models/cpvt.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

/// A model of each family that papers publish checkpoints of, as small as may be.
std::vector<json> small_models() {
  const json sizes{{"img_size", {8, 8}}, {"patch_size", 4}, {"embed_dim", 12},
                   {"depth", 2},         {"num_heads", 3},  {"num_classes", 5}};
  std::vector<json> configs;
  for (const json& more :
       std::vector<json>{{{"family", "vit"}},
                         {{"family", "deit"}, {"distilled", true}},
                         {{"family", "cpvt"}, {"peg_positions", {0, 1}}},
                         {{"family", "vit"}, {"global_pool", "avg"}, {"pos_embed", "sincos"}}}) {
    json config = sizes;
    config.update(more);
    configs.push_back(std::move(config));
  }
  json mae = sizes;
  mae.update({{"family", "mae"},
              {"decoder_embed_dim", 8},
              {"decoder_depth", 1},
              {"decoder_num_heads", 2}});
  mae.erase("num_classes");
  configs.push_back(mae);
  configs.push_back({{"family", "pervit"},
                     {"img_size", {16, 16}},
                     {"convstem_dims", {3, 8, 8}},
                     {"emb_dims", {8, 12}},
                     {"depths", {1, 1}},
                     {"num_heads", 2},
                     {"num_classes", 5}});
  return configs;
}

void check_equal(const Model& a, const Model& b) {
  const TensorMap x = state_of(a), y = state_of(b);
  REQUIRE(x.size() == y.size());
  for (const auto& entry : x) {
    CAPTURE(entry.first);
    CHECK(entry.second.to_vector() == y.at(entry.first).to_vector());
  }
}

}  // namespace

TEST_CASE("every family's weights load from a checkpoint of torch.save as from safetensors") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "checkpoint.pth";
  for (const json& config : small_models()) {
    CAPTURE(config["family"].get<std::string>());
    const auto model = make_model_from_config(config, 1), other = make_model_from_config(config, 2);
    write_file_atomically(file, torch_checkpoint(state_of(*model)));
    const LoadReport report = load_weights(*other, file);
    CHECK(report.kept.empty());
    CHECK(report.resized.empty());
    check_equal(*model, *other);
    const WeightsList list = list_weights(file);
    CHECK(list.entries.size() == state_of(*model).size());
    CHECK(list.others.empty());
  }
}

TEST_CASE("a classifier starts from an autoencoder's checkpoint of torch.save") {
  const TemporaryFolder folder;
  const auto mae = make_model_from_config(small_models()[4], 1);
  write_file_atomically(folder / "mae.pth", torch_checkpoint(state_of(*mae)));
  const auto classifier = make_model_from_config(small_models()[3], 2);
  LoadOptions options;
  options.finetune = true;
  options.weights_key = "model";
  load_weights(*classifier, folder / "mae.pth", options);
  CHECK(classifier->store().find("blocks.1.mlp.fc2.weight").to_vector() ==
        mae->store().find("blocks.1.mlp.fc2.weight").to_vector());
}

TEST_CASE("PEGs come from a file of torch.save too") {
  const TemporaryFolder folder;
  const auto from = make_model_from_config(small_models()[2], 1),
             into = make_model_from_config(small_models()[2], 2);
  write_file_atomically(folder / "pegs.bin", torch_checkpoint(state_of(*from)));
  load_pegs(*into, folder / "pegs.bin");
  CHECK(peg_weight(*into, 1).to_vector() == peg_weight(*from, 1).to_vector());
}

TEST_CASE("one of several sets of weights is taken by its key") {
  const TemporaryFolder folder;
  PyStorages storages;
  const std::string first = torch_state({{"x", full({2}, 1)}}, storages),
                    second = torch_state({{"module.x", full({2}, 2)}}, storages);
  write_file_atomically(folder / "two.pt",
                        torch_zip(py_dict({{"model", first}, {"model_ema", second}}), storages));
  CHECK(read_weights(folder / "two.pt", "model_ema").tensors.at("module.x").at(1) == 2);
  CHECK(contains(message_of([&] { static_cast<void>(read_weights(folder / "two.pt")); }),
                 "--weights-key selects one of \"model\" (1 tensor), \"model_ema\" (1 tensor)"));
  CHECK(contains(message_of([&] {
                   (void)read_weights(folder / "two.pt", {"ema", true});
                 }),
                 "\"ema\" is not in it, expected one of \"model\""));
  write_file_atomically(folder / "broken.pth", "\x80\x02}.");
  CHECK(contains(message_of([&] { static_cast<void>(list_weights(folder / "broken.pth")); }),
                 "contains no dictionary of tensors"));
}

TEST_CASE("a key does not concern a file that is a single set of weights, which says so") {
  const TemporaryFolder folder;
  const auto model = make_model_from_config(small_models()[0], 1);
  const std::size_t count = state_of(*model).size();
  save_model(folder / "own.safetensors", *model);
  PyStorages storages;
  const std::string bare = torch_state(state_of(*model), storages);
  write_file_atomically(folder / "bare.pth", torch_zip(bare, storages));
  for (const char* const name : {"own.safetensors", "bare.pth"}) {
    CAPTURE(std::string(name));
    CHECK(read_weights(folder / name).note.empty());
    const WeightsFile file = read_weights(folder / name, "model_ema");
    CHECK(file.tensors.size() == count);
    CHECK(file.note ==
          "contains a single set of weights, which is used; --weights-key model_ema is not in it");
    CHECK(list_weights(folder / name, "model_ema").note == file.note);
  }
  CHECK(read_weights(folder / "own.safetensors", "model").metadata.contains("config"));
  CHECK(read_weights(folder / "bare.pth", ".").note.empty());
}

TEST_CASE("a key that several files share leaves one with a single named set as it is") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "one.pth", torch_checkpoint({{"x", full({2}, 1)}}));
  CHECK(contains(message_of([&] { (void)read_weights(folder / "one.pth", "model_ema"); }),
                 "\"model_ema\" is not in it, expected one of \"model\""));
  const WeightsFile file = read_weights(folder / "one.pth", {"model_ema", true});
  CHECK(file.tensors.at("x").at(1) == 1);
  CHECK(contains(file.note, "contains a single set of weights, which is used"));
  CHECK(read_weights(folder / "one.pth", {"model", true}).note.empty());
}

TEST_CASE("a counter beside the weights, or among them, is none of them") {
  const TemporaryFolder folder;
  const auto model = make_model_from_config(small_models()[0], 1),
             other = make_model_from_config(small_models()[0], 2);
  PyStorages storages;
  const std::string weights = torch_state(state_of(*model), storages);
  PyTensor count;
  count.key = std::to_string(storages.size());
  count.count = 1;
  storages[count.key] = std::string(4, '\0');
  write_file_atomically(
      folder / "beside.pth",
      torch_zip(py_dict({{"model", weights}, {"n_averaged", count.bytes()}}), storages));
  load_weights(*other, folder / "beside.pth");
  check_equal(*model, *other);

  const auto another = make_model_from_config(small_models()[0], 3);
  TensorMap averaged{{"n_averaged", full({}, 5, {DType::i64, {}})}};
  for (const auto& [name, tensor] : state_of(*model)) averaged["module." + name] = tensor;
  load_state(*another, averaged);
  check_equal(*model, *another);
}

TEST_CASE("safetensors are read by their content, whatever they are called") {
  const TemporaryFolder folder;
  const auto model = make_model_from_config(small_models().front(), 1);
  for (const char* const name : {"weights.bin", "weights.pth", "weights"}) {
    CAPTURE(std::string(name));
    save_model(folder / name, *model);
    CHECK(read_weights(folder / name).tensors.size() == state_of(*model).size());
  }
  // What begins as nothing is taken for what its name says.
  write_file_atomically(folder / "damaged.pth", std::string(100, '\xff'));
  CHECK(contains(message_of([&] { (void)read_weights(folder / "damaged.pth"); }), "torch.save"));
}

TEST_CASE("averages are taken from where timm and DeiT keep them") {
  const TemporaryFolder folder;
  const auto file_of = [&](const std::string& averages) {
    PyStorages storages;
    const std::string first = torch_state({{"x", full({2}, 1)}}, storages),
                      second = torch_state({{"x", full({2}, 2)}}, storages);
    write_file_atomically(
        folder / "a.pth",
        torch_zip(py_dict({{"state_dict", first}, {averages, second}}), storages));
    return folder / "a.pth";
  };
  WeightsKey key;
  key.is_averaged = true;
  WeightsKey preferring;
  preferring.prefers_averaged = true;
  for (const char* const name : {"state_dict_ema", "model_ema", "ema"}) {
    CHECK(read_weights(file_of(name), key).tensors.at("x").at(0) == 2);
    CHECK(read_weights(file_of(name), preferring).tensors.at("x").at(0) == 2);
  }
  CHECK(contains(message_of([&] { (void)read_weights(file_of("other"), preferring); }),
                 "--weights-key selects one of"));
  CHECK(contains(message_of([&] { (void)read_weights(file_of("other"), key); }),
                 "has no averaged weights, state_dict_ema, model_ema or ema, but \"state_dict\""));
  write_safetensors(folder / "b.safetensors", {{"x", full({2}, 3)}});
  CHECK(contains(read_weights(folder / "b.safetensors", key).note, "--use-ema finds no averages"));
  CHECK(read_weights(folder / "b.safetensors", preferring).note.empty());
}
