// Data sets that $FOVEA_DATA holds on some machines; tests of them are skipped on the others.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fovea::tests {

/// The folder or file of this name in $FOVEA_DATA; empty where there is none.
inline std::filesystem::path user_data(const char* name) {
  const char* folder = std::getenv("FOVEA_DATA");
  if (folder == nullptr) return {};
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::error_code none;  // asked before main(), where nothing may throw
  return std::filesystem::exists(path, none) ? path : std::filesystem::path();
}

}  // namespace fovea::tests
