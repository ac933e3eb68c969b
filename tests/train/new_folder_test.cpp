// What a new run may find in its folder.
#include "train/start/new_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/run/run_paths.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// The error of a run with this --output and other flags; "" if it may begin.
std::string error_of_start(const fs::path& output, std::vector<Setting> flags = {}) {
  flags.push_back({"output", output.string()});
  return message_of([&] { static_cast<void>(resolve_run(flags)); });
}

void save_state_of_new_run(const fs::path& file) {
  Trainer trainer = make_trainer(tiny_config());
  run_state_file(file, trainer.state()).write();
}

const Setting kResume{"resume", "auto"}, kOverwrite{"overwrite", "true"};

}  // namespace

TEST_CASE("a folder with weights but no state is refused, also by --resume auto") {
  for (const char* name : {"last", "best", "last_ema", "best_ema", "checkpoint-3"}) {
    CAPTURE(std::string(name));
    const TemporaryFolder folder;
    write_file_atomically(RunPaths{folder.path()}.weights(name), "weights");
    for (const std::vector<Setting>& flags : {std::vector<Setting>{}, {kResume}}) {
      const std::string error = error_of_start(folder.path(), flags);
      CHECK(contains(error, std::string(name) + ".safetensors"));
      CHECK(contains(error, "no state.safetensors"));
      CHECK(contains(error, "--overwrite"));
    }
    CHECK(error_of_start(folder.path(), {kOverwrite}).empty());
    CHECK(error_of_start(folder.path(), {kOverwrite, kResume}).empty());
  }
}

TEST_CASE("a state whose link leads nowhere is refused with its target") {
  const TemporaryFolder folder;
  fs::create_symlink("/nowhere/state.safetensors", RunPaths{folder.path()}.state());
  const std::string error = error_of_start(folder.path(), {kResume});
  CHECK(contains(error, "a link to /nowhere/state.safetensors, which is missing"));
  CHECK(error_of_start(folder.path(), {kResume, kOverwrite}).empty());
}

TEST_CASE("--overwrite does not replace a run that has a readable state") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  save_state_of_new_run(run.state());
  write_file_atomically(run.weights("last"), "weights");
  CHECK(contains(error_of_start(folder.path(), {kOverwrite}), "already contains a run"));
  CHECK(error_of_start(folder.path(), {kOverwrite, kResume}).empty());
  make_folder(run.kept_states());
  fs::rename(run.state(), run.kept_state(3));
  write_file_atomically(run.state(), "cut");
  for (const std::vector<Setting>& flags :
       {std::vector<Setting>{kOverwrite}, {kOverwrite, kResume}, {kResume}, {}}) {
    const std::string error = error_of_start(folder.path(), flags);
    CHECK(contains(error, run.state().string()));
    CHECK(contains(error, "--resume " + run.kept_state(3).string() + " --output DIR"));
    CHECK_FALSE(contains(error, "starts anew"));
  }
}

TEST_CASE("a damaged state without another is refused, unless --overwrite gives it up") {
  for (const bool has_weights : {false, true}) {
    CAPTURE(has_weights);
    const TemporaryFolder folder;
    const RunPaths run{folder.path()};
    make_folder(run.kept_states());
    for (const fs::path& state : {run.state(), run.unevaluated_state(), run.kept_state(3)})
      write_file_atomically(state, "cut");
    if (has_weights) write_file_atomically(run.weights("last"), "weights");
    for (const std::vector<Setting>& flags : {std::vector<Setting>{}, {kResume}}) {
      const std::string error = error_of_start(folder.path(), flags);
      CHECK(contains(error, run.state().string()));
      CHECK(contains(error, "--overwrite removes its states and weights"));
      CHECK(contains(error, "--initial-checkpoint " + run.weights("last").string()) == has_weights);
    }
    CHECK(error_of_start(folder.path(), {kOverwrite}).empty());
    CHECK(error_of_start(folder.path(), {kOverwrite, kResume}).empty());
    CHECK(state_to_keep(run, /*overwrite=*/false) == run.state());
    CHECK(state_to_keep(run, /*overwrite=*/true).empty());
  }
}

TEST_CASE(
    "logs alone, as a kill before the first save leaves them, do not keep a run from starting") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  for (const fs::path& log : {run.log(), run.steps(), run.curves()}) write_file_atomically(log, "");
  TrainConfig config = tiny_config();
  write_file_atomically(run.config(), to_json(fields_of(config)));
  CHECK(error_of_start(folder.path()).empty());
  CHECK(error_of_start(folder.path(), {kResume}).empty());
}

TEST_CASE("a folder of another program is no output, even with --overwrite") {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"config.json", R"({"architecture": "vit_tiny_patch16_224", "num_classes": 3})"},
           {"config.json", R"({"model_type": "vit"})"},
           {"model.safetensors", ""},
           {"pytorch_model.bin", ""}}) {
    const TemporaryFolder folder;
    const fs::path file = folder / name;
    CAPTURE(file.string());
    write_file_atomically(file, text);
    for (const std::vector<Setting>& flags : {std::vector<Setting>{}, {kOverwrite}}) {
      const std::string error = error_of_start(folder.path(), flags);
      CHECK(contains(error, file.string() + " belongs to another program"));
    }
  }
}

TEST_CASE("--overwrite removes weights, damaged states and a dead link, and nothing else") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  const std::vector<fs::path> kept{folder / "mine.safetensors", folder / "checkpoint-x.safetensors",
                                   run.log()};
  for (const fs::path& file : kept) write_file_atomically(file, "");
  for (const char* name : {"last", "best_ema", "checkpoint-12"})
    write_file_atomically(run.weights(name), "");
  fs::create_symlink("/nowhere", run.state());
  make_folder(run.kept_states());
  write_file_atomically(run.kept_state(3), "cut");
  write_file_atomically(run.unevaluated_state(), "cut");
  RunRequest request;
  request.output = folder.path().string();
  clear_for_new_run(request);
  CHECK(fs::exists(run.weights("last")));  // not asked for
  request.overwrite = true;
  clear_for_new_run(request);
  for (const fs::path& file : kept) CHECK(fs::exists(file));
  CHECK(fs::remove(run.kept_states()));  // which is empty
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == std::ssize(kept));
}

}  // namespace fovea
