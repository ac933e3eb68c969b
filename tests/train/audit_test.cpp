// Where an audit starts: the states of a run, and the fingerprints in its log.
#include "train/run/audit.h"

#include <doctest/doctest.h>

#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

const std::string kLog =
    "{\"step\":5,\"epoch\":0,\"loss\":1,\"fingerprint\":\"aa\"}\n"
    "{\"step\":7,\"epoch\":0,\"loss\":1}\n"
    "{\"step\":10,\"epoch\":0,\"loss\":1,\"fingerprint\":\"bb\"}\n"
    "{\"step\":15,\"epoch\":1,\"loss\":1,\"fingerprint\":\"cc\"}\n"
    "{\"step\":20,\"epo";  // a killed run's

/// A run of 8 steps with states of step 2 and 4, and other files beside them.
void make_run(const RunPaths& run) {
  Trainer trainer = make_trainer(tiny_config());
  TrainState state = trainer.state();
  state.progress.step = state.progress.forward = 8;
  run_state_file(run.state(), state).write();
  make_folder(run.kept_states());
  for (const char* name : {"step-2.safetensors", "step-4.safetensors", "step-03.safetensors",
                           "step-5.safetensors.old", "mine.safetensors", "step-.safetensors"})
    write_file_atomically(run.kept_states() / name, "");
}

}  // namespace

TEST_CASE("a stretch is two steps in order") {
  CHECK(parse_stretch("800-900").first == 800);
  CHECK(parse_stretch("800-900").last == 900);
  CHECK(parse_stretch("5-5").last == 5);
  for (const char* text : {"", "800", "900-800", "a-b", "1-2-3", "-1-2", "1-", "-"})
    CHECK(contains(message_of([&] { static_cast<void>(parse_stretch(text)); }), "FIRST-LAST"));
}

TEST_CASE("the fingerprints of a stretch are read from the log") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  write_file_atomically(run.steps(), kLog);
  using Found = std::map<std::int64_t, std::string>;
  CHECK(logged_fingerprints(run, {5, 10}) == Found{{5, "aa"}, {10, "bb"}});
  CHECK(logged_fingerprints(run, {6, 99}) == Found{{10, "bb"}, {15, "cc"}});
  const std::string none = message_of([&] { static_cast<void>(logged_fingerprints(run, {6, 9})); });
  CHECK(contains(none, "has no fingerprint of the steps 6 to 9"));
  CHECK(contains(none, "--fingerprint-interval"));
}

TEST_CASE("an audit starts from the newest state at its first step or before") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_run(run);
  CHECK(state_before(run, 2).path == run.kept_state(2));
  CHECK(state_before(run, 3).step == 2);
  CHECK(state_before(run, 7).path == run.kept_state(4));
  CHECK(state_before(run, 8).path == run.state());
  CHECK(state_before(run, 99).step == 8);
  const std::string none = message_of([&] { static_cast<void>(state_before(run, 1)); });
  CHECK(contains(none, "no state of step 1 or before, the oldest is of step 2"));
  CHECK(contains(none, "--state-hist"));
  const TemporaryFolder empty;
  CHECK(contains(message_of([&] { static_cast<void>(state_before({empty.path()}, 1)); }),
                 "no state of step 1 or before; "));
}

TEST_CASE("what can be audited is listed from each state to the next") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_run(run);
  write_file_atomically(run.steps(), kLog);
  const std::vector<Auditable> parts = auditable(run);
  REQUIRE(parts.size() == 2);  // there is no fingerprint from step 2 to 3
  CHECK(parts[0].steps.first == 4);
  CHECK(parts[0].steps.last == 5);
  CHECK(parts[0].fingerprints == 1);
  CHECK(parts[1].steps.first == 8);
  CHECK(parts[1].steps.last == 15);
  CHECK(parts[1].fingerprints == 2);
  write_file_atomically(run.steps(), "{\"step\":1,\"fingerprint\":\"aa\"}\n");
  CHECK(contains(message_of([&] { static_cast<void>(auditable(run)); }), "--state-hist"));
}

TEST_CASE("only states count among the files of their folder") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  CHECK(kept_states(run).empty());
  make_run(run);
  const std::vector<KeptState> states = kept_states(run);
  REQUIRE(states.size() == 2);
  CHECK(states[0].step == 2);
  CHECK(states[1].step == 4);
  CHECK(is_kept_state(run.kept_state(800)));
  CHECK_FALSE(is_kept_state(run.state()));
  CHECK_FALSE(is_kept_state(folder / "step-800.safetensors"));
  CHECK(run_of_state(run.kept_state(800)) == folder.path());
  CHECK(run_of_state(run.state()) == folder.path());
}

}  // namespace fovea
