// Gradients that a GPU sums in the pass that makes them, in place or at the end of the walk: they
// are the CPU's, under several orders of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/ops.h"
#include "tests/cuda/seeds.h"

using namespace fovea;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

/// Makes the leaves of a program, the same ones for each batch.
class Leaves {
 public:
  explicit Leaves(Device device) : device_(device) {}

  Tensor operator()(const Shape& shape) {
    if (next_ == all_.size()) {
      const Tensor values = rand_normal(shape, {0, 0.5}, {all_.size()});
      all_.push_back(values.to(device_).set_requires_grad());
    }
    return all_[next_++];
  }
  void start_again() { next_ = 0; }
  [[nodiscard]] const std::vector<Tensor>& all() const { return all_; }

 private:
  Device device_;
  std::vector<Tensor> all_;
  std::size_t next_ = 0;
};
using Program = std::function<Tensor(Leaves&)>;

/// The leaves' gradients after two batches, each divided by its norm.
std::vector<double> gradients_of(const Program& program, Device device) {
  std::vector<double> all;
  Leaves leaves(device);
  for (std::uint64_t batch = 0; batch < 2; ++batch) {
    leaves.start_again();
    const Tensor y = program(leaves);
    const Tensor dy = rand_normal(y.shape(), {0, 1}, {99, batch}).to(y.dtype()).to(device);
    backward(y, dy);
  }
  for (const Tensor& leaf : leaves.all()) {
    const std::vector<double> values = leaf.grad().to(Device{}).to_vector();
    double squares = 0;
    for (const double value : values) squares += value * value;
    for (const double value : values) all.push_back(value / std::sqrt(squares));
  }
  return all;
}

void check_as_on_cpu(const Program& program, double tolerance) {
  const std::vector<double> cpu = gradients_of(program, Device{});
  std::vector<double> first;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    tests::use_seed(seed);
    const std::vector<double> cuda = gradients_of(program, kCuda);
    REQUIRE(cuda.size() == cpu.size());
    double apart = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      apart = std::max(apart, std::abs(cuda[i] - cpu[i]));
    }
    CHECK(apart <= tolerance);
    if (first.empty()) first = cuda;
    CHECK(cuda == first);
  }
  CHECK(tests::take_findings().empty());
}

}  // namespace

TEST_CASE("attention's passes also sum the gradient of the qkv layer's bias") {
  struct Size {
    std::int64_t images, tokens, width;
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Size& size :
         {Size{2, 3, 48}, {2, 17, 64}, {2, 64, 13}, {2, 65, 13}, {2, 65, 64}, {1, 150, 48}}) {
      const std::int64_t tokens = size.tokens, width = size.width;
      for (const bool turns : {false, true}) {
        if (turns && width % 4 != 0) continue;
        CAPTURE(std::string(to_string(dtype)));
        CAPTURE(tokens);
        CAPTURE(width);
        CAPTURE(turns);
        const Tensor t = rand_normal({1, tokens - 1, width / 2}, {0, 1}, {7});
        const Tensor table = ops::stack({ops::cos(t), ops::sin(t)}, 0);
        check_as_on_cpu(
            [&](Leaves& leaf) {
              const Tensor x = leaf({size.images, tokens, 8}).to(dtype);
              const Tensor qkv = ops::linear(x, leaf({6 * width, 8}), leaf({6 * width}));
              if (!turns) return ops::self_attention(qkv, 2);
              const ops::Rotation rotation{.table = table.to(x.device()), .prefix = 1};
              return ops::self_attention(qkv, 2, {}, {.rotation = rotation});
            },
            dtype == DType::f32 ? 1e-5 : 2e-2);
      }
    }
  }
}

TEST_CASE("the gradients of slices add up in place, of leaves and of results") {
  check_as_on_cpu(
      [](Leaves& leaf) {
        const Tensor x = leaf({3, 7, 10}), w = leaf({6, 10});
        const Tensor h = x * 2.0;
        const Tensor parts[] = {ops::slice(h, 1, 0, 2), ops::slice(h, 1, {1, 7, 2}),
                                ops::slice(h, 1, 0, 7), ops::unsqueeze(ops::select(h, 1, 4), 1),
                                ops::slice(h, 1, 1, 2) * 3.0};
        Tensor sum = ops::sum(h * h, {1}, true);
        for (const Tensor& part : parts) sum = sum + ops::sum(part * part, {1}, true);
        const Tensor first = ops::linear(sum, ops::slice(w, 0, 0, 2), {});
        const Tensor others = ops::linear(sum, ops::slice(w, 0, 2, 6), {});
        return ops::cat({first, others, ops::linear(sum, ops::slice(w, 0, 1, 3), {})}, 2);
      },
      1e-5);
}

TEST_CASE("the gradients of leaves that were repeated along leading axes are summed late") {
  for (const std::int64_t batch : {1, 5, 2100}) {
    CAPTURE(batch);
    check_as_on_cpu(
        [&](Leaves& leaf) {
          const Tensor x = leaf({batch, 3, 4}), positions = leaf({1, 3, 4}), bias = leaf({4});
          const Tensor token = ops::expand(leaf({1, 1, 4}), {batch, 1, 4});
          const Tensor column = leaf({3, 1});  // repeated along the last axis too
          const Tensor y = (x + positions) * (bias + 1.0) + column;
          return ops::cat({token, y * y}, 1);
        },
        1e-5);
  }
}

TEST_CASE("rows that are evenly spaced in memory are multiplied where they lie") {
  check_as_on_cpu(
      [](Leaves& leaf) {
        const Tensor x = leaf({4, 5, 2, 8}) * 2.0;
        const Tensor w = leaf({6, 8}), b = leaf({6});
        const Tensor firsts = ops::linear(ops::slice(x, 1, 0, 1), w, b);   // [4, 1, 2, 6]
        const Tensor even = ops::linear(ops::slice(x, 2, 1, 2), w, b);     // [4, 5, 1, 6]
        const Tensor uneven = ops::linear(ops::slice(x, 1, 1, 4), w, b);   // [4, 3, 2, 6]
        const Tensor across = ops::linear(ops::transpose(x, 0, 1), w, b);  // [5, 4, 2, 6]
        return ops::cat({ops::reshape(firsts, {-1}), ops::reshape(even, {-1}),
                         ops::reshape(uneven, {-1}), ops::reshape(across, {-1})},
                        0);
      },
      1e-5);
}
