// Environment variables that switch debugging aids on while a program runs.
#pragma once

#include <cstdlib>
#include <string_view>

namespace fovea::cuda {

/// Whether the environment variable is "1".
[[nodiscard]] inline bool is_switched_on(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace fovea::cuda
