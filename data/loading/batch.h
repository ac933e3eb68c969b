// What the loader hands to the trainer: tensors that have a row for each image.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// A tensor that a data set or a task adds to a batch.
struct BatchMember {
  std::string name;
  Tensor value;         ///< [B, ...]
  bool uploads = true;  ///< false: it stays on the CPU
};

/// Members that every batch has are fields, all others have names: boxes, masks, dense maps, noise,
/// shares of classes. Whatever works on all members goes through mapped().
struct Batch {
  Tensor images;  ///< f32 [B, C, H, W], normalised; B rows, several of a sample where it is split
  Tensor labels;  ///< i64 [B]
  Tensor indices{};  ///< i64 [B], of the samples in their data set; they stay on the CPU
  std::vector<BatchMember> others{};

  [[nodiscard]] std::int64_t size() const { return images.defined() ? images.size(0) : 0; }

  /// The member of that name; an undefined tensor where there is none.
  [[nodiscard]] Tensor find(std::string_view name) const;
  /// The same. Throws where there is none, naming those that are there.
  [[nodiscard]] Tensor at(std::string_view name) const;
  /// Adds the member, or replaces the one of its name.
  void set(BatchMember member);
  void set(std::string name, Tensor value) { set({std::move(name), std::move(value)}); }

  /// All members that are defined, each changed by `change`.
  using Change = std::function<Tensor(const Tensor& value, bool uploads)>;
  [[nodiscard]] Batch mapped(const Change& change) const;

  /// Rows [first, first + count), which share this batch's memory.
  [[nodiscard]] Batch rows(std::int64_t first, std::int64_t count) const;
  /// So many rows, from the first on over and over. The batch is on the CPU; itself where it has
  /// that many.
  [[nodiscard]] Batch repeated(std::int64_t count) const;
  /// The batch where a model on `device` reads it: what uploads, by upload().
  [[nodiscard]] Batch uploaded(Device device) const;
};

}  // namespace fovea
