// State files: what they hold, and that a wrong one changes nothing.
#include "train/run/run_state.h"

#include <doctest/doctest.h>

#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/run/kept_states.h"
#include "train/run/run_paths.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

TrainConfig config_of(const std::string& output) {
  TrainConfig config = tiny_config();
  config.request.output = output;
  return config;
}

/// The state of a tiny run after its first step.
void save_one_step(const std::filesystem::path& file) {
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  run_state_file(file, trainer.state()).write();
}

/// What goes wrong when a trainer of `config` resumes `file`; checks that nothing changed.
std::string resume_failure(const TrainConfig& config, const std::filesystem::path& file) {
  Trainer trainer = make_trainer(config);
  const auto before = bits_of(trainer);
  const std::string message = message_of([&] { trainer.resume(file); });
  CHECK(bits_of(trainer) == before);
  return message;
}

}  // namespace

TEST_CASE("a state holds every tensor under its kind, and the settings") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  trainer.train_step();
  run_state_file(folder / "state.safetensors", trainer.state()).write();
  const SafetensorsFile file = read_safetensors(folder / "state.safetensors");
  for (const char* name :
       {"param/head.weight", "m/head.weight", "v/head.weight", "ema/head.weight"}) {
    CAPTURE(std::string(name));
    CHECK(file.tensors.contains(name));
  }
  CHECK(read_state_config(folder / "state.safetensors") == trainer.state().config);
}

TEST_CASE("a state of another run is refused with every difference, and nothing changes") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  save_one_step(file);
  TrainConfig wider = tiny_config();
  wider.model.settings["embed_dim"] = "16";
  CHECK(contains(resume_failure(wider, file),
                 "param/cls_token is f32 [1, 1, 12], expected f32 [1, 1, 16]"));
  TrainConfig deeper = tiny_config();
  deeper.model.settings["depth"] = "3";
  CHECK(contains(resume_failure(deeper, file), "missing param/blocks.2.attn.proj.bias"));
  TrainConfig no_average = tiny_config();
  no_average.step.ema.keep = false;
  CHECK(contains(resume_failure(no_average, file), "unexpected ema/"));
  TrainConfig sgd = tiny_config();
  sgd.step.optimizer.kind = OptimizerKind::sgd;
  CHECK(contains(resume_failure(sgd, file), "unexpected v/"));

  Trainer trainer = make_trainer(tiny_config());
  save_model(folder / "weights.safetensors", trainer.model());
  CHECK(contains(resume_failure(tiny_config(), folder / "weights.safetensors"),
                 "is not the state of a run"));
  const std::string bytes = read_file(file);
  write_file_atomically(file, bytes.substr(0, bytes.size() - 100));
  CHECK(contains(resume_failure(tiny_config(), file), file.string()));
}

TEST_CASE("every flipped bit of a state is noticed, and nothing changes") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  save_one_step(file);
  const std::string bytes = read_file(file);
  for (std::size_t at = 8; at < bytes.size(); at += bytes.size() / 97) {
    CAPTURE(at);
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 1);
    write_file_atomically(file, other);
    CHECK_FALSE(resume_failure(tiny_config(), file).empty());
  }
}

TEST_CASE("a state whose counts no run could have is refused") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  Trainer trainer = make_trainer(tiny_config());  // six steps an epoch
  trainer.train_step();
  const auto failure = [&](const std::function<void(Progress&)>& change) {
    TrainState state = trainer.state();
    change(state.progress);
    run_state_file(file, state).write();
    return resume_failure(tiny_config(), file);
  };
  CHECK(
      contains(failure([](Progress& p) { p.cursor.epoch = INT64_MAX; }), "cursor_epoch: got 9223"));
  CHECK(contains(failure([](Progress& p) { p.finished_epochs = 4; }), "after 4 finished epochs"));
  CHECK(
      contains(failure([](Progress& p) { p.cursor.batch = 6; }), "is this a different data set?"));
  CHECK(contains(failure([](Progress& p) { p.step = 0; }), "1 updates in 0 steps"));
  CHECK(contains(failure([](Progress& p) { p.step = p.forward = 7; }), "after 7 steps"));
  CHECK(contains(failure([](Progress& p) { p.cursor.epoch = p.finished_epochs = 1; }),
                 "is at epoch 1, batch 1 after 1 steps"));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  CHECK(contains(failure([](Progress& p) { p.epoch.parts = {kInfinite}; }), "number"));
  CHECK(contains(failure([](Progress& p) { p.best.score = kInfinite; }), "number"));
  CHECK(contains(failure([](Progress& p) { p.best.epoch = 3; }), "best epoch of 3"));
}

TEST_CASE("a folder that holds a run is refused, naming --resume auto, which continues it") {
  const TemporaryFolder folder;
  const std::string output = folder.path().string();
  const std::vector<Setting> flags{{"output", output}, {"resume", "auto"}};
  CHECK(resolve_run(flags).state.empty());  // nothing to continue: starts anew

  Trainer trainer = make_trainer(config_of(output));
  run_state_file(RunPaths{folder.path()}.state(), trainer.state()).write();
  CHECK(contains(message_of([&] {
                   static_cast<void>(resolve_run({{"output", output}}));
                 }),
                 "--resume auto"));
  ResolvedRun run = resolve_run(flags);
  CHECK(run.state == RunPaths{folder.path()}.state());
  CHECK(run.config.model.settings["embed_dim"] ==
        "12");  // the run's own settings, not the recipe's
  CHECK(run.notices.texts().empty());
}

TEST_CASE("a run without its last state continues from the one before") {
  const TemporaryFolder folder, other;
  const RunPaths run{folder.path()};
  const std::string output = folder.path().string(), kept = run.kept_state(3).string();
  Trainer trainer = make_trainer(tiny_config());
  make_folder(run.kept_states());
  run_state_file(kept, trainer.state()).write();
  const auto refusal = [](const std::vector<Setting>& flags) {
    return message_of([&] { static_cast<void>(resolve_run(flags)); });
  };
  CHECK(contains(refusal({{"output", output}}), "already contains a run"));
  CHECK(resolve_run({{"output", output}, {"resume", "auto"}}).state == kept);
  CHECK(resolve_run({{"output", output}, {"resume", kept}}).state == kept);
  CHECK(contains(refusal({{"resume", kept}}), "--output DIR for the run that continues from it"));
  const std::string elsewhere = (other / "run").string();
  CHECK(resolve_run({{"resume", kept}, {"output", elsewhere}}).state == kept);
  run_state_file(run.state(), trainer.state()).write();
  CHECK(resolve_run({{"output", output}, {"resume", "auto"}}).state == run.state());
  CHECK(contains(refusal({{"output", output}, {"resume", kept}}), "already contains a run other"));
}

TEST_CASE("a state before an evaluation is resumed before the last one, also if that is named") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  const std::string output = folder.path().string();
  Trainer trainer = make_trainer(config_of(output));
  run_state_file(run.unevaluated_state(), trainer.state()).write();
  const auto resumed = [](const std::vector<Setting>& flags) { return resolve_run(flags).state; };
  CHECK(resumed({{"output", output}, {"resume", "auto"}}) == run.unevaluated_state());
  CHECK(resumed({{"resume", output}}) == run.unevaluated_state());
  run_state_file(run.state(), trainer.state()).write();
  CHECK(resumed({{"output", output}, {"resume", "auto"}}) == run.unevaluated_state());
  CHECK(resumed({{"output", output}, {"resume", run.state().string()}}) == run.state());
  CHECK(present_state(run.unevaluated_state()) == run.unevaluated_state());
  std::filesystem::resize_file(run.unevaluated_state(), 100);  // as by a copy cut off
  CHECK(resumed({{"output", output}, {"resume", "auto"}}) == run.state());
  std::filesystem::remove(run.unevaluated_state());  // as by the run at work there
  CHECK(present_state(run.unevaluated_state()) == run.state());
  CHECK(present_state(run.kept_state(3)) == run.kept_state(3));
}

TEST_CASE("continuing: what a state depends on must not change, the rest may and is said") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  const std::string file = (folder / "state.safetensors").string();
  run_state_file(file, trainer.state()).write();
  const auto refusal = [&](const std::string& name, const std::string& text) {
    return message_of([&] { static_cast<void>(resolve_run({{"resume", file}, {name, text}})); });
  };
  CHECK(contains(refusal("batch-size", "16"), "batch-size 8 -> 16"));
  CHECK(contains(refusal("depth", "3"), "depth 2 -> 3"));
  CHECK(contains(refusal("dataset", "cifar10"), "dataset builtin -> cifar10"));
  const ResolvedRun run = resolve_run({{"resume", file}, {"epochs", "9"}});
  CHECK(run.config.schedule.epochs == 9);
  CHECK(run.config.request.output == folder.path().string());
  REQUIRE(run.notices.texts().size() == 1);
  CHECK(contains(run.notices.texts()[0], "epochs 4 -> 9"));
  CHECK(contains(refusal("resume", (folder / "none").string()), "does not exist"));

  const TemporaryFolder other;
  run_state_file(RunPaths{other.path()}.state(), trainer.state()).write();
  CHECK(contains(refusal("output", other.path().string()), "already contains a run other"));
}

}  // namespace fovea
