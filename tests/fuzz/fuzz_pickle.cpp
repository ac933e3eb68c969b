// Fuzzes the reader of pickles and the conversion of their values: any bytes give inert values with
// valid references and tensors inside their storages, or an Error.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/formats/torch/numpy_array.h"
#include "engine/formats/torch/objects.h"
#include "engine/formats/torch/selection.h"
#include "engine/formats/torch/state.h"

namespace {

void check_references(const fovea::Pickle& pickle) {
  if (pickle.root >= pickle.values.size()) __builtin_trap();
  for (const fovea::PickleValue& value : pickle.values) {
    for (const fovea::PickleRef item : value.items) {
      if (item >= pickle.values.size()) __builtin_trap();
    }
  }
}

void check_tensor(const fovea::Pickle& pickle, fovea::PickleRef ref) {
  try {
    const fovea::TorchTensor tensor = fovea::tensor_of(pickle, ref, "input");
    const std::uint64_t capacity = tensor.storage.bytes / fovea::size_of(tensor.type);
    const bool is_empty = tensor.shape.numel() == 0;
    if (!is_empty && (tensor.first < 0 || tensor.last < tensor.first)) __builtin_trap();
    if (!is_empty && static_cast<std::uint64_t>(tensor.last) >= capacity) __builtin_trap();
  } catch (const fovea::Error&) {
  }
}

void check_array(const fovea::Pickle& pickle, fovea::PickleRef ref) {
  try {
    const fovea::NumpyBytes array = fovea::numpy_bytes_of(pickle, ref, "input");
    std::uint64_t count = 1;
    for (const std::int64_t size : array.shape) count *= static_cast<std::uint64_t>(size);
    if (count != array.bytes.size()) __builtin_trap();
  } catch (const fovea::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const fovea::Pickle pickle = fovea::parse_pickle(bytes, "input");
    if (pickle.end > size || pickle.values.size() > size) __builtin_trap();
    check_references(pickle);
    for (const auto& [object, state] : pickle.states) {
      if (object >= pickle.values.size() || state >= pickle.values.size()) __builtin_trap();
    }
    for (fovea::PickleRef ref = 0; ref < pickle.values.size(); ++ref) {
      static_cast<void>(fovea::describe_value(pickle, ref));
      if (fovea::is_tensor(pickle, ref)) check_tensor(pickle, ref);
      check_array(pickle, ref);
      const auto found = fovea::find_key(pickle, ref, "data");
      if (found && *found >= pickle.values.size()) __builtin_trap();
    }
    for (const char* key : {"", ".", "model"}) {
      try {
        const fovea::PickleRef chosen = fovea::select_dictionary(pickle, {key}, "input").dictionary;
        if (fovea::named_values(pickle, chosen, "input").weights.empty()) __builtin_trap();
      } catch (const fovea::Error&) {
      }
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
