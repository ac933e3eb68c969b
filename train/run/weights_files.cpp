// The names of weights: best.safetensors, checkpoint-12.safetensors.
#include "train/run/weights_files.h"

#include <algorithm>
#include <exception>
#include <string>

#include "engine/base/text.h"
#include "engine/formats/safetensors.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool is_weights(const std::string& name) {
  for (const char* which : {"last", "best", "last_ema", "best_ema"}) {
    if (name == RunPaths{}.weights(which)) return true;
  }
  constexpr std::string_view kept = "checkpoint-";
  if (!name.starts_with(kept)) return false;
  const auto epoch = parse_integer(name.substr(kept.size(), name.find('.') - kept.size()));
  return epoch && name == RunPaths{}.epoch_weights(*epoch);
}

}  // namespace

std::vector<fs::path> weights_files(const RunPaths& run) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(run.folder, none)) {
    if (is_weights(entry.path().filename().string())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::int64_t> epoch_of_weights(const fs::path& path) try {
  return parse_integer(value_or(list_safetensors(path).metadata, "epoch", ""));
} catch (const std::exception&) {
  return {};
}

void copy_weights(const fs::path& from, const fs::path& to) {
  const SafetensorsFile file = read_safetensors(from);
  write_safetensors(to, file.tensors, file.metadata);
}

}  // namespace fovea
