// Gradient checking against central differences, for the test suite and for custom ops.
//
// For y = f(x...) and a random cotangent w, every entry of d<w, y>/dx is compared in f64 with the
// fourth-order difference (8 d(h) - d(2h)) / 12h, where d(h) = <w, f(x + h)> - <w, f(x - h)>. The
// fourth order allows an h large enough that rounding does not matter. w is random because a plain
// sum would hide mistakes in ops whose rows sum to a constant, such as softmax and layer norm.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

using TensorFn = std::function<Tensor(const std::vector<Tensor>& inputs)>;

struct GradcheckOptions {
  double step = 2e-4;  ///< h, relative to max(1, |x|)
  /// Bound on |analytic - numeric| / max(|numeric|, 1e-3 * largest |numeric|, 1e-6).
  double tolerance = 1e-6;
  /// f has kinks, as relu has. Where a difference is beyond the bound, smaller steps are tried: one
  /// of them stays on one side of the kink, unless the derivative is wrong.
  bool has_kinks = false;
  std::uint64_t seed = 99;  ///< seed of the cotangent and of the choice of entries
  /// Entries checked per input, drawn at random, plus the one with the largest derivative; 0: all.
  std::int64_t most_entries = 0;
  /// Called after backward() and before the gradients are read (Model::finish_backward).
  std::function<void()> after_backward{};
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;          ///< largest relative error
  std::int64_t entries = 0;  ///< number of derivatives compared
  std::string message;       ///< the worst entry (input, position, analytic, numeric), or the error
};

/// Checks inputs that require a gradient, entry by entry; there must be one. They must be f64, on
/// any device. f must depend on its inputs alone. A missing gradient counts as zero.
[[nodiscard]] GradcheckResult gradcheck(const TensorFn& f, const std::vector<Tensor>& inputs,
                                        GradcheckOptions options = {});

}  // namespace fovea
