// Messages about damaged states of a run.
#include "train/start/damaged_states.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/base/files.h"
#include "tests/support/flip_last_bit.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/run/kept_states.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

void save_tiny_state(const fs::path& file) {
  Trainer trainer = make_trainer(tiny_config());
  run_state_file(file, trainer.state()).write();
}

std::string error_of_resume(const fs::path& state) {
  return message_of([&] { static_cast<void>(resolve_run({{"resume", state.string()}})); });
}

}  // namespace

TEST_CASE("a damaged state from before an evaluation is passed over with a note") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  for (const fs::path& state : {run.state(), run.unevaluated_state()}) save_tiny_state(state);
  const std::vector<Setting> flags{{"output", folder.path().string()}, {"resume", "auto"}};
  CHECK(resolve_run(flags).notices.texts().empty());
  CHECK(note_of_later_state(run.state()).empty());
  flip_last_bit(run.unevaluated_state());
  const ResolvedRun resumed = resolve_run(flags);
  CHECK(resumed.state == run.state());
  REQUIRE(resumed.notices.texts().size() == 1);
  CHECK(resumed.notices.texts()[0] == run.unevaluated_state().string() +
                                          " is damaged: its epoch is trained again, from "
                                          "state.safetensors");
}

TEST_CASE("an error about a damaged state names the newest one that can be read") {
  const TemporaryFolder folder;
  const RunPaths run{folder.path()};
  make_folder(run.kept_states());
  for (const fs::path& state : {run.state(), run.kept_state(3), run.kept_state(4)})
    save_tiny_state(state);
  flip_last_bit(run.kept_state(4));
  CHECK(contains(error_of_resume(run.kept_state(4)),
                 "; --resume " + run.state().string() + " continues from another state"));
  flip_last_bit(run.state());
  CHECK(readable_state(run) == run.kept_state(3));
  const std::string error = error_of_resume(run.state());
  CHECK(error.starts_with(run.state().string() + ": damaged: its checksum is wrong; --resume " +
                          run.kept_state(3).string() + " --output DIR"));
  const std::string elsewhere = (folder / "elsewhere").string();
  CHECK(resolve_run({{"resume", run.kept_state(3).string()}, {"output", elsewhere}}).state ==
        run.kept_state(3));
}

TEST_CASE("a file that is no state of a run gets no advice about its folder") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "mine.safetensors", "cut");
  CHECK_FALSE(contains(error_of_resume(folder / "mine.safetensors"), "--overwrite"));
}

}  // namespace fovea
