// Profile of a few steps by op, in a file for trace viewers (--profile N).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/profile.h"

namespace fovea {

class RunProfile {
 public:
  /// Profiles `steps` steps after two warm-up steps; 0: none.
  RunProfile(std::int64_t steps, std::filesystem::path file);

  /// To be called after each step. Returns a message with the path and the slowest ops once the
  /// file is written, otherwise "".
  [[nodiscard]] std::string step_done();
  /// True if the run ended before all requested steps were traced; no file was written.
  [[nodiscard]] bool cut_short() const { return steps_ > 0 && done_ < kWarmUp + steps_; }

 private:
  static constexpr std::int64_t kWarmUp = 2;

  std::int64_t steps_, done_ = 0;
  std::filesystem::path file_;
  std::optional<Profile> profile_;
};

}  // namespace fovea
