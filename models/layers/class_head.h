// The classification head: pooled vectors to class logits.
#pragma once

#include <optional>

#include "models/context.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/running_buffers.h"

namespace fovea {

/// Normalises each channel by its mean and standard deviation over the batch, without scale and
/// shift. Evaluation uses the running statistics.
class BatchStatistics {
 public:
  BatchStatistics(const Scope& s, std::int64_t dim) : running_(s, dim) {}

  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const {
    return running_.normalize(x, {}, {.training = ctx.training, .eps = 1e-6});
  }

 private:
  RunningBuffers running_;
};

struct ClassHeadConfig {
  std::int64_t num_classes = 1000;  ///< 0: no head, forward returns the pooled vector
  bool batch_norm = false;          ///< batch-normalise the pooled vectors, without scale and shift
  double drop_rate = 0;             ///< dropout rate of the pooled vectors
};

/// Maps [B, D] -> [B, K] by a linear layer. For MAE's linear probe, batch normalisation (named `0`)
/// precedes the linear layer (named `1`).
class ClassHead {
 public:
  ClassHead(const Scope& s, std::int64_t dim, const ClassHeadConfig& c) : drop_(c.drop_rate) {
    if (c.num_classes == 0) return;
    linear_.emplace(c.batch_norm ? s / "1" : s, dim, c.num_classes);
    if (c.batch_norm) norm_.emplace(s / "0", dim);
  }

  [[nodiscard]] Tensor operator()(const Tensor& pooled, Context& ctx) const {
    ctx.show("pooled", pooled);
    if (!linear_) return pooled;
    const Tensor x = drop_(pooled, ctx);
    return (*linear_)(norm_ ? (*norm_)(x, ctx) : x);
  }

 private:
  std::optional<Linear> linear_;
  std::optional<BatchStatistics> norm_;
  Dropout drop_;
};

}  // namespace fovea
