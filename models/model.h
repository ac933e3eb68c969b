// The base class of all models: parameters and buffers under the names of the official
// implementations, the task, and costs.
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

class ConfigFields;  // models/config_fields.h: the settings of a family

/// Description of a model for the data pipeline and the reports.
struct ModelInfo {
  std::string name;  ///< registry name
  std::array<std::int64_t, 2> img_size{224, 224};
  std::int64_t in_chans = 3;
  std::int64_t num_classes = 1000;  ///< 0: the model has no classes
  TaskKind task = TaskKind::classification;
  /// JSON object of all settings, including "family"; make_model_from_config() rebuilds the model.
  std::string config;
};

/// Tokens in the blocks of a transformer, for an image of info().img_size.
struct TokenInfo {
  TokenGrid grid;           ///< grid at the input of the first layer
  std::int64_t cell = 1;    ///< width and height of a token in pixels
  std::int64_t blocks = 0;  ///< 0: the model is not a transformer
  std::int64_t heads = 0;   ///< attention heads of each block
  bool hides_some = false;  ///< blocks see only a subset of the grid, different for each image
  bool softmax = true;      ///< false: attention has no single map per head (differential)
};

/// One module of a model for reports: its output for one image, and its multiply-adds.
struct ModuleCost {
  std::string path;  ///< path as in the parameters' names
  Shape output;      ///< shape without the batch axis
  std::int64_t multiply_adds = 0;
};

/// Each task derives its own interface from Model, with the forward pass that it needs (Classifier,
/// Mae).
class Model {
 public:
  Model(ModelInfo info, std::uint64_t seed, TensorOptions options)
      : info_(std::move(info)), store_(seed, options) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// A task-independent forward pass for measuring costs and for tapping values through ctx.tap.
  /// images [B, C, H, W] have the parameters' dtype or ctx.activations; the model draws further
  /// inputs (a mask, a time, a class) from ctx. Returns one tensor that depends on all computed
  /// values; several outputs are concatenated.
  [[nodiscard]] virtual Tensor probe(const Tensor& images, Context& ctx) = 0;
  /// Completes the gradients of values computed once per step for all batches (OncePerStep). Call
  /// it after the last backward() of a step.
  virtual void finish_backward() {}
  /// Forgets such values, after a step that failed before finish_backward().
  virtual void abandon_step() {}
  [[nodiscard]] virtual TokenInfo tokens() const { return {}; }
  /// Runs a probe() of one image of info().img_size and lists the modules in the order in which
  /// they run: normalisations, and all matrix multiplications with their multiply-adds (costs.cpp).
  [[nodiscard]] std::vector<ModuleCost> costs();
  /// Multiply-adds for one image; runs a probe() too.
  [[nodiscard]] std::int64_t multiply_adds();

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] Device device() const { return store_.options().device; }
  [[nodiscard]] ParameterStore& store() { return store_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }

 protected:
  /// The root of the tree of names; parameters are created under it.
  [[nodiscard]] Scope top() { return Scope(store_); }
  [[nodiscard]] Scope at(std::string_view name, Role role = Role::other) {
    return top().as(role) / name;
  }

 private:
  ModelInfo info_;
  ParameterStore store_;
};

}  // namespace fovea
