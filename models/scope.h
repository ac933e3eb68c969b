// Parameters by name. Creating one through a Scope registers it, so that nothing can be trained,
// saved or decayed by accident, or left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Fills a new parameter. The key depends on seed and name only, not on the order of creation.
using Init = std::function<void(const Tensor& parameter, RandomKey key)>;

[[nodiscard]] Init constant(double value);
/// timm's trunc_normal_: normal, cut at the absolute values -2 and 2, whatever the deviation.
[[nodiscard]] Init trunc_normal(double deviation);
[[nodiscard]] Init normal(double deviation);
[[nodiscard]] Init uniform(double bound);  ///< on [-bound, bound)
/// U(1 / sqrt(fan_in)): PyTorch's default for linear and convolution, weight and bias.
[[nodiscard]] Init torch_default(std::int64_t fan_in);
/// U(sqrt(6 / (in + out))).
[[nodiscard]] Init xavier(std::int64_t in, std::int64_t out);

enum class Decay : bool { no, yes };

struct Parameter {
  std::string name;
  Tensor tensor;
  Decay decay = Decay::yes;
};

/// All parameters and buffers of a model, in creation order.
class ParameterStore {
 public:
  ParameterStore(std::uint64_t seed, TensorOptions options) : seed_(seed), options_(options) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Parameter>& buffers() const { return buffers_; }
  /// Parameter or buffer; undefined when there is none of that name.
  [[nodiscard]] Tensor find(std::string_view name) const;
  [[nodiscard]] std::int64_t parameter_count() const;  ///< elements that require a gradient
  void zero_grad() const;

 private:
  friend class Scope;
  std::uint64_t seed_;
  TensorOptions options_;
  std::vector<Parameter> parameters_, buffers_;
  std::map<std::string, Tensor, std::less<>> by_name_;  // of both
};

/// A place in the tree of names: Scope(store) / "blocks" / 0 / "attn".
class Scope {
 public:
  explicit Scope(ParameterStore& store) : store_(&store) {}
  [[nodiscard]] Scope operator/(std::string_view child) const;
  [[nodiscard]] Scope operator/(std::int64_t child) const;

  /// A trainable leaf. Decay follows timm's rule unless stated: no for one axis or a ".bias".
  Tensor param(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor param(std::string_view name, const Shape& shape, const Init& init, Decay decay) const;
  /// Saved under the parameters' names but never trained (a fixed sin-cos table).
  Tensor fixed(std::string_view name, const Shape& shape, const Init& init) const;
  /// State that the forward pass updates (running statistics).
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init, DType dtype) const;

 private:
  Tensor make(std::string_view name, const Shape& shape, const Init& init, TensorOptions o,
              std::string& path) const;

  ParameterStore* store_;
  std::string path_;
};

}  // namespace fovea
