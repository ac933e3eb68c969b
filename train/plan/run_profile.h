// A few steps of a run, op by op, in a file for trace viewers (--profile N).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/profile.h"

namespace fovea {

class RunProfile {
 public:
  /// Of `steps` steps after the first two, which warm up; 0: of none.
  RunProfile(std::int64_t steps, std::filesystem::path file);

  /// Call after each step. What there is to say once the file is written: its path and the ops that
  /// took longest; empty otherwise.
  [[nodiscard]] std::string step_done();
  /// Whether the run ended before all the steps that were to be traced: nothing was written.
  [[nodiscard]] bool cut_short() const { return steps_ > 0 && done_ < kWarmUp + steps_; }

 private:
  static constexpr std::int64_t kWarmUp = 2;

  std::int64_t steps_, done_ = 0;
  std::filesystem::path file_;
  std::optional<Profile> profile_;
};

}  // namespace fovea
