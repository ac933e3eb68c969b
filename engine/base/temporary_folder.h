// A temporary folder that removes itself: for tests, benchmarks, and input of other programs.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "engine/base/error.h"

namespace fovea {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::string pattern = "fovea-" + std::string(6, 'X');  // mkdtemp replaces the X
    std::string name = (std::filesystem::temp_directory_path() / pattern).string();
    check(::mkdtemp(name.data()) != nullptr, "cannot make a folder ", name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace fovea
