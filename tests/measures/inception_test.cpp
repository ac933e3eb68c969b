// Inception-v3 with weights that a formula gives, against pytorch-fid's network in f64
// (tests/interop/inception.py writes the values).
#include "models/inception.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/error.h"
#include "engine/formats/safetensors.h"
#include "engine/rng.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Numbers in [-1, 1) from the position and the name's letters.
Tensor hashed(const std::string& name, const Shape& shape) {
  std::uint64_t letters = 0;
  for (const char c : name) letters += static_cast<unsigned char>(c);
  Tensor values = empty(shape, {DType::f64, {}});
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::uint64_t z = split_mix(static_cast<std::uint64_t>(i) + (letters << 32));
    values.data<double>()[i] = static_cast<double>(z >> 40) * 0x1p-23 - 1;
  }
  return values;
}

Tensor value_of(const std::string& name, const Shape& shape) {
  const Tensor unit = hashed(name, shape);
  double scale = 0.1, offset = 0;
  if (name.ends_with("running_var")) {
    scale = 0.25, offset = 0.75;
  } else if (name.ends_with("bn.weight")) {
    offset = 1;
  } else if (shape.rank() > 1) {
    scale = std::sqrt(6 / (static_cast<double>(shape.numel()) / static_cast<double>(shape[0])));
  }
  for (std::int64_t i = 0; i < unit.numel(); ++i) {
    unit.data<double>()[i] = unit.data<double>()[i] * scale + offset;
  }
  return unit;
}

const SafetensorsFile& expected() {
  static const SafetensorsFile file =
      read_safetensors(std::string(FOVEA_TESTS) + "/measures/inception.safetensors");
  return file;
}

TensorMap all_weights() {
  const std::string prefix = "shape/";
  TensorMap weights;
  for (const auto& [name, shape] : expected().tensors) {
    if (!name.starts_with(prefix)) continue;
    std::vector<std::int64_t> sizes;
    for (const double size : shape.to_vector()) sizes.push_back(static_cast<std::int64_t>(size));
    weights[name.substr(prefix.size())] = value_of(name.substr(prefix.size()), Shape(sizes));
  }
  return weights;
}

double relative_error(const Tensor& ours, const Tensor& theirs) {
  REQUIRE(ours.shape() == theirs.shape());
  const std::vector<double> a = ours.to_vector(), b = theirs.to_vector();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("Inception equals pytorch-fid's network: features, sFID's channels, logits") {
  const Inception net(all_weights(), "weights");
  const InceptionOutput out = net(hashed("images", {2, 3, 107, 139}));
  CHECK(relative_error(out.features, expected().tensors.at("features")) < 1e-5);
  CHECK(relative_error(out.spatial, expected().tensors.at("spatial")) < 1e-5);
  CHECK(relative_error(out.logits, expected().tensors.at("logits")) < 1e-5);
}

TEST_CASE("Inception lists what a weights file lacks") {
  TensorMap weights = all_weights();
  weights.erase("Mixed_5b.branch_pool.bn.bias");
  weights["fc.weight"] = zeros({1000, 2048});
  CHECK_THROWS_WITH_AS(
      Inception(weights, "w.pth"),
      "w.pth: is not the Inception network of pytorch-fid (pt_inception-2015-12-05): "
      "Mixed_5b.branch_pool.bn.bias is missing, fc.weight has shape [1000, 2048], expected [1008, "
      "2048]",
      Error);
}

TEST_CASE("Inception refuses images that it would halve to nothing") {
  const Inception net(all_weights(), "weights");
  CHECK_THROWS_AS((void)net(zeros({1, 3, 74, 299})), Error);
  CHECK_THROWS_AS((void)net(zeros({1, 1, 299, 299})), Error);
}

}  // namespace fovea
