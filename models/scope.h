// Parameters by name. Creating a parameter through a Scope registers it, so none is left out of
// training, saving or weight decay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rng.h"
#include "engine/tensor.h"
#include "models/layers/token_grid.h"

namespace fovea {

/// Fills a new parameter. The key depends only on the seed and the name, not on the creation order.
using Init = std::function<void(const Tensor& parameter, RandomKey key)>;

[[nodiscard]] Init constant(double value);
/// timm's trunc_normal_: normal, truncated at the absolute values -2 and 2 for any deviation.
[[nodiscard]] Init trunc_normal(double deviation);
[[nodiscard]] Init normal(double deviation);
[[nodiscard]] Init uniform(double bound);  ///< uniform on [-bound, bound)
/// U(1 / sqrt(fan_in)): PyTorch's default for weights and biases of linear layers and convolutions.
[[nodiscard]] Init torch_default(std::int64_t fan_in);
/// U(sqrt(6 / (in + out))).
[[nodiscard]] Init xavier(std::int64_t in, std::int64_t out);

/// The values of another Init, multiplied by `factor`.
[[nodiscard]] Init times(const Init& values, double factor);

enum class Decay : bool { no, yes };

/// The function of a parameter in the model. It is set at creation, and selects parameters for
/// layer-wise rates, freezing, clipping and initial values.
enum class Role {
  other,
  token,  ///< the class token
  distillation_token,
  register_token,
  position_table,     ///< one vector per token
  position_encoding,  ///< positions in another form: filters, distances
  patches,            ///< patch embedding: pixels to tokens
  embed_norm,         ///< norm of patches or tokens before the blocks
  attention,          ///< queries, keys, values and output of a standard transformer block
  mlp,
  norm,
  pooled_norm,  ///< norm after pooling, before the head
  head,         ///< logits of the classes, a row for each
  distillation_head,
  output,       ///< last layers of other predictions: noise, depths, boxes
  class_table,  ///< embeddings of the classes, a row for each
};
[[nodiscard]] constexpr bool is_head(Role role) {
  return role == Role::head || role == Role::distillation_head || role == Role::output;
}
/// Whether the first rows belong to the classes, in their order. Further rows stand for none of
/// them: DETR's "no object", DiT's null class.
[[nodiscard]] constexpr bool has_class_rows(Role role) {
  return role == Role::head || role == Role::distillation_head || role == Role::class_table;
}

struct Parameter {
  std::string name;
  Tensor tensor;
  Decay decay = Decay::yes;
  Role role = Role::other;
  std::int64_t block = -1;  ///< index of its block in the stack, from 0; -1: none
  bool in_decoder = false;  ///< part of an autoencoder's decoder, without a block index
  bool is_fixed = false;    ///< never trained, see Scope::fixed()
  TokenGrid grid{};         ///< grid that its entries are laid out on; 0 x 0: none
};

/// All parameters and buffers of a model, in creation order.
class ParameterStore {
 public:
  ParameterStore(std::uint64_t seed, TensorOptions options) : seed_(seed), options_(options) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// Dtype and device of new parameters.
  [[nodiscard]] TensorOptions options() const { return options_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Parameter>& buffers() const { return buffers_; }
  /// Finds a parameter or buffer; undefined if there is none of that name.
  [[nodiscard]] Tensor find(std::string_view name) const;
  /// The first parameter with this role; undefined if there is none.
  [[nodiscard]] Tensor find(Role role) const;
  /// Number of elements that require a gradient.
  [[nodiscard]] std::int64_t parameter_count() const;
  void zero_grad() const;
  /// For inference in one precision: weights that products read in bf16 are replaced by their bf16
  /// values when they are first read, so that their f32 values are not in memory too. The model can
  /// then neither be trained nor saved.
  void keep_single_copies() const;

 private:
  friend class Scope;
  std::uint64_t seed_;
  TensorOptions options_;
  std::vector<Parameter> parameters_, buffers_;
  std::map<std::string, Tensor, std::less<>> by_name_;  // parameters and buffers
};

/// A place in the tree of names, e.g. Scope(store) / "blocks" / 0 / "attn". Names of parameters
/// created through it start with that path.
class Scope {
 public:
  explicit Scope(ParameterStore& store) : store_(&store) {}
  [[nodiscard]] Scope operator/(std::string_view child) const;
  [[nodiscard]] Scope operator/(std::int64_t child) const;
  /// The same place, giving parameters this role.
  [[nodiscard]] Scope as(Role role) const;
  /// The same place, initialising linear layers with Xavier's weights, as in the code of MAE and
  /// DiT.
  [[nodiscard]] Scope xavier() const;
  /// The same place, marking parameters as part of an autoencoder's decoder.
  [[nodiscard]] Scope decoder() const;
  /// Registers the parameters and buffers of another store at this place. They share their tensors,
  /// which take the longer names.
  void adopt(const ParameterStore& other) const;
  [[nodiscard]] ParameterStore& store() const { return *store_; }
  /// Initial weight of a linear layer here: trunc_normal(0.02), or Xavier's.
  [[nodiscard]] Init linear_weight(std::int64_t in, std::int64_t out) const;
  /// The same place, for parameters laid out on this grid. On another grid with the same number of
  /// tokens their entries have a different meaning.
  [[nodiscard]] Scope over(const TokenGrid& grid) const;
  /// The place / index, for parameters of that block of the model's stack.
  [[nodiscard]] Scope block(std::int64_t index) const;

  /// A trainable leaf. By default decay follows timm's rule: none for one axis or a ".bias".
  Tensor param(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor param(std::string_view name, const Shape& shape, const Init& init, Decay decay) const;
  /// A tensor that is saved like a parameter but never trained (a fixed sin-cos table).
  Tensor fixed(std::string_view name, const Shape& shape, const Init& init) const;
  /// State that the forward pass updates (running statistics).
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init) const;
  Tensor buffer(std::string_view name, const Shape& shape, const Init& init, DType dtype) const;

 private:
  /// Creates a tensor and the store's record of it.
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
