// Which reader a file is for.
#include "formats/weights_file.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/files.h"
#include "formats/safetensors.h"
#include "formats/torch/torch_file.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// What begins as neither kind of file is said to be damaged by the reader that its name promises.
bool is_for_torch(const fs::path& path, const ByteSource& file) {
  if (is_torch_file(file)) return true;
  if (is_safetensors(file)) return false;
  constexpr std::array kNames{".pth", ".pt", ".bin", ".ckpt", ".tar"};  // DETR's and timm's end so
  return std::find(kNames.begin(), kNames.end(), path.extension()) != kNames.end();
}

void refuse_key(const fs::path& path, const std::string& key) {
  check(key.empty(), path.string(), ": got --weights-key ", key,
        ", but this is no file of torch.save: safetensors hold one set of tensors");
}

}  // namespace

WeightsFile read_weights(const fs::path& path, const std::string& key) {
  const InputFile file(path);
  if (is_for_torch(path, file)) return {TorchDictionary(file, key, path.string()).read(), {}};
  refuse_key(path, key);
  SafetensorsFile read = read_safetensors(path);
  return {std::move(read.tensors), std::move(read.metadata)};
}

WeightsList list_weights(const fs::path& path, const std::string& key) {
  const InputFile file(path);
  if (is_for_torch(path, file)) {
    const TorchDictionary dictionary(file, key, path.string());
    return {dictionary.entries(), dictionary.others(), {}};
  }
  refuse_key(path, key);
  SafetensorsList list = list_safetensors(path);
  return {std::move(list.entries), {}, std::move(list.metadata)};
}

}  // namespace fovea
