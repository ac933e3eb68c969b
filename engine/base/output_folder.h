// An output folder of a program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {

/// A folder that is created when the first file is written.
class OutputFolder {
 public:
  explicit OutputFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void write(const std::string& name, std::string_view content);
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace fovea
