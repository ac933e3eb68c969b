// Starting and ending a run's profile by its step count.
#include "train/plan/run_profile.h"

#include <utility>

#include "engine/base/files.h"

namespace fovea {

RunProfile::RunProfile(std::int64_t steps, std::filesystem::path file)
    : steps_(steps), file_(std::move(file)) {}

std::string RunProfile::step_done() {
  ++done_;
  if (steps_ > 0 && done_ == kWarmUp) profile_.emplace();
  if (!profile_ || done_ < kWarmUp + steps_) return {};
  const std::vector<ProfileSpan> spans = profile_->spans();
  profile_.reset();
  write_file_atomically(file_, chrome_trace(spans));
  return "profile   " + file_.string() + ", " + std::to_string(steps_) +
         (steps_ == 1 ? " step" : " steps") + ", for chrome://tracing or ui.perfetto.dev\n\n" +
         profile_table(spans);
}

}  // namespace fovea
