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
#include "models/layers/token_grid.h"

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

/// What a parameter is. Said where it is made, and read by whoever treats some of them apart:
/// rates by layer, freezing, clipping, initial values.
enum class Role {
  other,
  token,  ///< the class token
  distillation_token,
  position_table,     ///< a vector for each token
  position_encoding,  ///< positions in another form: filters, distances
  patches,            ///< from pixels to tokens
  attention,          ///< queries, keys, values and output of a common transformer block
  mlp,
  norm,
  pooled_norm,  ///< behind the pooling, before the head
  head,
  distillation_head,
};
[[nodiscard]] constexpr bool is_head(Role role) {
  return role == Role::head || role == Role::distillation_head;
}

struct Parameter {
  std::string name;
  Tensor tensor;
  Decay decay = Decay::yes;
  Role role = Role::other;
  std::int64_t block = -1;  ///< which of the stack it belongs to, from 0; -1: to none
  bool in_decoder = false;  ///< of an autoencoder, whose stack is its encoder's
  bool is_fixed = false;    ///< never trained, see Scope::fixed(); others may be frozen
  TokenGrid grid{};         ///< whose places its entries belong to; 0 x 0: to no places
};

/// While it lives, models that this thread makes have parameters of their shapes without values or
/// memory of their own: to learn what a model needs before any of it is taken. One at a time.
class ShapesOnly {
 public:
  /// Making a parameter throws Error, naming `model`, as soon as all of them would need more than
  /// `most` bytes.
  ShapesOnly(std::string model, std::int64_t most);
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  ///< of the parameters made so far
  [[nodiscard]] static bool active();

 private:
  friend class Scope;
  void add(std::int64_t count, DType dtype);

  std::string model_;
  std::int64_t most_, bytes_ = 0;
};

/// All parameters and buffers of a model, in creation order.
class ParameterStore {
 public:
  ParameterStore(std::uint64_t seed, TensorOptions options) : seed_(seed), options_(options) {}
  /// Handles to those parameters of `all` that `takes` returns true for, without its buffers.
  ParameterStore(const ParameterStore& all, const std::function<bool(const Parameter&)>& takes);
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  [[nodiscard]] TensorOptions options() const { return options_; }  ///< of new parameters
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Parameter>& buffers() const { return buffers_; }
  /// Parameter or buffer; undefined when there is none of that name.
  [[nodiscard]] Tensor find(std::string_view name) const;
  /// The first parameter that is this; undefined when there is none.
  [[nodiscard]] Tensor find(Role role) const;
  [[nodiscard]] std::int64_t parameter_count() const;  ///< elements that require a gradient
  void zero_grad() const;

 private:
  friend class Scope;
  std::uint64_t seed_;
  TensorOptions options_;
  std::vector<Parameter> parameters_, buffers_;
  std::map<std::string, Tensor, std::less<>> by_name_;  // of both
};

/// A place in the tree of names: Scope(store) / "blocks" / 0 / "attn"; and what is made there.
class Scope {
 public:
  explicit Scope(ParameterStore& store) : store_(&store) {}
  [[nodiscard]] Scope operator/(std::string_view child) const;
  [[nodiscard]] Scope operator/(std::int64_t child) const;
  /// The same place, for parameters of this role.
  [[nodiscard]] Scope as(Role role) const;
  /// The same place, where linear layers begin with Xavier's weights (MAE's and DiT's code).
  [[nodiscard]] Scope xavier() const;
  /// The same place, in the decoder of an autoencoder.
  [[nodiscard]] Scope decoder() const;
  /// What the weight of a linear layer begins with here: trunc_normal(0.02), or Xavier's.
  [[nodiscard]] Init linear_weight(std::int64_t in, std::int64_t out) const;
  /// The same place, for parameters that are laid out by this grid: of another one they mean
  /// something else, be their shapes equal.
  [[nodiscard]] Scope over(const TokenGrid& grid) const;
  /// / index, for the parameters of that block of the model's stack.
  [[nodiscard]] Scope block(std::int64_t index) const;

  /// A trainable leaf. Decay follows timm's rule unless stated: no for one axis or a ".bias".
  Tensor param(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor param(std::string_view name, const Shape& shape, const Init& init, Decay decay) const;
  /// Saved under the parameters' names but never trained (a fixed sin-cos table).
  Tensor fixed(std::string_view name, const Shape& shape, const Init& init) const;
  /// State that the forward pass updates (running statistics).
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init, DType dtype) const;

 private:
  /// A new tensor, and what the store keeps of it.
  [[nodiscard]] Parameter make(std::string_view name, const Shape& shape, const Init& init,
                               TensorOptions options, Decay decay) const;

  ParameterStore* store_;
  std::string path_;
  Role role_ = Role::other;
  std::int64_t block_ = -1;
  TokenGrid grid_{};
  bool is_xavier_ = false, in_decoder_ = false;
};

}  // namespace fovea
