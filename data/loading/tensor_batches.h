// Batches of rows of tensors: a loader for data that are in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "data/loading/sampler.h"
#include "engine/tensor.h"

namespace fovea {

struct TensorBatchOptions {
  std::int64_t batch_size = 64;
  bool shuffle = true;    ///< each epoch has its own order, by (seed, epoch)
  bool drop_last = true;  ///< leave out the incomplete batch at the end of an epoch
  std::uint64_t seed = 0;
};

/// Takes rows (of axis 0) of several tensors at once, such as images and labels, epoch after epoch.
class TensorBatches {
 public:
  /// The tensors are of any dtype, on the CPU, and have the same number of rows. Changes of their
  /// values show in later batches. Throws unless an epoch has a batch.
  TensorBatches(std::vector<Tensor> tensors, TensorBatchOptions options = {});

  /// The rows of the batch at cursor(), a tensor for each of the constructor's, and moves on.
  [[nodiscard]] std::vector<Tensor> next();

  [[nodiscard]] std::int64_t batches_per_epoch() const { return batches_; }
  [[nodiscard]] Cursor cursor() const { return cursor_; }
  void set_cursor(Cursor cursor);  ///< to resume; throws if there is no such batch

 private:
  std::vector<Tensor> tensors_;
  TensorBatchOptions options_;
  std::int64_t rows_ = 0, batches_ = 0;
  Cursor cursor_{};
  std::vector<std::int64_t> order_;
  std::int64_t order_epoch_ = -1;
};

}  // namespace fovea
