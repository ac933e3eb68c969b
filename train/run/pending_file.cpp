// Copies, checksums and writing of a run's safetensors files.
#include "train/run/pending_file.h"

#include <cstdint>

#include "engine/autograd.h"
#include "engine/base/crc32c.h"
#include "engine/copy.h"

namespace fovea {

std::string checksum_of(const std::map<std::string, Tensor>& tensors, const Metadata& metadata) {
  std::uint32_t crc = 0;
  const auto add = [&](const std::string& text) { crc = crc32c(text + '\0', crc); };
  for (const auto& [key, value] : metadata) {
    if (key == "crc32c") continue;
    add(key);
    add(value);
  }
  for (const auto& [name, tensor] : tensors) {
    add(name);
    const Tensor bytes = tensor.detach().to(Device{}).contiguous();
    const auto count = static_cast<std::size_t>(bytes.numel()) * size_of(bytes.dtype());
    crc = crc32c({reinterpret_cast<const char*>(bytes.raw()), count}, crc);
  }
  return std::to_string(crc);
}

void PendingFile::detach_from_run() {
  const NoGrad no_grad;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.device() == Device{} ? tensor.detach().clone() : tensor.detach().to(Device{});
  }
}

void PendingFile::write() const {
  Metadata complete = metadata;
  if (complete.contains("fovea")) {
    complete.emplace("format", "pt");  // the writer adds it, and the checksum covers it
    complete["crc32c"] = checksum_of(tensors, complete);
  }
  for (const std::filesystem::path& copy : copies) write_safetensors(copy, tensors, complete);
  write_safetensors(path, tensors, complete);
}

}  // namespace fovea
