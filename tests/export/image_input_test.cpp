// The preparation of images in a graph against `evaluate`'s, pixel by pixel.
#include "export/image_input.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/random.h"
#include "engine/rng.h"
#include "export/interpreter.h"
#include "tests/support/errors.h"

using namespace fovea;
using namespace fovea::onnx;

namespace {

/// A graph of the preparation alone.
ModelProto preparation_of(const EvaluationTransform& transform) {
  GraphWriter writer(20);
  const std::string pixels = prepare_images(writer, transform);
  writer.output({"pixels", ElementType::f32, {}}, pixels);
  ModelProto model;
  model.graph = std::move(writer).graph("preparation");
  return model;
}

/// Noise, black and white: what makes filters overshoot.
Image random_image(ImageSize size, std::uint64_t seed) {
  Image image(size.height, size.width);
  Rng rng(seed);
  for (std::uint8_t& value : image.pixels) {
    const std::int64_t draw = rng.below(512);
    value = static_cast<std::uint8_t>(draw < 256 ? draw : draw % 2 == 0 ? 0 : 255);
  }
  return image;
}

Tensor tensor_of(const Image& image) {
  return from_bytes({1, image.height, image.width, 3}, DType::u8,
                    std::as_bytes(std::span(image.pixels))
                        .first(static_cast<std::size_t>(image.height * image.width * 3)));
}

/// Of the graph's values, those that differ from evaluate's in a bit.
std::int64_t different_values(const ModelProto& graph, const EvaluationTransform& transform,
                              ImageSize size, std::uint64_t seed) {
  const Image image = random_image(size, seed);
  const Image prepared = prepare_for_evaluation(image, transform);
  const Tensor expected = empty({1, 3, prepared.height, prepared.width});
  normalize(prepared, transform.normalization, expected.data<float>());
  const Tensor got = run_model(graph, {{"image", tensor_of(image)}}).at(0);
  REQUIRE(got.shape() == expected.shape());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    count += got.data<float>()[i] != expected.data<float>()[i];
  }
  return count;
}

}  // namespace

TEST_CASE("every filter and crop gives the pixels of evaluate") {
  Rng rng(1);
  for (const Filter filter : {Filter::nearest, Filter::box, Filter::bilinear, Filter::hamming,
                              Filter::bicubic, Filter::lanczos}) {
    for (const CropMode mode : {CropMode::automatic, CropMode::center, CropMode::squash,
                                CropMode::border, CropMode::keep, CropMode::detr}) {
      CAPTURE(std::string(name_of(filter)));
      CAPTURE(std::string(name_of(mode)));
      const EvaluationTransform transform{{24, mode == CropMode::automatic ? 24 : 20},
                                          kImageNetNormalization,
                                          {.crop_pct = 0.9, .mode = mode, .filter = filter}};
      const ModelProto graph = preparation_of(transform);
      for (std::uint64_t i = 0; i < 12; ++i) {
        const ImageSize size{1 + rng.below(90), 1 + rng.below(70)};
        CAPTURE(size.height);
        CAPTURE(size.width);
        CHECK(different_values(graph, transform, size, i) == 0);
      }
    }
  }
}
