// Files of torch.save (.pth, .pt, .bin) without PyTorch: their dictionaries of tensors, by name.
// Nothing in a file is executed; see pickle.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "formats/torch/contents.h"
#include "formats/torch/objects.h"
#include "formats/weights_key.h"

namespace fovea {

/// Whether the bytes start like a file of torch.save, in its zip layout or its older one.
[[nodiscard]] bool is_torch_file(const ByteSource& source);

/// One dictionary of named tensors in a file. Data are read on demand.
class TorchDictionary {
 public:
  /// `key` selects the dictionary. Without a key it is the only one that is reachable by names and
  /// has tensors for at least half of its values. Throws Error, starting with `where`: listing the
  /// candidates when there are none or several; on a duplicate name; and when the file does not
  /// come from torch.save. `source` must outlive this object.
  TorchDictionary(const ByteSource& source, const WeightsKey& key, std::string where);

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
  void collect(PickleRef dictionary);
  [[nodiscard]] std::string where(const StoredEntry& entry) const;
  [[nodiscard]] Tensor read(const StoredEntry& entry, const TorchTensor& tensor) const;

  const ByteSource& source_;
  std::string where_;
  TorchContents contents_;
  std::vector<StoredEntry> entries_;
  std::vector<TorchTensor> tensors_;  ///< location of each entry's elements
  std::vector<std::string> others_;
  bool is_by_key_ = false;
};

}  // namespace fovea
