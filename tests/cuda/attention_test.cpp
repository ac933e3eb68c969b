// Attention on the fake device beyond the sizes of cuda_attention.cpp: other shapes and strides,
// rows that see one key, central differences, and the kernels that a GPU's age selects.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "engine/autograd.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "ops/ops.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/units.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

Tensor drawn(const Shape& shape, std::uint64_t stream) {
  return rand_uniform(shape, {-1, 1}, {5, stream}, {DType::f64, {}});
}

/// Attention of q, k, v and, where there is a fourth, a bias.
Tensor attend(const Tensors& x) {
  return ops::attention(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor());
}

/// The value and the gradients of all inputs.
Tensors differentiate(const Op& op, const Tensors& inputs, TensorOptions options) {
  Tensors leaves, results;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.to(options.dtype).to(options.device).clone().set_requires_grad());
  }
  const Tensor y = op(leaves);
  results.push_back(y.detach().to(Device{}));
  backward(y, drawn(y.shape(), 9).to(options.dtype).to(options.device));
  for (const Tensor& leaf : leaves) results.push_back(leaf.grad().to(Device{}));
  return results;
}

Tensors drawn_all(const std::vector<Shape>& shapes) {
  Tensors inputs;
  for (const Shape& shape : shapes) inputs.push_back(drawn(shape, inputs.size()));
  return inputs;
}

/// In f32 and bf16, with nearest and with the worst rounding, within the op table's bounds of f64.
void check_units(const Op& op, const Tensors& exact_inputs) {
  for (const Bound& bound : {kBounds[1], kBounds[2]}) {
    Tensors inputs;
    for (const Tensor& x : exact_inputs) inputs.push_back(x.to(bound.dtype).to(DType::f64));
    const Tensors expected = differentiate(op, inputs, {DType::f64, {}});
    for (const bool worst : {false, true}) {
      use_worst_rounding(worst);
      const Tensors got = differentiate(op, inputs, {bound.dtype, kCuda});
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(std::string(to_string(bound.dtype)));
        CAPTURE(i);
        CAPTURE(worst);
        CHECK(worst_units(got[i], expected[i], bound.epsilon) <= bound.units);
      }
    }
  }
  use_worst_rounding(false);
  CHECK(take_findings().empty());
}

double norm(const Tensor& x) {
  double squares = 0;
  for (const double v : x.to_vector()) squares += v * v;
  return std::sqrt(squares);
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

TEST_CASE("attention on tensor cores: other numbers of keys than of queries, other widths of v") {
  check_units(attend, drawn_all({{1, 2, 1, 24}, {1, 2, 197, 24}, {1, 2, 197, 24}}));
  check_units(attend, drawn_all({{1, 1, 100, 32}, {1, 1, 850, 32}, {1, 1, 850, 32}}));
  check_units(attend, drawn_all({{2, 1, 33, 40}, {2, 1, 70, 40}, {2, 1, 70, 7}}));
  check_units(attend, drawn_all({{1, 1, 33, 5}, {1, 1, 70, 5}, {1, 1, 70, 97}}));
}

TEST_CASE("attention on tensor cores: a bias of an image, of a head, of a key, of all") {
  const std::vector<Shape> biases{
      {3, 2, 35, 41}, {3, 1, 35, 41}, {2, 35, 41}, {35, 41}, {3, 1, 1, 41}};
  for (const Shape& bias : biases) {
    CAPTURE(bias);
    check_units(attend, drawn_all({{3, 2, 35, 20}, {3, 2, 41, 20}, {3, 2, 41, 20}, bias}));
  }
}

TEST_CASE("attention on tensor cores: rows of every alignment and distance between columns") {
  const auto axes_exchanged = [](const Tensors& x) {
    return ops::attention(ops::permute(x[0], {0, 1, 3, 2}), ops::permute(x[1], {3, 2, 0, 1}),
                          ops::permute(x[2], {1, 0, 2, 3}));
  };
  check_units(axes_exchanged, drawn_all({{2, 3, 18, 37}, {41, 18, 3, 2}, {3, 2, 41, 18}}));
  const auto part_of_a_row = [](const Tensors& x) {  // of 13 columns the last 12
    const auto part = [](const Tensor& t) { return ops::slice(t, 3, 1, 13); };
    return ops::attention(part(x[0]), part(x[1]), part(x[2]));
  };
  check_units(part_of_a_row, drawn_all({{1, 2, 20, 13}, {1, 2, 20, 13}, {1, 2, 20, 13}}));
}

TEST_CASE("attention on tensor cores: scores far below zero, and keys behind the last one") {
  Tensors inputs = drawn_all({{1, 2, 9, 8}, {1, 2, 70, 8}, {1, 2, 70, 8}, {9, 70}});
  inputs[0].fill_(0);  // so that the scores are integers, which no rounding touches
  for (std::int64_t i = 0; i < inputs[3].numel(); ++i) {
    inputs[3].alias({}, {}, i).fill_(-9984 - 64 * static_cast<double>(i % 3));
  }
  check_units(attend, inputs);
}

TEST_CASE("where each query sees one key alone, a gradient reaches v alone") {
  for (const std::int64_t keys : {1, 70, 700}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(keys);
      CAPTURE(std::string(to_string(dtype)));
      Tensors inputs{drawn({1, 2, 83, 24}, 1), drawn({1, 2, keys, 24}, 2),
                     drawn({1, 2, keys, 37}, 3), full({83, keys}, -1e4, {DType::f64, {}})};
      for (std::int64_t i = 0; i < 83; ++i)
        inputs[3].alias({}, {}, i * keys + 7 * i % keys).fill_(0);
      const Tensors got = differentiate(attend, inputs, {dtype, kCuda});
      for (const std::size_t i : {1, 2, 4}) CHECK(norm(got[i]) <= 1e-6 * norm(got[3]));
    }
  }
}

/// With step h, a difference of f32 values near y errs by about 2^-23 |y| / h, and by h^2 / 6 times
/// the third derivative: for h = 2^-6 both are below 1e-4 of the derivative's expected size.
TEST_CASE("attention's gradients in f32 agree with central differences") {
  constexpr double kStep = 0x1p-6;
  const Tensors inputs = drawn_all({{1, 2, 40, 24}, {1, 2, 65, 24}, {1, 2, 65, 24}, {2, 40, 65}});
  Tensors directions;
  for (const Tensor& x : inputs) directions.push_back(drawn(x.shape(), 20 + directions.size()));
  const Tensors gradients = differentiate(attend, inputs, {DType::f32, kCuda});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto value_at = [&](double step) {
      Tensors moved;
      for (const Tensor& x : inputs) moved.push_back(x.to(DType::f32).to(kCuda));
      moved[i] = (inputs[i] + step * directions[i]).to(DType::f32).to(kCuda);
      const Tensor y = attend(moved).to(Device{});
      return dot(y, drawn(y.shape(), 9).to(DType::f32));
    };
    const double difference = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    const double size = norm(gradients[i + 1]) * norm(directions[i]) /
                        std::sqrt(static_cast<double>(inputs[i].numel()));
    CAPTURE(i);
    CHECK(std::abs(difference - dot(gradients[i + 1], directions[i])) <= 1e-3 * size);
  }
}

namespace {

/// Whether q and k of `x`, turned inside of the attention kernels, have the results that tensors
/// turned before have, bit by bit: values and all gradients.
void check_turned(DType dtype, const std::vector<Shape>& shapes, const ops::Rotation& rotation) {
  const ops::AttentionOptions turning{.rotation = rotation};
  const Op inside = [&](const Tensors& x) {
    return ops::attention(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor(), turning);
  };
  const Op before = [&](const Tensors& x) {
    ops::Rotation of_queries = rotation;  // the first of the tokens
    const std::int64_t queries = x[0].size(2) - rotation.prefix;
    if (rotation.places.defined()) {
      of_queries.places = ops::slice(rotation.places, 1, 0, queries);
    } else {
      of_queries.table = ops::slice(rotation.table, 2, 0, queries);
    }
    return ops::attention(ops::rotate(x[0], of_queries), ops::rotate(x[1], rotation), x[2],
                          x.size() > 3 ? x[3] : Tensor());
  };
  const Tensors inputs = drawn_all(shapes);
  const Tensors expected = differentiate(before, inputs, {dtype, kCuda});
  cuda::Stream::current(0).synchronize();
  emulate::Machine::instance().kernels.clear();
  const Tensors got = differentiate(inside, inputs, {dtype, kCuda});
  cuda::Stream::current(0).synchronize();
  for (const std::string& name : kernels_run()) CHECK(name.find("rotate") == std::string::npos);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].to_vector() == expected[i].to_vector());
  }
}

Tensor angles(std::int64_t groups, std::int64_t rows, std::int64_t pairs) {
  const Tensor t = drawn({groups, rows, pairs}, 31);
  return ops::stack({ops::cos(t), ops::sin(t)}, 0).to(kCuda);
}

}  // namespace

TEST_CASE("attention on tensor cores turns q and k where they lie in tiles, without a copy") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool halves : {false, true}) {
      CAPTURE(std::string(to_string(dtype)));
      CAPTURE(halves);
      for (const std::int64_t width : {4, 36, 64, 128}) {
        CAPTURE(width);
        const Shape rows{1, 2, 70, width};
        check_turned(dtype, {rows, rows, rows},
                     {.table = angles(2, 69, width / 2), .prefix = 1, .halves = halves});
      }
      const Tensor places = ops::reshape(arange(2 * 133, {DType::i64, kCuda}), {2, 133});
      check_turned(
          dtype, {{2, 3, 33, 16}, {2, 3, 138, 16}, {2, 3, 138, 40}, {33, 138}},
          {.table = angles(1, 2 * 133, 8), .prefix = 5, .places = places, .halves = halves});
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("TF32 is used for f32 where it is allowed, and is within its 10 bits") {
  const Tensors inputs = drawn_all({{1, 1, 40, 24}, {1, 1, 40, 24}, {1, 1, 40, 24}});
  const Tensors expected = differentiate(attend, inputs, {DType::f64, {}});
  ops::allow_tf32(true);
  const Tensors got = differentiate(attend, inputs, {DType::f32, kCuda});
  ops::allow_tf32(false);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double units = worst_units(got[i], expected[i], 0x1p-10);
    CHECK(units > 0x1p-10);
    CHECK(units < 4);
  }
}

TEST_CASE("tensor cores run what they can, and plain kernels the rest") {
  const auto ran = [](DType dtype, std::int64_t width, bool has_bias = false) {
    emulate::Machine::instance().kernels.clear();
    Tensors inputs = drawn_all({{1, 1, 3, width}, {1, 1, 3, width}, {1, 1, 3, width}});
    if (has_bias) inputs.push_back(drawn({1, 3, 3}, 4));
    differentiate(attend, inputs, {dtype, kCuda});
    cuda::Stream::current(0).synchronize();
    std::string names;
    for (const std::string& name : kernels_run()) names += name;
    return names.find("mma_dkv_kernel") != std::string::npos;
  };
  CHECK(ran(DType::f32, 128));
  CHECK(ran(DType::bf16, 1));
  CHECK_FALSE(ran(DType::f64, 16));
  CHECK_FALSE(ran(DType::f32, 129));
  CHECK(ran(DType::f32, 128, /*has_bias=*/true));
  emulate::Machine::instance().compute_capability = 89;  // with less shared memory
  CHECK(ran(DType::f32, 80));
  CHECK_FALSE(ran(DType::f32, 80, /*has_bias=*/true));
  CHECK_FALSE(ran(DType::f32, 96));
  CHECK(ran(DType::bf16, 128));
  emulate::Machine::instance().compute_capability = 75;
  CHECK_FALSE(ran(DType::f32, 16));
  CHECK_FALSE(ran(DType::bf16, 16));
  emulate::Machine::instance().compute_capability = 80;
  CHECK(take_findings().empty());
}
