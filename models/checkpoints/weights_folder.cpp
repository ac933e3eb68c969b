// Finding the weights in a folder.
#include "models/checkpoints/weights_folder.h"

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// The first of several files whose index is not in the folder; empty if there is none.
std::string shard_in(const fs::path& folder) {
  std::string first;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_shard = name.find("-of-") != std::string::npos &&
                          (name.starts_with("model-") || name.starts_with("pytorch_model-"));
    if (is_shard && (first.empty() || name < first)) first = name;
  }
  return first;
}

constexpr const char* kWeightsNames[] = {"model.safetensors",
                                         "model.safetensors.index.json",
                                         "best.safetensors",
                                         "last.safetensors",
                                         "pytorch_model.bin",
                                         "pytorch_model.bin.index.json",
                                         "diffusion_pytorch_model.safetensors",
                                         "diffusion_pytorch_model.bin"};

bool is_of_run(std::string_view name) {
  return name == "best.safetensors" || name == "last.safetensors";
}

}  // namespace

std::optional<fs::path> find_hub_weights(const fs::path& folder) {
  for (const char* name : kWeightsNames) {
    if (!is_of_run(name) && fs::is_regular_file(folder / name)) return folder / name;
  }
  return {};
}

fs::path weights_in(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  for (const char* name : kWeightsNames) {
    if (fs::is_regular_file(path / name)) return path / name;
  }
  const std::string shard = shard_in(path);
  check(shard.empty(), path.string(), ": contains ", in_quotes(shard),
        ", one of several files, but ", "not their index, expected ",
        shard.starts_with("pytorch") ? "pytorch_model.bin" : "model.safetensors", ".index.json");
  fail(path.string(),
       ": contains no weights, expected model.safetensors or pytorch_model.bin as on ",
       "hubs, or best.safetensors or last.safetensors of a run");
}

}  // namespace fovea
