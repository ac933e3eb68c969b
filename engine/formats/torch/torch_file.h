// Files of torch.save (.pth, .pt, .bin) and torch.jit.save without PyTorch: their dictionaries of
// tensors and their modules, by name. Nothing in a file is executed; see pickle.h.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/files.h"
#include "engine/formats/torch/contents.h"
#include "engine/formats/torch/numpy_array.h"
#include "engine/formats/torch/objects.h"
#include "engine/formats/weights_key.h"

namespace fovea {

/// Whether the bytes start like a file of torch.save, in its zip layout or its older one, or like a
/// pickle by itself (pickle.dump), as NumPy's users write it.
[[nodiscard]] bool is_torch_file(const ByteSource& source);

/// One set of named tensors in a file: a dictionary, or a module with its parameters and buffers.
/// NumPy arrays count as tensors. Data are read on demand.
class TorchDictionary {
 public:
  /// `key` selects the set. Without a key it is the only one that is reachable by names or
  /// positions in lists: a module, or a dictionary with tensors for at least half of its values.
  /// Sets of integers and scalars do not count beside others, nor do NumPy arrays beside tensors.
  /// Throws Error, starting with `context`: listing the candidates when there are none or several;
  /// on a duplicate name; and when the file does not come from torch.save. `source` must outlive
  /// this object.
  TorchDictionary(const ByteSource& source, const WeightsKey& key, std::string context);

  [[nodiscard]] const std::vector<StoredEntry>& entries() const { return entries_; }
  /// Names of values that are not tensors; they are skipped.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }
  /// Whether the key selected it; otherwise it is the file's only candidate.
  [[nodiscard]] bool is_by_key() const { return is_by_key_; }

  /// All tensors, contiguous, converted to held_dtype(). Throws Error when storages are missing
  /// from the file, or when tensors repeat elements so often that they are far larger than the
  /// file.
  [[nodiscard]] std::map<std::string, Tensor> read() const;

 private:
  void collect(PickleRef set);
  [[nodiscard]] std::string context(const StoredEntry& entry) const;
  [[nodiscard]] Tensor read(const StoredEntry& entry, const TorchTensor& tensor) const;
  [[nodiscard]] Tensor read(const StoredEntry& entry, const NumpyArray& array) const;

  const ByteSource& source_;
  std::string context_;
  TorchContents contents_;
  std::vector<StoredEntry> entries_;
  /// Location of each entry's elements.
  std::vector<std::variant<TorchTensor, NumpyArray>> places_;
  std::vector<std::string> others_;
  bool is_by_key_ = false;
};

}  // namespace fovea
