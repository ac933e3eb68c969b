// What every model is: parameters and buffers with official names, what it is for, and its costs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"
#include "models/context.h"
#include "models/layers/token_grid.h"
#include "models/scope.h"
#include "models/task_kind.h"

namespace fovea {

/// What the data pipeline and the reports need to know about a model.
struct ModelInfo {
  std::string name;  ///< registry name
  std::array<std::int64_t, 2> img_size{224, 224};
  std::int64_t in_chans = 3;
  std::int64_t num_classes = 1000;  ///< 0: it has no classes
  TaskKind task = TaskKind::classification;
  /// JSON object of every setting, "family" included: make_model_from_config() builds it again.
  std::string config;
};

/// What the blocks of a transformer work on, for an image of info().img_size.
struct TokenInfo {
  TokenGrid grid;           ///< that enters the first block, or the layers before it
  std::int64_t cell = 1;    ///< pixels of a token and side
  std::int64_t blocks = 0;  ///< 0: the model is no transformer
  std::int64_t heads = 0;   ///< of each block
  bool hides_some = false;  ///< blocks get a part of the grid, another one of each image
};

/// One module of a model, for reports: what comes out of it for one image, and its multiply-adds.
struct ModuleCost {
  std::string path;  ///< as in the parameters' names
  Shape output;      ///< without the batch axis
  std::int64_t multiply_adds = 0;
};

/// Each task has a class of models of its own, with the forward pass that it needs (Classifier,
/// Mae).
class Model {
 public:
  Model(ModelInfo info, std::uint64_t seed, TensorOptions options)
      : info_(std::move(info)), store_(seed, options) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// A forward pass for whoever asks what one costs, needs or shows to ctx.tap, whatever the model
  /// is for. images [B, C, H, W] are of the parameters' dtype or of ctx.activations; what else the
  /// pass takes (a mask, a time, a class) the model draws from ctx. Returns a tensor that depends
  /// on all that was computed; several outputs are concatenated.
  [[nodiscard]] virtual Tensor probe(const Tensor& images, Context& ctx) = 0;
  /// Completes the parameters' gradients where values are computed once for all the batches of a
  /// step (OncePerStep). To be called after the last backward() of a step.
  virtual void finish_backward() {}
  [[nodiscard]] virtual TokenInfo tokens() const { return {}; }
  /// The modules in the order of a probe() of one image of info().img_size, which is run for it
  /// (costs.cpp): normalisations, and every product with its multiply-adds.
  [[nodiscard]] std::vector<ModuleCost> costs();
  /// Of one image; runs a probe() too.
  [[nodiscard]] std::int64_t multiply_adds();

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] Device device() const { return store_.options().device; }
  [[nodiscard]] ParameterStore& store() { return store_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }

 protected:
  /// Where parameters are made: the top of the tree of names, and a place below it.
  [[nodiscard]] Scope top() { return Scope(store_); }
  [[nodiscard]] Scope at(std::string_view name, Role role = Role::other) {
    return top().as(role) / name;
  }

 private:
  ModelInfo info_;
  ParameterStore store_;
};

}  // namespace fovea
