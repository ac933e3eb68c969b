// What the tape keeps of a tensor that a derivative reads: its values, or a way to compute them
// again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

struct Recomputation;

class SavedTensor {
 public:
  /// Keeps `t`, which may be undefined, without its tape. Of an output that
  /// recomputed_for_backward() marked, and that was not changed since, only the recomputation is
  /// kept.
  explicit SavedTensor(const Tensor& t);

  /// The tensor as it was then. Throws in the name of `op` when it was changed in place.
  [[nodiscard]] Tensor read(std::string_view op) const;

 private:
  Tensor kept_;  ///< detached
  std::uint64_t version_ = 0;
  std::shared_ptr<const Recomputation> recomputation_;
};

/// How an op's output is computed again.
struct Recomputation {
  std::vector<SavedTensor> from;
  RecomputeFn compute;
  std::uint64_t version;  ///< of the output, as computed
};

}  // namespace fovea
