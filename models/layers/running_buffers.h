// Running statistics of batch normalisation, under PyTorch's names.
#pragma once

#include "models/scope.h"
#include "ops/norm.h"

namespace fovea {

/// The buffers `running_mean`, `running_var`, `num_batches_tracked`.
class RunningBuffers {
 public:
  RunningBuffers(const Scope& s, std::int64_t channels)
      : mean_(s.buffer("running_mean", {channels}, constant(0))),
        var_(s.buffer("running_var", {channels}, constant(1))),
        batches_(s.buffer("num_batches_tracked", {}, constant(0), DType::i64)) {}

  [[nodiscard]] const Tensor& mean() const { return mean_; }
  [[nodiscard]] const Tensor& var() const { return var_; }

  /// batch_norm() of x; in training also updates the running statistics.
  [[nodiscard]] Tensor normalize(const Tensor& x, const ops::Affine& affine,
                                 const ops::BatchNormOptions& options) const;

 private:
  void count_batch() const;

  Tensor mean_, var_, batches_;
};

}  // namespace fovea
