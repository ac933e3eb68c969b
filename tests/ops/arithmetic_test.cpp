// Elementwise ops by value: kinks, poles, NaN, dtypes, strides, threads and errors. Derivatives
// away from kinks are the gradient table's business.
#include "ops/arithmetic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/activation.h"
#include "ops/elementwise/map.h"
#include "tests/support/errors.h"
#include "tests/support/special_values.h"
#include "tests/support/values.h"

using namespace fovea;
using tests::check_error;

namespace {

Tensor vector_of(const Values& values, DType dtype = DType::f64) {
  return from_values({static_cast<std::int64_t>(values.size())}, values, {dtype, {}});
}

/// Equal, with NaN equal to NaN.
void check_values(const Tensor& x, const Values& expected) {
  const Values got = x.to_vector();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(got[i]));
    } else {
      CHECK(got[i] == expected[i]);
    }
  }
}

/// d <1, f(x)> / dx.
Tensor gradient(const std::function<Tensor(const Tensor&)>& f, const Values& values) {
  const Tensor x = vector_of(values).set_requires_grad();
  const Tensor y = f(x);
  backward(y, ones(y.shape(), y.options()));
  return x.grad();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.numel()) * size_of(a.dtype())) ==
         0;
}

}  // namespace

TEST_CASE("derivatives on kinks are the documented ones") {
  check_values(gradient(ops::abs, {-2, 0, 3}), {-1, 0, 1});
  check_values(gradient([](const Tensor& x) { return ops::relu(x); }, {-2, 0, 3}), {0, 0, 1});
  check_values(
      gradient([](const Tensor& x) { return ops::clamp(x, -1, 1); }, {-1.5, -1, 0, 1, 1.5, kNan}),
      {0, 1, 1, 1, 0, 0});
}

TEST_CASE("equal operands of maximum and minimum share the gradient") {
  for (const auto f : {ops::maximum, ops::minimum}) {
    const Tensor a = vector_of({1, 2, 3}).set_requires_grad();
    const Tensor b = vector_of({3, 2, 1}).set_requires_grad();
    backward(f(a, b), vector_of({1, 1, 1}));
    const bool largest = f == static_cast<Tensor (*)(const Tensor&, const Tensor&)>(ops::maximum);
    check_values(a.grad(), largest ? Values{0, 0.5, 1} : Values{1, 0.5, 0});
    check_values(b.grad(), largest ? Values{1, 0.5, 0} : Values{0, 0.5, 1});
  }
}

TEST_CASE("a tensor is divided by a number, not multiplied by its reciprocal") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    std::int64_t wrong = 0;
    for (int s = 3; s <= 255; ++s) wrong += (full({1}, 13.0 * s, {dtype, {}}) / s).item() != 13;
    CHECK(wrong == 0);
  }
  CHECK((full({1}, 169) / 13.0).item() == 13);
  CHECK(std::isfinite((full({1}, 1e-10) / 1e-39).item()));
  const Tensor x = full({1}, 1.0).set_requires_grad();
  backward(x / 41.0, full({1}, 41.0));
  CHECK(x.grad().item() == 1);
}

TEST_CASE("poles give what PyTorch gives") {
  check_values(ops::sqrt(vector_of({0, -1, kInf})), {0, kNan, kInf});
  check_values(gradient(ops::sqrt, {0, 4}), {kInf, 0.25});
  check_values(ops::rsqrt(vector_of({0, 4, kInf})), {kInf, 0.5, 0});
  check_values(gradient(ops::rsqrt, {0, 4}), {-kInf, -0.0625});
  check_values(ops::log(vector_of({0, 1, -1})), {-kInf, 0, kNan});
  check_values(gradient(ops::log, {0, 2}), {kInf, 0.5});
  const auto power = [](double e) { return [e](const Tensor& x) { return ops::pow(x, e); }; };
  check_values(power(0.5)(vector_of({0, 4, -1})), {0, 2, kNan});
  check_values(gradient(power(0.5), {0, 4}), {kInf, 0.25});
  check_values(gradient(power(2), {0, -3}), {0, -6});
  check_values(gradient(power(0), {0, -3}), {0, 0});
  check_values(gradient(power(1), {0, -3}), {1, 1});
  check_values(vector_of({1, 0, -1}) / vector_of({0, 0, 0}), {kInf, kNan, -kInf});
}

TEST_CASE("NaN stays NaN") {
  check_values(ops::clamp(vector_of({kNan, -5, 5}), -1, 1), {kNan, -1, 1});
  check_values(ops::maximum(vector_of({kNan, 1, 2}), vector_of({1, kNan, 3})), {kNan, kNan, 3});
  check_values(ops::minimum(vector_of({kNan, 1, 2}), vector_of({1, kNan, 3})), {kNan, kNan, 2});
  check_values(ops::relu(vector_of({kNan, -1, 2})), {kNan, 0, 2});
  CHECK(std::isnan(gradient(ops::abs, {kNan}).item()));
}

TEST_CASE("a mask hides NaN, forward and backward") {
  const Tensor mask = vector_of({1, 0, 1}, DType::u8);
  const Tensor a = vector_of({1, kNan, 3}).set_requires_grad();
  const Tensor b = vector_of({kNan, 5, kNan}).set_requires_grad();
  const Tensor y = ops::where(mask, a, b);
  check_values(y, {1, 5, 3});
  backward(y, vector_of({7, 8, 9}));
  check_values(a.grad(), {7, 0, 9});
  check_values(b.grad(), {0, 8, 0});
  check_values(ops::masked_fill(a, mask, -kInf), {-kInf, kNan, -kInf});
}

TEST_CASE("comparisons take any dtypes and give u8") {
  const Tensor big = from_values({2}, {0, 0}, {DType::i64, {}});
  big.data<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;  // not a double
  big.data<std::int64_t>()[1] = std::int64_t{1} << 53;
  const Tensor reference = from_values({}, {0x1p53}, {DType::i64, {}});
  CHECK(ops::equal(big, reference).dtype() == DType::u8);
  check_values(ops::equal(big, reference), {0, 1});
  check_values(ops::greater(big, reference), {1, 0});
  check_values(ops::less(vector_of({1, 2}, DType::u8), vector_of({1.5, 1.5}, DType::bf16)), {1, 0});
  check_values(ops::less(vector_of({3}, DType::i64), vector_of({3.5}, DType::f32)), {1});
  check_values(ops::equal(vector_of({kNan}), vector_of({kNan})), {0});
}

TEST_CASE("float dtypes meet in the wider one and gradients come back in their own") {
  const Tensor a = vector_of({1, 2}, DType::bf16).set_requires_grad();
  const Tensor b = vector_of({0.5, 0x1p-20}, DType::f32).set_requires_grad();
  const Tensor y = a * b;
  CHECK(y.dtype() == DType::f32);
  backward(y, ones({2}));
  CHECK(a.grad().dtype() == DType::bf16);
  CHECK(b.grad().dtype() == DType::f32);
  check_values(b.grad(), {1, 2});
  CHECK((b + vector_of({1, 1})).dtype() == DType::f64);
}

TEST_CASE("bf16 is computed in f32 and rounded once") {
  const Tensor x = vector_of({1.0078125}, DType::bf16);
  check_values(ops::pow(x, 2), {static_cast<double>(bf16(1.0078125f * 1.0078125f))});
}

TEST_CASE("every layout gives the bits of the contiguous one") {
  const Tensor a = rand_normal({13, 7, 29}, {0, 1}, {1}), b = rand_normal({29, 1, 13}, {0, 1}, {2});
  const Tensor turned = b.alias({13, 7, 29}, {1, 0, 13});
  CHECK(same_bits(a * turned, a * turned.clone()));
  const Tensor backwards = a.alias({13, 7, 29}, {7 * 29, -29, 1}, 6 * 29);
  CHECK(
      same_bits(backwards - b.alias({13, 1, 29}, {1, 1, 13}), backwards.clone() - turned.clone()));
  const Tensor halves = turned.to(DType::bf16);
  CHECK(same_bits(a.to(DType::bf16) + halves, a.to(DType::bf16) + halves.clone()));
}

TEST_CASE("threads do not change bits") {
  const Tensor a = rand_normal({317, 1009}, {0, 1}, {1}), b = rand_normal({1009}, {0, 1}, {2});
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = ops::gelu(a * b);
  set_num_threads(3);
  const Tensor three = ops::gelu(a * b);
  set_num_threads(before);
  CHECK(same_bits(one, three));
}

TEST_CASE("float loops agree with double") {
  const Tensor x = rand_uniform({100003}, {-12, 12}, {3});
  const Tensor wide = x.to(DType::f64);
  using Op = Tensor (*)(const Tensor&);
  const Op all[] = {ops::exp,  ops::sin,  ops::cos,      ops::relu,      ops::sigmoid,
                    ops::tanh, ops::silu, ops::softplus, ops::logsigmoid};
  for (const Op op : all) {
    const Values got = op(x).to_vector(), expected = op(wide).to_vector();
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::abs(got[i] - expected[i]) / std::abs(expected[i]));
    }
    CHECK(worst < 3e-7);
  }
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    const Tensor error = ops::gelu(x, form).to(DType::f64) - ops::gelu(wide, form);
    for (const double e : error.to_vector()) CHECK(std::abs(e) < 2e-6);
  }
}

TEST_CASE("a map may write over its input") {
  const Tensor x = rand_normal({2, 1000}, {0, 1}, {4});
  const Tensor expected = ops::exp(x);
  ops::detail::map_into(x, ops::detail::Exp{}, x);
  CHECK(same_bits(x, expected));
  const Tensor shifted = rand_normal({1001}, {0, 1}, {5});
  const Tensor sums = shifted.alias({1000}, {1}) + shifted.alias({1000}, {1}, 1);
  ops::detail::map_into(shifted.alias({1000}, {1}, 1), ops::detail::Add{},
                        shifted.alias({1000}, {1}), shifted.alias({1000}, {1}, 1));
  CHECK(same_bits(shifted.alias({1000}, {1}, 1), sums));
}

TEST_CASE("a sum without a tape takes the memory of an operand that nobody else holds") {
  const Tensor x = rand_normal({3, 5}, {0, 1}, {1}), y = rand_normal({3, 5}, {0, 1}, {2});
  const Tensor expected = ops::add(x, y);
  Tensor own = y.clone();
  const void* const memory = own.raw();
  const Tensor sum = x + std::move(own);
  CHECK(sum.raw() == memory);
  CHECK(same_bits(sum, expected));

  Tensor shared = y.clone();
  const Tensor other = shared.alias({5}, {1});
  CHECK(same_bits(x + std::move(shared), expected));
  CHECK(other.at(0) == y.at(0));
  const Tensor leaf = x.clone().set_requires_grad();
  CHECK(same_bits(leaf + y.clone(), expected));
  CHECK(same_bits(y + leaf.clone(), expected));
}

TEST_CASE("relu without a tape takes the memory of an operand that nobody else holds") {
  const Tensor x = rand_normal({3, 5}, {0, 1}, {1});
  const Tensor expected = ops::relu(x);
  Tensor own = x.clone();
  const void* const memory = own.raw();
  const Tensor y = ops::relu(std::move(own));
  CHECK(y.raw() == memory);
  CHECK(same_bits(y, expected));

  Tensor shared = x.clone();
  const Tensor other = shared.alias({5}, {1});
  CHECK(same_bits(ops::relu(std::move(shared)), expected));
  CHECK(other.to_vector() == x.alias({5}, {1}).to_vector());
  Tensor leaf = x.clone().set_requires_grad();
  CHECK(ops::relu(std::move(leaf)).requires_grad());
}

TEST_CASE("arithmetic errors name op, shapes and dtypes") {
  const Tensor a = zeros({2, 3}), b = zeros({4, 3}), i = zeros({3}, {DType::i64, {}});
  check_error([&] { (void)(a + b); }, "add: shapes [2, 3] and [4, 3] do not broadcast");
  check_error([&] { (void)(a * i); }, "mul: got dtype i64");
  check_error([&] { (void)ops::exp(i); }, "exp: got dtype i64");
  check_error([&] { (void)ops::where(a, a, a); }, "where: got a mask of dtype f32, expected u8");
  check_error([&] { (void)ops::clamp(a, 1, 0); }, "clamp: got bounds 1 and 0");
  check_error([&] { (void)ops::clamp(a, kNan, 0); }, "clamp");
  check_error([&] { (void)ops::less(a, b); }, "less: shapes");
}
