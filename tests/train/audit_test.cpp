// Where an audit starts: the states of a run, and the fingerprints in its log.
#include "train/run/audit.h"

#include <doctest/doctest.h>

#include "engine/base/files.h"
#include "tests/support/flip_last_bit.h"
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

void write_state(const std::filesystem::path& file, std::int64_t step) {
  Trainer trainer = make_trainer(tiny_config());
  TrainState state = trainer.state();
  state.progress.step = state.progress.forward = step;
  run_state_file(file, state).write();
}

/// A run of 8 steps with states of step 2 and 4, and other files beside them.
void make_run(const RunPaths& run) {
  write_state(run.state(), 8);
  make_folder(run.kept_states());
  for (const std::int64_t step : {2, 4}) write_state(run.kept_state(step), step);
  for (const char* name :
       {"step-03.safetensors", "step-5.safetensors.old", "mine.safetensors", "step-.safetensors"})
    write_file_atomically(run.kept_states() / name, "");
}

/// Where an audit of a step starts, without notices.
KeptState start_at(const RunPaths& run, std::int64_t step) {
  Notices notices;
  const AuditStart start = state_before(run, step, notices);
  CHECK(notices.texts().empty());
  CHECK(start.settings == read_state_config(start.state.path));
  return start.state;
}

std::string error_of_audit(const RunPaths& run, std::int64_t step) {
  Notices notices;
  return message_of([&] { static_cast<void>(state_before(run, step, notices)); });
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
  CHECK(start_at(run, 2).path == run.kept_state(2));
  CHECK(start_at(run, 3).step == 2);
  CHECK(start_at(run, 7).path == run.kept_state(4));
  CHECK(start_at(run, 8).path == run.state());
  CHECK(start_at(run, 99).step == 8);
  const std::string none = error_of_audit(run, 1);
  CHECK(contains(none, "no state of step 1 or before, the oldest is of step 2"));
  CHECK(contains(none, "--state-hist"));
  const TemporaryFolder empty;
  CHECK(contains(error_of_audit({empty.path()}, 1), "no state of step 1 or before; "));
}

TEST_CASE("an audit starts from the state that stands beside the last one before an evaluation") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_run(run);
  write_state(run.unevaluated_state(), 12);
  CHECK(start_at(run, 11).path == run.state());
  CHECK(start_at(run, 12).path == run.unevaluated_state());
  write_file_atomically(run.steps(), kLog);
  Notices notices;
  const std::vector<Auditable> parts = auditable(run, notices);
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].steps.last == 10);
  CHECK(parts[2].steps.first == 12);
}

TEST_CASE("an audit leaves out damaged states, with a notice") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_run(run);
  write_file_atomically(run.steps(), kLog);
  for (const bool is_cut : {false, true}) {
    CAPTURE(is_cut);
    if (is_cut) std::filesystem::resize_file(run.state(), 100);
    if (!is_cut) flip_last_bit(run.state());
    Notices notices, listed;
    CHECK(state_before(run, 9, notices).state.path == run.kept_state(4));
    REQUIRE(notices.texts().size() == 1);
    CHECK(notices.texts()[0].starts_with(run.state().string()));
    CHECK(notices.texts()[0].ends_with("this state is left out"));
    const std::vector<Auditable> parts = auditable(run, listed);
    CHECK(parts.back().steps.first == (is_cut ? 4 : 8));  // a list reads headers only
    CHECK(listed.texts().size() == (is_cut ? 1 : 0));
  }
  for (const std::int64_t step : {2, 4}) flip_last_bit(run.kept_state(step));
  const std::string none = error_of_audit(run, 9);
  CHECK(contains(none, "has no readable state of step 9 or before"));
  CHECK(contains(none, run.state().string()));
}

TEST_CASE("what can be audited is listed from each state to the next") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_run(run);
  write_file_atomically(run.steps(), kLog);
  Notices notices;
  const std::vector<Auditable> parts = auditable(run, notices);
  CHECK(notices.texts().empty());
  REQUIRE(parts.size() == 2);  // there is no fingerprint from step 2 to 3
  CHECK(parts[0].steps.first == 4);
  CHECK(parts[0].steps.last == 5);
  CHECK(parts[0].fingerprints == 1);
  CHECK(parts[1].steps.first == 8);
  CHECK(parts[1].steps.last == 15);
  CHECK(parts[1].fingerprints == 2);
  write_file_atomically(run.steps(), "{\"step\":1,\"fingerprint\":\"aa\"}\n");
  CHECK(contains(message_of([&] { static_cast<void>(auditable(run, notices)); }), "--state-hist"));
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
