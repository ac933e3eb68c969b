// What evaluate and predict say about a file: its classes behind a prefix, what is assumed, and
// what does not fit.
#include "apps/common/loading.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "train/run/run_paths.h"

using namespace fovea;
using nlohmann::json;

namespace {

TensorMap state_with_prefix(const std::string& prefix, std::int64_t classes = 7) {
  const auto model = make_model("vit_tiny_patch16_32", {{"depth", 1}, {"num_classes", classes}}, 1);
  TensorMap tensors;
  for (const auto& [name, tensor] : state_of(*model)) tensors[prefix + name] = tensor;
  return tensors;
}

LoadRequest request_for(const std::filesystem::path& file) {
  LoadRequest request;
  request.checkpoint = file.string();
  request.model = "vit_tiny_patch16_32";
  request.model_args = R"({"depth": 1})";
  return request;
}

/// A model of a run with these settings.
LoadedModel load_run(const TemporaryFolder& folder, const std::string& settings) {
  const RunPaths run{folder.path()};
  write_safetensors(run.weights("last"), state_with_prefix(""));
  write_file_atomically(run.config(), settings);
  return load_trained(request_for(folder.path()));
}

bool says(const LoadedModel& loaded, const std::string& text) {
  for (const std::string& notice : loaded.notices) {
    if (contains(notice, text)) return true;
  }
  return false;
}

std::string refusal(const LoadRequest& request) {
  return message_of([&] { static_cast<void>(load_trained(request)); });
}

}  // namespace

TEST_CASE("the number of classes is found behind a prefix") {
  const TemporaryFolder folder;
  for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod.", "model.", "net.vit."}) {
    CAPTURE(std::string(prefix));
    write_safetensors(folder / "weights.safetensors", state_with_prefix(prefix));
    const LoadedModel loaded = load_trained(request_for(folder / "weights.safetensors"));
    CHECK(loaded.model->info().num_classes == 7);
    CHECK(says(loaded, "all names begin with \"" + std::string(prefix) + "\", which is removed"));
  }
}

TEST_CASE("the note about preprocessing covers only what was assumed") {
  const TemporaryFolder folder;
  write_safetensors(folder / "weights.safetensors", state_with_prefix(""));
  LoadRequest request = request_for(folder / "weights.safetensors");
  CHECK(says(load_trained(request), "using the mean and std of ImageNet and a crop-pct of 0.875"));
  request.images->crop_pct = 1;
  CHECK(says(load_trained(request), "using the mean and std of ImageNet"));
  CHECK_FALSE(says(load_trained(request), "crop-pct"));
  request.images->mean = {0.5, 0.5, 0.5};
  CHECK(says(load_trained(request), "using the std of ImageNet"));
  request.images->std = {0.5, 0.5, 0.5};
  CHECK_FALSE(says(load_trained(request), "preprocessing"));
}

TEST_CASE("a hub's config.json leaves open what it does not state") {
  const TemporaryFolder folder;
  write_safetensors(folder / "model.safetensors", state_with_prefix(""));
  json config{{"architecture", "vit_tiny_patch16_32"},
              {"num_classes", 7},
              {"model_args", {{"depth", 1}}},
              {"pretrained_cfg", {{"mean", {0.5, 0.5, 0.5}}, {"crop_pct", 0.9}}}};
  LoadRequest request;
  request.checkpoint = folder.path().string();
  write_file_atomically(folder / "config.json", config.dump());
  const LoadedModel loaded = load_trained(request);
  CHECK(says(loaded, "does not specify its preprocessing in full; using the std of ImageNet"));
  CHECK_FALSE(says(loaded, "crop-pct"));
  CHECK_FALSE(says(loaded, "mean"));
}

TEST_CASE("names of transformers without their config imply their eps") {
  const TemporaryFolder folder;
  TensorMap theirs = state_with_prefix("");
  const auto rename = [&](const std::string& ours, const std::string& other) {
    theirs[other] = theirs.at(ours);
    theirs.erase(ours);
  };
  for (const char* end : {"weight", "bias"}) {
    const std::string e(end);
    rename("patch_embed.proj." + e, "embeddings.patch_embeddings.projection." + e);
    rename("norm." + e, "layernorm." + e);
  }
  write_safetensors(folder / "weights.safetensors", theirs);
  LoadRequest request = request_for(folder / "weights.safetensors");
  const auto eps = [&] {
    return json::parse(load_trained(request).model->info().config)["norm_eps"].get<double>();
  };
  CHECK(eps() == 1e-12);
  request.model_args = R"({"depth": 1, "norm_eps": 1e-3})";  // a flag counts more
  CHECK(eps() == 1e-3);
}

TEST_CASE("a mismatch shows the first names, and with verbose all") {
  const TemporaryFolder folder;
  write_safetensors(folder / "weights.safetensors", state_with_prefix(""));
  LoadRequest request = request_for(folder / "weights.safetensors");
  request.model_args = R"({"depth": 12})";
  CHECK(contains(refusal(request), "another depth: 1 block, expected 12"));
  CHECK_FALSE(contains(refusal(request), "blocks.11.norm2.bias"));
  request.verbose = true;
  CHECK(contains(refusal(request), "blocks.11.norm2.bias"));
}

TEST_CASE("a model of gray images is refused before pictures are read") {
  const TemporaryFolder folder;
  write_safetensors(folder / "weights.safetensors", state_with_prefix(""));
  LoadRequest request = request_for(folder / "weights.safetensors");
  request.model_args = R"({"depth": 1, "in_chans": 1})";
  const LoadedModel loaded = load_trained(request);
  CHECK(says(loaded, "patch_embed.proj.weight was summed over the channels of RGB"));
  CHECK(contains(message_of([&] { require_classes(loaded); }),
                 "in_chans: got 1, expected 3, because pictures are read as RGB"));
}

TEST_CASE("the images of a run are those of its settings") {
  const TemporaryFolder folder;
  json settings{{"model", "vit_tiny_patch16_32"},     {"dataset", "folder"},
                {"data-dir", folder.path().string()}, {"val-fraction", 0.2},
                {"val-fraction-rule", "name"},        {"seed", 7}};
  const DatasetOptions data = load_run(folder, settings.dump()).run.options;
  CHECK(data.data_dir == folder.path());
  CHECK(data.val_fraction == 0.2);
  CHECK(data.val_rule == HoldOutRule::name);
  CHECK(data.val_seed == 7);
  settings.erase("val-fraction-rule");  // of earlier versions, which held out by number
  CHECK_FALSE(load_run(folder, settings.dump()).run.options.val_rule);
}

TEST_CASE("a copy of a run without its last weights is that run, with its images") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  const json settings{{"model", "vit_tiny_patch16_32"}, {"dataset", "folder"}, {"seed", 7}};
  static_cast<void>(load_run(folder, settings.dump()));
  std::filesystem::rename(run.weights("last"), run.weights("best"));
  LoadRequest request = request_for(folder.path());
  const LoadedModel loaded = load_trained(request);
  CHECK(loaded.weights == run.weights("best"));
  CHECK(loaded.run.options.name == "folder");
  CHECK(loaded.run.options.val_seed == 7);
  CHECK(is_checkpoint(folder.path()));
}

TEST_CASE("weights without their run's folder know what was held out") {
  const TemporaryFolder folder;
  const auto file = folder / "copied.safetensors";
  Metadata metadata;
  add_held_out(metadata, {{0.2, HoldOutRule::name, 7}, "digest"});
  const auto model = make_model("vit_tiny_patch16_32", {{"depth", 1}}, 1);
  WeightsInfo info;
  info.dataset = "folder";
  info.held_out = held_out(metadata, "");
  weights_file(file, *model, state_of(*model), info).write();
  LoadRequest request;
  request.checkpoint = file.string();
  const DatasetOptions data = load_trained(request).run.options;
  CHECK(data.val_fraction == 0.2);
  CHECK(data.val_rule == HoldOutRule::name);
  CHECK(data.val_seed == 7);
}

TEST_CASE("a relative data folder means the one of the training, and a note says so elsewhere") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data");
  const std::string there = (folder / "data").string();
  const json about{{"data", {{"folder", there}, {"test-list", "digest"}}}};
  json settings{{"dataset", "folder"}, {"data-dir", "no/such/data"}, {"about", about}};
  const LoadedModel loaded = load_run(folder, settings.dump());
  CHECK(loaded.run.options.data_dir == there);
  CHECK(loaded.run.test_list == "digest");
  CHECK(contains(loaded.run.note, "the images are those of " + there));
  settings["data-dir"] = there;
  CHECK(load_run(folder, settings.dump()).run.note.empty());
  settings["data-dir"] = "no/such/data";
  settings["about"]["data"]["folder"] = "/gone";
  const LoadedModel moved = load_run(folder, settings.dump());
  CHECK(contains(moved.run.note, "/gone, are gone"));
}

TEST_CASE("a run whose data have moved takes the usual folder, or else names the recorded one") {
  const TemporaryFolder folder;
  const std::string recorded = (folder / "moved").string();
  const json settings{{"data-dir", recorded}, {"val-split", "held_out"}};
  {
    const Environment environment({{"FOVEA_DATA", folder.path().string()}});
    const RunData run = load_run(folder, settings.dump()).run;
    CHECK(run.options.data_dir.empty());
    CHECK(run.options.val_split == "held_out");
    CHECK(contains(run.note, "the images of training, in " + recorded + ", are gone; taking"));
  }
  const Environment environment({{"FOVEA_DATA", (folder / "none").string()}});
  const RunData run = load_run(folder, settings.dump()).run;
  CHECK(run.options.data_dir == recorded);
  CHECK(run.note.empty());
}

TEST_CASE("a run, a hub's folder and files of weights are checkpoints; other folders are not") {
  const TemporaryFolder folder;
  CHECK_FALSE(is_checkpoint(folder.path()));
  CHECK_FALSE(is_checkpoint(folder / "no.safetensors"));
  write_file_atomically(folder / "model.safetensors", "");
  CHECK(is_checkpoint(folder.path()));
  CHECK(is_checkpoint(folder / "model.safetensors"));
}

TEST_CASE("a run whose settings cannot be read has a model, and the reason instead of images") {
  const TemporaryFolder folder;
  for (const char* settings : {"{", "[]", R"({"val-split": "a", "no-such-setting": 1})"}) {
    CAPTURE(std::string(settings));
    const LoadedModel loaded = load_run(folder, settings);
    CHECK(loaded.run.options.val_split.empty());
    CHECK(contains(loaded.run.error, "config.json: "));
  }
  CHECK(load_run(folder, R"({"val-split": "a"})").run.error.empty());
}
