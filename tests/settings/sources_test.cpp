// Where a run's settings come from, and the table that --verbose prints of them.
#include <doctest/doctest.h>

#include "engine/base/files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/run/run_paths.h"
#include "train/run/run_state.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

std::string source(const ResolvedRun& run, const std::string& name) {
  return source_of(run.config.sources, name);
}

std::string json_file(const TemporaryFolder& folder, const std::string& name,
                      const std::string& text) {
  write_file_atomically(folder / name, text);
  return (folder / name).string();
}

}  // namespace

TEST_CASE("a new run's settings come from defaults, the recipe, files and flags, or are derived") {
  const TemporaryFolder folder;
  const std::string base = json_file(folder, "base.json", R"({"mixup": 0.3, "cutmix": 0.5})");
  const std::string file =
      json_file(folder, "c.json", R"({"extends": "base.json", "cutmix": 0.6, "b": 64, "lr": 1})");
  const ResolvedRun run =
      resolve_run({{"config", file}, {"dataset", "cifar10"}, {"lr", "2"}}, {.processes = 2});
  CHECK(source(run, "val-batch-size") == "default");
  CHECK(source(run, "weight-decay") == "recipe cifar");
  CHECK(source(run, "mixup") == base);
  CHECK(source(run, "cutmix") == file);
  CHECK(source(run, "batch-size") == file);  // under the name of its field
  CHECK(source(run, "lr") == "flag");
  CHECK(source(run, "dataset") == "flag");
  CHECK(source(run, "shards") == "derived");
  CHECK(source(resolve_run({}), "dataset") == "default");
}

TEST_CASE("a model named by a flag has none of its settings from the recipe") {
  CHECK(source(resolve_run({}), "depth") == "recipe builtin");
  const ResolvedRun run = resolve_run({{"model", "vit_small_patch4_32"}, {"num-heads", "2"}});
  CHECK(source(run, "depth") == "default");
  CHECK(source(run, "num-heads") == "flag");
  CHECK(source(run, "drop-path") == "recipe builtin");
}

TEST_CASE("a fine-tuning's settings come from the recipe, the hub's config.json and flags") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "model.safetensors", "");
  const std::string config = json_file(folder, "config.json", R"({
    "architecture": "vit_tiny_patch16_224", "model_args": {"embed_dim": 96},
    "pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "crop_pct": 0.9}})");
  const ResolvedRun run =
      resolve_run({{"finetune", folder.path().string()}, {"crop-pct", "0.8"}, {"std", "1,1,1"}});
  CHECK(run.start.weights == config);
  for (const char* const name : {"model", "embed-dim", "mean", "interpolation"}) {
    CHECK(source(run, name) == config);
  }
  CHECK(source(run, "crop-pct") == "flag");
  CHECK(source(run, "layer-decay") == "recipe finetune");
  CHECK(source(run, "finetune") == "flag");
}

TEST_CASE("model arguments that a flag adds to a hub's come from both") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "model.safetensors", "");
  const std::string config = json_file(folder, "config.json", R"({
    "architecture": "vit_tiny_patch16_224", "model_args": {"no_embed_class": true}})");
  const Setting hub{"finetune", folder.path().string()};
  CHECK(source(resolve_run({hub}), "model-args") == config);
  CHECK(source(resolve_run({hub, {"model-args", R"({"norm_eps": 1e-5})"}}), "model-args") ==
        "flag and " + config);
}

TEST_CASE("a resumed run's settings come from its state, unless a flag or file changes them") {
  const TemporaryFolder folder;
  const std::string state = RunPaths{folder.path()}.state().string();
  Trainer trainer = make_trainer(tiny_config());
  run_state_file(state, trainer.state()).write();
  const std::string file = json_file(folder, "c.json", R"({"log-interval": 7})");
  const ResolvedRun run = resolve_run({{"resume", state}, {"config", file}, {"epochs", "9"}});
  for (const char* const name : {"dataset", "model", "weight-decay", "mixup", "shards"}) {
    CHECK(source(run, name) == state);
  }
  CHECK(source(run, "epochs") == "flag");
  CHECK(source(run, "log-interval") == file);
  CHECK(source(run, "output") == "derived");  // the folder of the state
  CHECK(source(run, "plan") == "default");    // not saved
}

TEST_CASE("the table of sources has a line for each setting: name, value, source") {
  ResolvedRun run =
      resolve_run({{"lr", "2"}, {"model-args", R"({"in_chans": 3, "qkv_bias": true})"}});
  const std::string table = sources_table(fields_of(run.config), run.config.sources);
  CAPTURE(table);
  const auto line_of = [&](const std::string& name) {
    const std::size_t start = table.find("\n    " + name + " ");
    REQUIRE(start != std::string::npos);
    return table.substr(start + 1, table.find('\n', start + 1) - start - 1);
  };
  CHECK(table.starts_with("  Data\n    dataset "));
  CHECK(line_of("lr").ends_with("  flag"));
  CHECK(line_of("weight-decay").ends_with("  recipe builtin"));
  CHECK(line_of("vflip").ends_with("  default"));
  CHECK(line_of("lr").find("flag") == line_of("weight-decay").find("recipe"));  // one column
  CHECK(line_of("lr").find("flag") == line_of("model-args").rfind("flag"));
  CHECK(line_of("model-args").ends_with(R"({"in_chans": 3, "qkv_bias": true}  flag)"));
  CHECK_FALSE(contains(table, "finetune"));  // empty
}

}  // namespace fovea
