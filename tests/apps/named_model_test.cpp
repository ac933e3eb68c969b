// Models by their names, and by what runs, hubs' folders and files hold.
#include "apps/common/named_model.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::unique_ptr<Model> tiny() {
  return make_model("vit_tiny_patch8_32", {{"embed_dim", 12}, {"depth", 1}, {"num_classes", 7}});
}

/// What a run leaves: weights whose metadata say the model.
void write_run(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* name : {"last.safetensors", "best.safetensors"}) {
    save_model(folder / name, *tiny());
  }
}

/// What timm leaves: weights that say nothing, and config.json.
void write_hub(const fs::path& folder) {
  fs::create_directories(folder);
  write_safetensors(folder / "model.safetensors", {{"x", zeros({1})}});
  write_file_atomically(folder / "config.json",
                        R"({"architecture": "vit_tiny_patch16_224", "num_classes": 3})");
}

std::string refusal(const std::string& named, const std::string& settings = "{}") {
  return message_of([&] { (void)make_named_model(named, settings, {}); });
}

}  // namespace

TEST_CASE("a model by name, with other settings") {
  const auto model = make_named_model("vit_tiny_patch8_32", R"({"num_classes": 5})", {});
  CHECK(model->info().name == "vit_tiny_patch8_32");
  CHECK(model->info().num_classes == 5);
  CHECK_THROWS_AS((void)make_named_model("vit_tinny_patch8_32", "{}", {}), UsageError);
  CHECK_THROWS_AS((void)make_named_model("linear", R"({"depth": 2})", {}), UsageError);
}

TEST_CASE("runs, their weights and folders of hubs say which model they hold") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_hub(folder / "hub");
  for (const char* path : {"run", "run/", "run/last.safetensors"}) {
    CAPTURE(path);
    CHECK(make_named_model((folder / path).string(), "{}", {})->info().config ==
          tiny()->info().config);
  }
  const auto hub = make_named_model((folder / "hub").string(), R"({"img_size": [64, 32]})", {});
  CHECK(hub->info().name == "vit_tiny_patch16_224");
  CHECK(hub->info().num_classes == 3);
  CHECK(hub->info().img_size == std::array<std::int64_t, 2>{64, 32});
}

TEST_CASE("a folder with weights goes before a model of its name, an empty one does not") {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  fs::create_directory("vit_tiny_patch4_32");
  CHECK(make_named_model("vit_tiny_patch4_32", "{}", {})->info().num_classes == 1000);
  write_run("vit_tiny_patch4_32");
  CHECK(make_named_model("vit_tiny_patch4_32", "{}", {})->info().num_classes == 7);
  fs::current_path(before);
}

TEST_CASE("what holds no model is refused with what to do") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "empty");
  CHECK(contains(refusal((folder / "none").string()), "does not exist, expected a model name"));
  CHECK(contains(refusal((folder / "empty").string()), "contains no weights"));
  write_safetensors(folder / "silent.safetensors", {{"x", zeros({1})}});
  CHECK(contains(refusal((folder / "silent.safetensors").string()), "pass a model name"));
  write_run(folder / "run");
  CHECK(contains(refusal((folder / "run").string(), R"({"peg_kernel": 3})"), "peg_kernel"));
}

}  // namespace fovea
