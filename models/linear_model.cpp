// Forward pass of the linear baseline.
#include "models/linear_model.h"

#include <nlohmann/json.hpp>

#include "models/layer_config.h"
#include "ops/view.h"

namespace fovea {

void visit(ConfigFields& v, LinearModelConfig& c) {
  visit_img_size(v, c.img_size);
  v("in_chans", &c.in_chans, {1, 65536});
  v("num_classes", &c.num_classes);
}

LinearModelConfig read_linear_config(const nlohmann::json& config) {
  return read_config<LinearModelConfig>("linear config", config);
}

LinearModel::LinearModel(ModelInfo info, const LinearModelConfig& c, std::uint64_t seed,
                         TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      pixels_(c.in_chans * c.img_size[0] * c.img_size[1]),
      head_(at("head", Role::head).over({c.img_size}), pixels_, c.num_classes) {}

ClassifierOutput LinearModel::forward(const Tensor& images, Context& ctx) {
  const auto [height, width] = config_.img_size;
  check(images.rank() == 4 && images.size(1) == config_.in_chans && images.size(2) == height &&
            images.size(3) == width,
        "LinearModel: got images ", images.shape(), ", expected [B, ", config_.in_chans, ", ",
        height, ", ", width, "]");
  const Tensor x = ops::reshape(images, {images.size(0), pixels_});  // [B, C H W]
  return {head_(x.to(ctx.activations)), {}};                         // [B, K]
}

}  // namespace fovea
