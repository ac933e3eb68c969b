// What every model is: parameters with official names, and images in, logits out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/tensor.h"
#include "models/context.h"
#include "models/layers/token_grid.h"
#include "models/scope.h"

namespace fovea {

/// What the data pipeline and the reports need to know about a model.
struct ModelInfo {
  std::string name;  ///< registry name
  std::array<std::int64_t, 2> img_size{224, 224};
  std::int64_t in_chans = 3;
  std::int64_t num_classes = 1000;
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

struct ModelOutput {
  Tensor logits;       ///< [B, K]; in evaluation of a distilled model the mean of both heads
  Tensor logits_dist;  ///< [B, K] of the distillation head in training, else undefined
};

class Model {
 public:
  Model(ModelInfo info, std::uint64_t seed, TensorOptions options)
      : info_(std::move(info)), store_(seed, options) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// images [B, C, H, W] of the parameters' dtype or of ctx.activations.
  virtual ModelOutput forward(const Tensor& images, Context& ctx) = 0;
  /// Completes the parameters' gradients where values are computed once for all the batches of a
  /// step (OncePerStep). To be called after the last backward() of a step.
  virtual void finish_backward() {}
  [[nodiscard]] virtual TokenInfo tokens() const { return {}; }
  /// The modules in the order of a forward pass of one image of info().img_size, which is run for
  /// it (costs.cpp): normalisations, and every product with its multiply-adds.
  [[nodiscard]] std::vector<ModuleCost> costs();
  /// Of one image; a forward pass too.
  [[nodiscard]] std::int64_t multiply_adds();

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] Device device() const { return store_.options().device; }
  [[nodiscard]] ParameterStore& store() { return store_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }

 private:
  ModelInfo info_;
  ParameterStore store_;
};

}  // namespace fovea
