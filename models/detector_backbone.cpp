// The backbones: the residual network, and vision transformers made by the registry.
#include "models/detector_backbone.h"

#include <nlohmann/json.hpp>

#include "models/classifier.h"
#include "models/layers/tokens.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/view.h"

namespace fovea {
namespace {

using nlohmann::json;

class ResNetBackbone : public DetectorBackbone {
 public:
  ResNetBackbone(const Scope& s, const ResNetConfig& c) : config_(c), body_(s, c) {}

  [[nodiscard]] FeatureMap operator()(const Tensor& images, const Tensor& mask,
                                      Context& ctx) override {
    return {body_(images, ctx), mask};
  }
  [[nodiscard]] std::int64_t channels() const override { return config_.channels(); }
  [[nodiscard]] std::array<std::int64_t, 2> map_size(
      std::array<std::int64_t, 2> image) const override {
    return config_.map_size(image);
  }

 private:
  ResNetConfig config_;
  ResNet body_;
};

/// The patch tokens of a classifier as a map. Images are padded to whole patches, or to the size of
/// a model that takes one size only.
class TokenBackbone : public DetectorBackbone {
 public:
  TokenBackbone(const Scope& s, std::unique_ptr<Classifier> model) : model_(std::move(model)) {
    s.adopt(model_->store());
    channels_ = model_->patch_channels();
  }

  [[nodiscard]] FeatureMap operator()(const Tensor& images, const Tensor& mask,
                                      Context& ctx) override {
    const std::array<std::int64_t, 2> size = padded({images.size(2), images.size(3)});
    const bool pads = size[0] != images.size(2) || size[1] != images.size(3);
    const Tensor real =
        mask.defined() || !pads
            ? mask
            : ones({images.size(0), images.size(2), images.size(3)}, {DType::f32, images.device()});
    const bool any_size = std::exchange(ctx.any_size, model_->takes_any_size());
    const PatchTokens tokens = model_->patch_tokens(pad_to(images, size), ctx);
    ctx.any_size = any_size;
    const auto [h, w] = tokens.grid;
    check(tokens.grid == map_size(size), "backbone ", model_->info().name, ": got a map of ", h,
          "x", w, " tokens, expected one token per patch; use peg_padding zero");
    return {tokens_to_map(tokens.values, h, w), real.defined() ? pad_to(real, size) : real};
  }
  [[nodiscard]] std::int64_t channels() const override { return channels_; }
  [[nodiscard]] std::array<std::int64_t, 2> map_size(
      std::array<std::int64_t, 2> image) const override {
    const std::int64_t cell = model_->tokens().cell;
    const auto [height, width] = padded(image);
    return {height / cell, width / cell};
  }
  [[nodiscard]] Model* model() const override { return model_.get(); }
  void finish_backward() override { model_->finish_backward(); }

 private:
  /// The size that the model sees.
  [[nodiscard]] std::array<std::int64_t, 2> padded(std::array<std::int64_t, 2> image) const {
    const ModelInfo& info = model_->info();
    if (model_->takes_any_size()) {
      const std::int64_t cell = model_->tokens().cell;
      for (std::int64_t& side : image) side = (side + cell - 1) / cell * cell;
      return image;
    }
    check(image[0] <= info.img_size[0] && image[1] <= info.img_size[1], "backbone ", info.name,
          ": got images of ", image[0], "x", image[1], ", expected at most ", info.img_size[0], "x",
          info.img_size[1], ", the only size of its family; set --img-size");
    return info.img_size;
  }
  /// Zeros below and on the right of the last two axes.
  static Tensor pad_to(const Tensor& x, std::array<std::int64_t, 2> size) {
    const std::array<std::int64_t, 4> amounts{0, size[1] - x.size(-1), 0, size[0] - x.size(-2)};
    return amounts[1] == 0 && amounts[3] == 0 ? x : ops::pad(x, amounts);
  }

  std::unique_ptr<Classifier> model_;
  std::int64_t channels_ = 0;
};

/// The settings of a vision transformer for a detector's images.
json token_settings(const DetectorConfig& c) {
  json config = preset(c.backbone);
  config.update(c.backbone_args);
  const std::string family = config["family"];
  check(task_of_family(family) == TaskKind::classification,
        "detector config: backbone: ", c.backbone, " is ", noun_of(*task_of_family(family)),
        ", expected a ViT, CPVT or PerViT");
  config["num_classes"] = 0;
  config["in_chans"] = c.resnet.in_chans;
  if (!c.backbone_args.contains("img_size")) {
    const std::int64_t patch = config.value("patch_size", std::int64_t{1});
    std::array<std::int64_t, 2> image = c.img_size;
    for (std::int64_t& side : image) side = (side + patch - 1) / patch * patch;
    config["img_size"] = image;
  }
  return config;
}

}  // namespace

std::unique_ptr<DetectorBackbone> make_backbone(const Scope& s, const DetectorConfig& c) {
  if (c.backbone == kResNet) return std::make_unique<ResNetBackbone>(s, c.resnet);
  const json config = token_settings(c);
  ParameterStore& store = s.store();
  auto model = model_as<Classifier>(
      make_model_from_config(config, store.seed(), store.options(), c.backbone));
  return std::make_unique<TokenBackbone>(s, std::move(model));
}

}  // namespace fovea
