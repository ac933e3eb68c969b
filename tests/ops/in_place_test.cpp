// Writing into tensors: what the tape sees, and memory that is written twice.
#include <doctest/doctest.h>

#include <vector>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/values.h"

using namespace fovea;
using doctest::Contains;

namespace {

Tensor leaf(std::initializer_list<double> values) {
  return from_values({static_cast<std::int64_t>(values.size())}, values).set_requires_grad();
}

Values gradient_of(const Tensor& w, const Tensor& loss) {
  backward(loss);
  return w.grad().to_vector();
}

}  // namespace

TEST_CASE("a copy from the tape into a buffer passes the gradient") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2});
  buffer.copy_(w * 2.0);
  CHECK(buffer.requires_grad());
  CHECK_FALSE(buffer.is_leaf());
  CHECK(gradient_of(w, ops::sum(buffer * buffer)) == Values{8, 24});  // d sum (2 w)^2
}

TEST_CASE("a copy of a leaf, of another dtype, or to more places passes the gradient") {
  const Tensor w = leaf({1, 3}), same = zeros({2}), rows = zeros({3, 2});
  const Tensor rounded = zeros({2}, {DType::bf16, {}});
  same.copy_(w);
  rounded.copy_(w * 2.0);
  rows.copy_(w);
  CHECK(gradient_of(w, ops::sum(same * 5.0)) == Values{5, 5});
  w.set_grad({});
  CHECK(gradient_of(w, ops::sum(rounded.to(DType::f32))) == Values{2, 2});
  w.set_grad({});
  CHECK(gradient_of(w, ops::sum(rows)) == Values{3, 3});
}

TEST_CASE("a buffer that is filled row by row passes the gradient of every row") {
  const Tensor w = leaf({1, 3}), buffer = ones({3, 2});
  for (int row = 0; row < 2; ++row) ops::select(buffer, 0, row).copy_(w * (row + 1.0));
  const Tensor scale = from_values({3, 2}, {1, 1, 10, 10, 100, 100});
  CHECK(ops::sum(buffer * scale).item() == 4 + 80 + 200);
  CHECK(gradient_of(w, ops::sum(buffer * scale)) == Values{21, 21});
}

TEST_CASE("what is written over passes no gradient") {
  const Tensor w = leaf({1, 3}), v = leaf({1, 1}), buffer = zeros({2});
  buffer.copy_(w);
  buffer.copy_(v * 3.0);
  CHECK(gradient_of(v, ops::sum(buffer)) == Values{3, 3});
  CHECK_FALSE(w.grad().defined());
  v.set_grad({});
  buffer.copy_(v);
  ops::slice(buffer, 0, 0, 1).fill_(7);
  CHECK(gradient_of(v, ops::sum(buffer)) == Values{0, 1});
  buffer.fill_(0);
  CHECK_FALSE(buffer.requires_grad());
}

TEST_CASE("views that were made before a write read what it left on the tape") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2, 2});
  const Tensor column = ops::select(buffer, 1, 1), turned = ops::transpose(buffer, 0, 1),
               repeated = ops::expand(ops::slice(buffer, 0, 0, 1), {3, 2});
  ops::select(buffer, 0, 0).copy_(w * 2.0);
  const Tensor apart = buffer.detach();
  CHECK_FALSE(apart.requires_grad());
  CHECK(gradient_of(w, ops::sum(column)) == Values{0, 2});
  w.set_grad({});
  CHECK_THROWS_WITH_AS(ops::select(buffer, 0, 0).copy_(w), Contains("fill_() it first"), Error);
  buffer.fill_(0);
  ops::select(buffer, 0, 0).copy_(w * 2.0);
  CHECK(gradient_of(w, ops::sum(turned) + ops::sum(repeated)) == Values{8, 8});
}

TEST_CASE("a buffer that is written whole is new in every step") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2});
  for (int step = 0; step < 3; ++step) {
    w.set_grad({});
    buffer.copy_(w * 2.0);
    CHECK(gradient_of(w, ops::sum(buffer)) == Values{2, 2});
  }
}

TEST_CASE("a node that a view gets late comes before the op that reads it") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2}), view = ops::slice(buffer, 0, 0, 2);
  buffer.copy_(w * 2.0);
  CHECK(gradient_of(w, ops::sum(w * view)) == Values{4, 12});  // d sum 2 w^2
}

TEST_CASE("constants and NoGrad leave a buffer off the tape") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2});
  buffer.copy_(from_values({2}, {1, 2}));
  CHECK_FALSE(buffer.requires_grad());
  const NoGrad no_grad;
  buffer.copy_(w * 2.0);
  CHECK_FALSE(buffer.requires_grad());
}

TEST_CASE("a view that was made under NoGrad takes no recorded values") {
  const Tensor w = leaf({1, 3}), buffer = zeros({2, 2});
  Tensor row;
  {
    const NoGrad no_grad;
    row = ops::select(buffer, 0, 0);
  }
  CHECK_THROWS_WITH_AS(row.copy_(w * 2.0), Contains("a view that was made under NoGrad"), Error);
  CHECK_THROWS_WITH_AS(ops::slice(row, 0, 0, 1).copy_(w * 2.0), Contains("under NoGrad"), Error);
  row.copy_(from_values({2}, {1, 2}));
  CHECK(buffer.at(1) == 2);
  buffer.copy_(w * 2.0);
  CHECK_THROWS_WITH_AS(row.fill_(0), Contains("under NoGrad"), Error);  // buffer passes a gradient
  const NoGrad no_grad;
  row.fill_(0);
}

TEST_CASE("a view that was made a leaf stays one when its tensor is written") {
  const Tensor buffer = zeros({4}), half = ops::slice(buffer, 0, 0, 2);
  half.set_requires_grad(true);
  ops::slice(buffer, 0, 2, 4).copy_(half * 2.0);
  CHECK(half.is_leaf());
  CHECK(gradient_of(half, ops::sum(buffer)) == Values{2, 2});
}

TEST_CASE("memory with positions that share an element is not written") {
  const Tensor once = zeros({1, 2}), rows = ops::expand(once, {3, 2});
  const char* const reason = "has positions that share an element, as after expand()";
  CHECK_THROWS_WITH_AS(rows.copy_(ones({3, 2})), Contains(reason), Error);
  CHECK_THROWS_WITH_AS(rows.fill_(1), Contains(reason), Error);
  CHECK_THROWS_WITH_AS(add_into(rows, ones({3, 2})), Contains(reason), Error);
  const Tensor line = zeros({5});
  CHECK_THROWS_WITH_AS(line.alias({3, 3}, {1, 1}).fill_(1), Contains(reason), Error);
  line.alias({2, 2}, {3, 1}).fill_(1);  // gaps are no overlap
  CHECK(line.to_vector() == Values{1, 1, 0, 1, 1});
  const Tensor apart = zeros({8});
  apart.alias({2, 3}, {3, 2}).fill_(1);  // nor are steps that interlock: 0 2 4, 3 5 7
  CHECK(ops::sum(apart).item() == 6);
}

TEST_CASE("a gradient that was set to an expanded tensor is not added to") {
  const Tensor w = leaf({1, 2, 3});
  w.set_grad(ops::expand(zeros({1}), {3}));
  CHECK_THROWS_WITH_AS(backward(ops::sum(w * from_values({3}, {1, 10, 100}))),
                       Contains("share an element"), Error);
}
