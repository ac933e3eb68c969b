// Writing and reading a store.
#include "models/checkpoints/store_file.h"

#include "engine/formats/named_tensors.h"
#include "engine/formats/safetensors.h"

namespace fovea {
namespace {

std::map<std::string, Tensor> tensors_of(const ParameterStore& store) {
  std::map<std::string, Tensor> tensors;
  for (const auto* list : {&store.parameters(), &store.buffers()}) {
    for (const Parameter& p : *list) tensors[p.name] = p.tensor.detach();
  }
  return tensors;
}

}  // namespace

void save_store(const std::filesystem::path& path, const ParameterStore& store,
                const Metadata& metadata) {
  write_safetensors(path, tensors_of(store), metadata);
}

Metadata load_store(const std::filesystem::path& path, const ParameterStore& store) {
  SafetensorsFile file = read_safetensors(path);
  copy_all(tensors_of(store), file.tensors, path.string());
  return std::move(file.metadata);
}

}  // namespace fovea
