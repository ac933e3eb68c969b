// Selects the reader for a weight file.
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

/// Whether to use the reader for torch.save. When the bytes match neither format, the name
/// decides, so that the error comes from the expected reader.
bool is_for_torch(const fs::path& path, const ByteSource& file) {
  if (is_torch_file(file)) return true;
  if (is_safetensors(file)) return false;
  constexpr std::array kNames{".pth", ".pt", ".bin", ".ckpt", ".tar"};  // as in DETR and timm
  return std::find(kNames.begin(), kNames.end(), path.extension()) != kNames.end();
}

std::string note_of(const WeightsKey& key, bool is_by_key) {
  if (key.name.empty() || is_by_key) return {};
  return "contains a single set of weights, which is used; --weights-key " + key.name +
         " is not in it";
}

}  // namespace

WeightsFile read_weights(const fs::path& path, const WeightsKey& key) {
  const InputFile file(path);
  if (is_for_torch(path, file)) {
    const TorchDictionary dictionary(file, key, path.string());
    return {dictionary.read(), {}, note_of(key, dictionary.is_by_key())};
  }
  SafetensorsFile read = read_safetensors(path);
  return {std::move(read.tensors), std::move(read.metadata), note_of(key, false)};
}

WeightsList list_weights(const fs::path& path, const WeightsKey& key) {
  const InputFile file(path);
  if (is_for_torch(path, file)) {
    const TorchDictionary dictionary(file, key, path.string());
    return {dictionary.entries(), dictionary.others(), {}, note_of(key, dictionary.is_by_key())};
  }
  SafetensorsList list = list_safetensors(path);
  return {std::move(list.entries), {}, std::move(list.metadata), note_of(key, false)};
}

}  // namespace fovea
