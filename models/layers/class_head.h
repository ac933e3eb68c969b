// From a pooled vector to class logits.
#pragma once

#include <optional>

#include "models/context.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/running_buffers.h"

namespace fovea {

/// Each channel less its mean over the batch, by its deviation, without scale and shift; in
/// evaluation with running statistics.
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
  std::int64_t num_classes = 1000;  ///< 0: no head, the pooled vector comes out
  bool batch_norm = false;          ///< of the pooled vectors, without scale and shift
  double drop_rate = 0;             ///< dropout of the pooled vectors
};

/// [B, D] -> [B, K]. A linear layer; for MAE's linear probe behind batch statistics, as `0` and
/// `1`.
class ClassHead {
 public:
  ClassHead(const Scope& s, std::int64_t dim, const ClassHeadConfig& c) : drop_(c.drop_rate) {
    if (c.num_classes == 0) return;
    linear_.emplace(c.batch_norm ? s / "1" : s, dim, c.num_classes);
    if (c.batch_norm) norm_.emplace(s / "0", dim);
  }

  [[nodiscard]] Tensor operator()(const Tensor& pooled, Context& ctx) const {
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
