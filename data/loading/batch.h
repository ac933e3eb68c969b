// Batches, the loader's output: tensors with one row per image.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// A named tensor that a data set or a task adds to a batch.
struct BatchMember {
  std::string name;
  Tensor value;         ///< [B, ...]
  bool uploads = true;  ///< false: stays on the CPU
};

/// What makes values of raw pixels, as ops::PixelFinish; the last two only if images are mixed.
struct RawPixels {
  Tensor levels, erased, fills, mixed{}, weights{};
};

/// Members of every batch are fields; all others have names: boxes, masks, dense maps, noise,
/// class weights. Operations on all members use mapped().
struct Batch {
  Tensor images;     ///< f32 [B, C, H, W], normalised; several of the B rows per sample with splits
  Tensor labels;     ///< i64 [B]
  Tensor indices{};  ///< i64 [B], indices of the samples in the data set; stay on the CPU
  std::vector<BatchMember> others{};
  std::optional<RawPixels> raw{};  ///< if set, images are pixels, u8 [B, 3, H, W]
  /// Images of the batch of which this is a shard; 0: it is the whole batch.
  std::int64_t whole = 0;
  /// With `whole`: Task::divisors() summed over the shards of the batch.
  std::vector<double> divisors{};

  /// The share of its images in the whole batch.
  [[nodiscard]] double share() const {
    return whole == 0 ? 1 : static_cast<double>(size()) / static_cast<double>(whole);
  }
  [[nodiscard]] std::int64_t size() const { return images.defined() ? images.size(0) : 0; }

  /// The member with this name; undefined if there is none.
  [[nodiscard]] Tensor find(std::string_view name) const;
  /// The same, but throws if there is none, listing the existing ones.
  [[nodiscard]] Tensor at(std::string_view name) const;
  /// Adds a member or replaces the one with its name.
  void set(BatchMember member);
  void set(std::string name, Tensor value) { set({std::move(name), std::move(value)}); }

  /// Changes the value of each defined member that has a row for each image.
  using Change = std::function<Tensor(const Tensor& value, bool uploads)>;
  [[nodiscard]] Batch mapped(const Change& change) const;

  /// A batch of `count` rows that repeats these rows cyclically. The batch must be on the CPU and
  /// without raw pixels that are to be mixed; returned unchanged if it has that many rows.
  [[nodiscard]] Batch repeated(std::int64_t count) const;
  /// The batch for a model on `device`: one upload() copies all that uploads.
  [[nodiscard]] Batch uploaded(Device device) const;
};

}  // namespace fovea
