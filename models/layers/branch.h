// A residual branch: code such as x + attention(norm(x)) reads like the formula, and the addition
// is fused into the branch's last matrix product.
#pragma once

#include <functional>
#include <utility>

#include "engine/tensor.h"

namespace fovea {

/// A residual branch whose last layer is still pending: x + branch fuses the addition of x into
/// that layer; converted to a Tensor it is the branch alone. The shape is that of x, [B, ...].
/// Either use runs the layer, takes an rvalue and leaves the branch empty, so no layer runs twice.
class Branch {
 public:
  /// Computes the last layer and adds `x` to it, if `x` is defined.
  using Last = std::function<Tensor(const Tensor& x)>;
  using Layer = std::function<Tensor(const Tensor& y)>;
  /// Adds the branch's output `y` to `x`, which may be undefined.
  using Join = std::function<Tensor(const Tensor& x, const Tensor& y)>;

  explicit Branch(Last last) : last_(std::move(last)) {}
  Branch(Branch&&) = default;
  Branch& operator=(Branch&&) = default;

  // NOLINTNEXTLINE(google-explicit-constructor)
  [[nodiscard]] operator Tensor() && { return std::exchange(last_, nullptr)({}); }
  [[nodiscard]] friend Tensor operator+(const Tensor& x, Branch&& branch) {
    return std::exchange(branch.last_, nullptr)(x);
  }
  /// The branch with one more layer after its last one.
  [[nodiscard]] Branch then(Layer layer) &&;
  /// The branch with another way to add its output.
  [[nodiscard]] Branch joined(Join join) &&;

 private:
  Last last_;
};

}  // namespace fovea
