// Files of torch.save (.pth, .pt, .bin) without PyTorch: the dictionaries of tensors in them, by
// name. Nothing in such a file is executed; see pickle.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "formats/torch/contents.h"
#include "formats/torch/objects.h"
#include "formats/weights_key.h"

namespace fovea {

/// Whether the bytes begin as torch.save's do, in its zip form or its older one.
[[nodiscard]] bool is_torch_file(const ByteSource& source);

/// One dictionary of names and tensors of a file. Data are read when they are asked for.
class TorchDictionary {
 public:
  /// `key` says which; without one the only one that names lead to and at least half of whose
  /// values are tensors. Throws Error, beginning with `where`, that lists the choices where there
  /// is none or are several; on a name that is there twice; and on whatever is no file of
  /// torch.save. `source` must outlive this.
  TorchDictionary(const ByteSource& source, const WeightsKey& key, std::string where);

  [[nodiscard]] const std::vector<StoredEntry>& entries() const { return entries_; }
  /// Names of its values that are no tensors, which are left out.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }
  /// Whether it was found by the key; else it is the file's only one.
  [[nodiscard]] bool is_by_key() const { return is_by_key_; }

  /// All tensors, contiguous, of held_dtype(). Throws Error where storages are not in the file, or
  /// tensors repeat their elements so much that they are far larger than the file.
  [[nodiscard]] std::map<std::string, Tensor> read() const;

 private:
  void collect(PickleRef dictionary);
  [[nodiscard]] std::string where(const StoredEntry& entry) const;
  [[nodiscard]] Tensor read(const StoredEntry& entry, const TorchTensor& tensor) const;

  const ByteSource& source_;
  std::string where_;
  TorchContents contents_;
  std::vector<StoredEntry> entries_;
  std::vector<TorchTensor> tensors_;  ///< where each entry's elements lie
  std::vector<std::string> others_;
  bool is_by_key_ = false;
};

}  // namespace fovea
