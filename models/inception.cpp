// The graph of Inception-v3 (Szegedy et al. 2015), with the paths of torchvision's modules.
#include "models/inception.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace inception {

using HeightWidth = std::array<std::int64_t, 2>;

constexpr double kNormEps = 1e-3;

/// Takes weights by name and gathers what is wrong with them.
class Weights {
 public:
  Weights(const TensorMap& tensors, TensorOptions options) : tensors_(tensors), options_(options) {}

  /// A tensor in f64; zeros if it is missing or of another shape.
  Tensor take(const std::string& name, const Shape& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      problems_.push_back(name + " is missing");
    } else if (!(found->second.shape() == shape)) {
      problems_.push_back(concat(name, " has shape ", found->second.shape(), ", expected ", shape));
    } else {
      return found->second.to(DType::f64);
    }
    return zeros(shape, {DType::f64, {}});
  }
  [[nodiscard]] Tensor placed(const Tensor& values) const {
    return values.to(options_.dtype).to(options_.device);
  }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  const TensorMap& tensors_;
  TensorOptions options_;
  std::vector<std::string> problems_;
};

/// A place in the tree of names.
struct Path {
  Weights& weights;
  std::string name;

  [[nodiscard]] Path operator/(const char* part) const {
    return {weights, name.empty() ? part : name + "." + part};
  }
};

struct Window {
  HeightWidth kernel{1, 1};
  std::int64_t stride = 1;
  HeightWidth padding{0, 0};
};
constexpr Window k3x3{{3, 3}, 1, {1, 1}}, k3x3Valid{{3, 3}}, k3x3Halving{{3, 3}, 2};
constexpr Window k5x5{{5, 5}, 1, {2, 2}}, k1x7{{1, 7}, 1, {0, 3}}, k7x1{{7, 1}, 1, {3, 0}};
constexpr Window k1x3{{1, 3}, 1, {0, 1}}, k3x1{{3, 1}, 1, {1, 0}};

/// Convolution without bias, batch norm with running statistics, and ReLU, as one convolution:
/// weight gamma / sqrt(var + eps), bias beta - mean gamma / sqrt(var + eps).
class Conv {
 public:
  Conv(const Path& at, std::int64_t in, std::int64_t out, const Window& window = {})
      : options_{{window.stride, window.stride}, window.padding} {
    const Tensor weight =
        at.weights.take((at / "conv.weight").name, {out, in, window.kernel[0], window.kernel[1]});
    const auto norm = [&](const char* name) { return at.weights.take((at / name).name, {out}); };
    const Tensor gamma = norm("bn.weight"), beta = norm("bn.bias");
    const Tensor mean = norm("bn.running_mean"), variance = norm("bn.running_var");
    const Tensor scale = gamma / ops::sqrt(variance + kNormEps);
    weight_ = at.weights.placed(weight * ops::reshape(scale, {out, 1, 1, 1}));
    bias_ = at.weights.placed(beta - mean * scale);
  }

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return ops::conv2d_relu(x, weight_, bias_, options_);
  }

 private:
  ops::Conv2dOptions options_;
  Tensor weight_, bias_;
};

/// 3 x 3 means of the pixels that exist: the first difference to torchvision, which counts zeros
/// beyond the edges.
Tensor mean_around(const Tensor& x) {
  return ops::avg_pool2d(
      x, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false});
}
Tensor max_around(const Tensor& x) {
  return ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}});
}
Tensor max_halving(const Tensor& x) {
  return ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}});
}

/// torchvision's InceptionA.
struct BlockA {
  Conv b1x1, b5x5_1, b5x5_2, b3x3dbl_1, b3x3dbl_2, b3x3dbl_3, pool;

  BlockA(const Path& at, std::int64_t in, std::int64_t pooled)
      : b1x1(at / "branch1x1", in, 64),
        b5x5_1(at / "branch5x5_1", in, 48),
        b5x5_2(at / "branch5x5_2", 48, 64, k5x5),
        b3x3dbl_1(at / "branch3x3dbl_1", in, 64),
        b3x3dbl_2(at / "branch3x3dbl_2", 64, 96, k3x3),
        b3x3dbl_3(at / "branch3x3dbl_3", 96, 96, k3x3),
        pool(at / "branch_pool", in, pooled) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return ops::cat(
        {b1x1(x), b5x5_2(b5x5_1(x)), b3x3dbl_3(b3x3dbl_2(b3x3dbl_1(x))), pool(mean_around(x))}, 1);
  }
};

/// InceptionB: halves the maps.
struct BlockB {
  Conv b3x3, b3x3dbl_1, b3x3dbl_2, b3x3dbl_3;

  BlockB(const Path& at, std::int64_t in)
      : b3x3(at / "branch3x3", in, 384, k3x3Halving),
        b3x3dbl_1(at / "branch3x3dbl_1", in, 64),
        b3x3dbl_2(at / "branch3x3dbl_2", 64, 96, k3x3),
        b3x3dbl_3(at / "branch3x3dbl_3", 96, 96, k3x3Halving) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return ops::cat({b3x3(x), b3x3dbl_3(b3x3dbl_2(b3x3dbl_1(x))), max_halving(x)}, 1);
  }
};

/// InceptionC, with 7 x 7 convolutions as pairs of lines.
struct BlockC {
  static constexpr std::int64_t kIn = 768;
  Conv b1x1, b7x7_1, b7x7_2, b7x7_3, b7x7dbl_1, b7x7dbl_2, b7x7dbl_3, b7x7dbl_4, b7x7dbl_5, pool;

  BlockC(const Path& at, std::int64_t c)
      : b1x1(at / "branch1x1", kIn, 192),
        b7x7_1(at / "branch7x7_1", kIn, c),
        b7x7_2(at / "branch7x7_2", c, c, k1x7),
        b7x7_3(at / "branch7x7_3", c, 192, k7x1),
        b7x7dbl_1(at / "branch7x7dbl_1", kIn, c),
        b7x7dbl_2(at / "branch7x7dbl_2", c, c, k7x1),
        b7x7dbl_3(at / "branch7x7dbl_3", c, c, k1x7),
        b7x7dbl_4(at / "branch7x7dbl_4", c, c, k7x1),
        b7x7dbl_5(at / "branch7x7dbl_5", c, 192, k1x7),
        pool(at / "branch_pool", kIn, 192) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    const Tensor twice = b7x7dbl_5(b7x7dbl_4(b7x7dbl_3(b7x7dbl_2(b7x7dbl_1(x)))));
    return ops::cat({b1x1(x), b7x7_3(b7x7_2(b7x7_1(x))), twice, pool(mean_around(x))}, 1);
  }
};

/// InceptionD: halves the maps.
struct BlockD {
  Conv b3x3_1, b3x3_2, b7x7x3_1, b7x7x3_2, b7x7x3_3, b7x7x3_4;

  BlockD(const Path& at, std::int64_t in)
      : b3x3_1(at / "branch3x3_1", in, 192),
        b3x3_2(at / "branch3x3_2", 192, 320, k3x3Halving),
        b7x7x3_1(at / "branch7x7x3_1", in, 192),
        b7x7x3_2(at / "branch7x7x3_2", 192, 192, k1x7),
        b7x7x3_3(at / "branch7x7x3_3", 192, 192, k7x1),
        b7x7x3_4(at / "branch7x7x3_4", 192, 192, k3x3Halving) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return ops::cat({b3x3_2(b3x3_1(x)), b7x7x3_4(b7x7x3_3(b7x7x3_2(b7x7x3_1(x)))), max_halving(x)},
                    1);
  }
};

/// InceptionE. In the last one the pool takes maxima, which no other Inception does.
struct BlockE {
  bool takes_maxima;
  Conv b1x1, b3x3_1, b3x3_2a, b3x3_2b, b3x3dbl_1, b3x3dbl_2, b3x3dbl_3a, b3x3dbl_3b, pool;

  BlockE(const Path& at, std::int64_t in, bool maxima)
      : takes_maxima(maxima),
        b1x1(at / "branch1x1", in, 320),
        b3x3_1(at / "branch3x3_1", in, 384),
        b3x3_2a(at / "branch3x3_2a", 384, 384, k1x3),
        b3x3_2b(at / "branch3x3_2b", 384, 384, k3x1),
        b3x3dbl_1(at / "branch3x3dbl_1", in, 448),
        b3x3dbl_2(at / "branch3x3dbl_2", 448, 384, k3x3),
        b3x3dbl_3a(at / "branch3x3dbl_3a", 384, 384, k1x3),
        b3x3dbl_3b(at / "branch3x3dbl_3b", 384, 384, k3x1),
        pool(at / "branch_pool", in, 192) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    const Tensor once = b3x3_1(x), twice = b3x3dbl_2(b3x3dbl_1(x));
    return ops::cat({b1x1(x), b3x3_2a(once), b3x3_2b(once), b3x3dbl_3a(twice), b3x3dbl_3b(twice),
                     pool(takes_maxima ? max_around(x) : mean_around(x))},
                    1);
  }
};

/// All layers, in order.
struct Network {
  Conv conv1a, conv2a, conv2b, conv3b, conv4a;
  BlockA mixed5b, mixed5c, mixed5d;
  BlockB mixed6a;
  BlockC mixed6b, mixed6c, mixed6d, mixed6e;
  BlockD mixed7a;
  BlockE mixed7b, mixed7c;
  Tensor classes;  ///< [1008, 2048]
  DType dtype;
  Device device;

  Network(const Path& top, TensorOptions options)
      : conv1a(top / "Conv2d_1a_3x3", 3, 32, k3x3Halving),
        conv2a(top / "Conv2d_2a_3x3", 32, 32, k3x3Valid),
        conv2b(top / "Conv2d_2b_3x3", 32, 64, k3x3),
        conv3b(top / "Conv2d_3b_1x1", 64, 80),
        conv4a(top / "Conv2d_4a_3x3", 80, 192, k3x3Valid),
        mixed5b(top / "Mixed_5b", 192, 32),
        mixed5c(top / "Mixed_5c", 256, 64),
        mixed5d(top / "Mixed_5d", 288, 64),
        mixed6a(top / "Mixed_6a", 288),
        mixed6b(top / "Mixed_6b", 128),
        mixed6c(top / "Mixed_6c", 160),
        mixed6d(top / "Mixed_6d", 160),
        mixed6e(top / "Mixed_6e", 192),
        mixed7a(top / "Mixed_7a", 768),
        mixed7b(top / "Mixed_7b", 1280, /*maxima=*/false),
        mixed7c(top / "Mixed_7c", 2048, /*maxima=*/true),
        classes(top.weights.placed(top.weights.take("fc.weight", {1008, Inception::kFeatures}))),
        dtype(options.dtype),
        device(options.device) {}

  [[nodiscard]] InceptionOutput run(const Tensor& images) const {
    constexpr std::int64_t kSpatialChannels = 7;
    Tensor x = max_halving(conv2b(conv2a(conv1a(images))));
    x = mixed5d(mixed5c(mixed5b(max_halving(conv4a(conv3b(x))))));
    x = mixed6c(mixed6b(mixed6a(x)));
    const Tensor spatial = ops::slice(mixed6d.b1x1(x), 1, 0, kSpatialChannels);
    x = mixed7c(mixed7b(mixed7a(mixed6e(mixed6d(x)))));
    const Tensor features = ops::mean(x, {2, 3});
    return {features, ops::reshape(spatial, {spatial.size(0), -1}),
            ops::matmul(features, classes, {.b = true})};
  }
};

}  // namespace inception

Inception::Inception(const TensorMap& weights, const std::string& where, TensorOptions options) {
  const NoGrad no_grad;
  inception::Weights taken(weights, options);
  network_ = std::make_unique<const inception::Network>(inception::Path{taken, ""}, options);
  if (taken.problems().empty()) return;
  fail(where, ": is not the Inception network of pytorch-fid (pt_inception-2015-12-05): ",
       first_few(taken.problems(), 5));
}

Inception::~Inception() = default;
Inception::Inception(Inception&& other) noexcept = default;

InceptionOutput Inception::operator()(const Tensor& images) const {
  constexpr std::int64_t kSmallest = 75;  // leaves one pixel after five halvings
  const bool ok = images.rank() == 4 && images.size(1) == 3 && images.size(2) >= kSmallest &&
                  images.size(3) >= kSmallest;
  check(ok, "Inception: got images ", images.shape(), ", expected [B, 3, H, W] with sides from ",
        kSmallest);
  const NoGrad no_grad;
  return network_->run(images.to(network_->device).to(network_->dtype));
}

Inception read_inception(const std::filesystem::path& path, TensorOptions options) {
  return {read_weights(path).tensors, path.string(), options};
}

}  // namespace fovea
