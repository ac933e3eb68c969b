// Preprocessing of pictures, and a forward pass that yields features.
#include "report/measures/feature_space.h"

#include <algorithm>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "ops/resize.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr ImageSize kInceptionSize{Inception::kImageSize, Inception::kImageSize};

Tensor on_cpu(const Tensor& values) {
  return values.defined() ? values.to(Device{}).to(DType::f32).contiguous() : values;
}

class ClassifierSpace : public FeatureSpace {
 public:
  ClassifierSpace(Classifier& model, const EvaluationTransform& preparation, SpaceInfo info)
      : FeatureSpace(std::move(info)), model_(model), preparation_(preparation) {}

  [[nodiscard]] Pipeline pipeline() const override { return evaluation_pipeline(preparation_); }

  [[nodiscard]] Output operator()(const Tensor& images) override {
    const NoGrad no_grad;
    Context ctx;
    std::vector<Tensor> pooled;
    ctx.tap = [&](std::string_view name, const Tensor& value) {
      if (name == "pooled") pooled.push_back(value);
    };
    const Tensor logits = model_.forward(images.to(model_.device()), ctx).logits;
    check(!pooled.empty() && pooled.front().rank() == 2, model_.info().name,
          " has no pooled features [B, D] before its head, expected a classifier that pools");
    return {on_cpu(ops::cat(pooled, 1)), {}, on_cpu(logits)};
  }

 private:
  Classifier& model_;
  EvaluationTransform preparation_;
};

class InceptionSpace : public FeatureSpace {
 public:
  InceptionSpace(Inception network, FidProtocol protocol, SpaceInfo info)
      : FeatureSpace(std::move(info)), network_(std::move(network)), protocol_(protocol) {}

  [[nodiscard]] Pipeline pipeline() const override {
    Pipeline pipeline;
    pipeline.normalization = {{0, 0, 0}, {1, 1, 1}};  // inception_input() normalises
    pipeline.steps.push_back([protocol = protocol_](Sample sample, Rng&) {
      sample.image = inception_input(sample.image, protocol);
      return sample;
    });
    return pipeline;
  }

  [[nodiscard]] Output operator()(const Tensor& images) override {
    const InceptionOutput out = network_(images);
    return {on_cpu(out.features), on_cpu(out.spatial), on_cpu(out.logits)};
  }

 private:
  Inception network_;
  FidProtocol protocol_;
};

/// The picture's values in f32, unscaled.
Image in_f32(const Image& picture) {
  Image values(picture.height, picture.width, {PixelType::f32, Image::kChannels});
  std::copy(picture.pixels.begin(), picture.pixels.end(), values.values<float>(0, 0));
  return values;
}

std::span<float> values_of(Image& image) {
  return {image.values<float>(0, 0), image.pixels.size() / sizeof(float)};
}

Image bilinear_input(const Image& picture) {
  const NoGrad no_grad;
  Tensor planes = empty({1, Image::kChannels, picture.height, picture.width});
  planar_values(picture, planes.data<float>());
  const Tensor resized = ops::resize(planes, {kInceptionSize.height, kInceptionSize.width},
                                     {.mode = ops::ResizeMode::bilinear});
  Image input(kInceptionSize.height, kInceptionSize.width, {PixelType::f32, Image::kChannels});
  const float* const from = resized.data<float>();
  const std::int64_t area = kInceptionSize.height * kInceptionSize.width;
  float* to = input.values<float>(0, 0);
  for (std::int64_t i = 0; i < area; ++i) {
    for (std::int64_t c = 0; c < Image::kChannels; ++c) *to++ = 2 * (from[c * area + i] / 255) - 1;
  }
  return input;
}

Image bicubic_input(const Image& picture) {
  Image input = resized(in_f32(picture), kInceptionSize, Filter::bicubic);
  for (float& value : values_of(input)) value = (std::clamp(value, 0.0F, 255.0F) - 128) / 128;
  return input;
}

}  // namespace

Image inception_input(const Image& picture, FidProtocol protocol) {
  require_rgb8(picture, "Inception");
  return protocol == FidProtocol::pytorch_fid ? bilinear_input(picture) : bicubic_input(picture);
}

std::unique_ptr<FeatureSpace> classifier_space(Classifier& model,
                                               const EvaluationTransform& preparation,
                                               const std::string& name,
                                               const std::filesystem::path& weights) {
  SpaceInfo info;
  info.distance = "FD(" + name + ")";
  info.network = model.info().name;
  info.weights = weights.string();
  info.protocol = concat("pooled features at ", to_string(preparation.size));
  info.predicts_classes = true;
  return std::make_unique<ClassifierSpace>(model, preparation, std::move(info));
}

std::unique_ptr<FeatureSpace> inception_space(const std::filesystem::path& weights,
                                              FidProtocol protocol, Device device) {
  SpaceInfo info;
  info.distance = "FID";
  info.spatial_distance = "sFID";
  info.network = "Inception-v3";
  info.weights = weights.string();
  info.protocol = name_of(protocol);
  return std::make_unique<InceptionSpace>(read_inception(weights, {DType::f32, device}), protocol,
                                          std::move(info));
}

}  // namespace fovea
