// Views and copies by value: what shares storage, what is moved where, and errors.
#include "ops/view.h"

#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "tests/support/errors.h"
#include "tests/support/values.h"

using namespace fovea;
using tests::check_error;

namespace {

using Integers = std::vector<std::int64_t>;

Tensor counting(const Shape& shape) {
  return arange(shape.numel()).to(DType::f32).alias(shape, contiguous_strides(shape));
}

bool shares(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

}  // namespace

TEST_CASE("reshape shares the storage wherever strides allow") {
  const Tensor x = counting({2, 3, 5});
  CHECK(shares(ops::reshape(x, {6, 5}), x));
  CHECK(shares(ops::reshape(x, {-1}), x));
  const Tensor cut = ops::slice(x, 0, 1, 2);  // [1, 3, 5] inside
  CHECK(shares(ops::reshape(cut, {15}), x));
  CHECK(ops::reshape(cut, {15}).at(0) == 15);
  const Tensor turned = ops::permute(x, {2, 0, 1});  // [5, 2, 3] with strides 1, 15, 5
  CHECK(shares(ops::reshape(turned, {5, 1, 6}), x));
  CHECK(ops::reshape(turned, {5, 1, 6}).to_vector() == turned.to_vector());
  CHECK(shares(ops::reshape(turned, {5, 2, 3, 1}), x));
  CHECK_FALSE(shares(ops::reshape(turned, {10, 3}), x));
  CHECK(ops::reshape(turned, {10, 3}).to_vector() == turned.to_vector());
  const Tensor columns = ops::slice(counting({4, 6}), 1, 0, 4);  // rows with gaps
  CHECK(ops::reshape(columns, {2, 2, 2, 2}).to_vector() == columns.to_vector());
  CHECK(shares(ops::reshape(columns, {2, 2, 2, 2}), columns));
  CHECK_FALSE(shares(ops::reshape(columns, {16}), columns));
  CHECK(ops::reshape(columns, {16}).to_vector() == columns.to_vector());
  const Tensor repeated = ops::expand(counting({1, 3}), {4, 3});
  CHECK(ops::reshape(repeated, {12}).to_vector() == repeated.to_vector());
  CHECK(shares(ops::reshape(repeated, {2, 2, 3}), repeated));
}

TEST_CASE("views share the storage") {
  const Tensor x = counting({2, 3, 5});
  CHECK(shares(ops::permute(x, {1, 0, 2}), x));
  CHECK(shares(ops::transpose(x, 0, 1), x));
  CHECK(shares(ops::slice(x, 2, 1, 3), x));
  CHECK(shares(ops::select(x, 1, 0), x));
  CHECK(shares(ops::expand(ops::select(x, 0, 0), {7, 3, 5}), x));
  CHECK(shares(ops::unsqueeze(x, 0), x));
  CHECK(shares(ops::squeeze(ops::unsqueeze(x, 0), 0), x));
  CHECK(shares(ops::split(x, Integers{1, 1}, 0)[1], x));
}

TEST_CASE("parts are the right ones") {
  const Tensor x = counting({2, 5});
  CHECK(ops::slice(x, 1, {1, 5, 2}).to_vector() == Values{1, 3, 6, 8});
  CHECK(ops::slice(x, 1, -2, 100).to_vector() == Values{3, 4, 8, 9});
  CHECK(ops::slice(x, 1, -100, 1).to_vector() == Values{0, 5});
  CHECK(ops::slice(x, 1, 3, 1).shape() == Shape{2, 0});
  CHECK(ops::select(x, 0, -1).to_vector() == Values{5, 6, 7, 8, 9});
  CHECK(ops::transpose(x, 0, 1).to_vector() == Values{0, 5, 1, 6, 2, 7, 3, 8, 4, 9});
  CHECK(ops::unsqueeze(x, -1).shape() == Shape{2, 5, 1});
  CHECK(ops::expand(ops::slice(x, 0, 0, 1), {2, -1}).to_vector() ==
        Values{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
}

TEST_CASE("copies put elements in their places") {
  const Tensor x = counting({2, 3});
  CHECK(ops::cat({x, x}, 1).to_vector() == Values{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(ops::stack({x, x}, 2).to_vector() == Values{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(ops::roll(x, 1, 1).to_vector() == Values{2, 0, 1, 5, 3, 4});
  CHECK(ops::roll(x, -4, 1).to_vector() == Values{1, 2, 0, 4, 5, 3});
  CHECK(ops::flip(x, 1).to_vector() == Values{2, 1, 0, 5, 4, 3});
  CHECK(ops::pad(x, Integers{1, 0, 0, 1}, 9).to_vector() ==
        Values{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  CHECK(ops::pad(x, Integers{-1, 0}).to_vector() == Values{1, 2, 4, 5});
  CHECK(ops::pad(x, Integers{-2, 1}, 7).to_vector() == Values{2, 7, 5, 7});
  CHECK(ops::pad(x, Integers{-4, 2}, 7).to_vector() == Values{7, 7});
}

TEST_CASE("integers move too") {
  const Tensor x = arange(6);
  CHECK(ops::flip(ops::reshape(x, {2, 3}), 0).to_vector() == Values{3, 4, 5, 0, 1, 2});
  CHECK(ops::cat({x, x}, 0).dtype() == DType::i64);
}

TEST_CASE("a write through a view is seen by the tape") {
  const Tensor x = counting({2, 3}).clone().set_requires_grad();
  const Tensor y = ops::permute(x, {1, 0});
  backward(y, ops::transpose(counting({2, 3}), 0, 1));
  CHECK(x.grad().to_vector() == Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("view errors name op and shapes") {
  const Tensor x = zeros({2, 3});
  const Tensor integers = zeros({2, 3}, {DType::i64, {}});
  check_error(
      [&] {
        (void)ops::reshape(x, {4, 2});
      },
      "reshape: [2, 3] has 6 elements, which do not fill [4, 2]");
  check_error([&] { (void)ops::reshape(x, {-1, -1}); }, "expected at most one size of -1");
  check_error([&] { (void)ops::reshape(x, {-1, 4}); }, "reshape: [2, 3] has 6 elements");
  check_error([&] { (void)ops::reshape(x, {-2, 3}); }, "expected sizes of 0 or more");
  check_error(
      [&] {
        (void)ops::reshape(x, {-1, std::int64_t{1} << 62, 4});
      },
      "has more elements than 64 bits can count");
  check_error([&] { (void)ops::reshape(x, {-1, 0}); }, "which do not fill [-1, 0]");
  check_error([&] { (void)ops::reshape(zeros({0, 3}), {0, -1}); }, "the -1 of [0, -1] may be any");
  CHECK(ops::reshape(zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
  check_error([&] { (void)ops::permute(x, {0}); }, "permute: got 1 axes for shape [2, 3]");
  check_error([&] { (void)ops::permute(x, {0, 0}); }, "permute: axis 0 appears twice");
  check_error([&] { (void)ops::transpose(x, 0, 2); }, "transpose: axis 2 is out of range");
  check_error([&] { (void)ops::slice(x, 0, {0, 1, 0}); }, "slice: got step 0");
  check_error([&] { (void)ops::select(x, 1, 3); }, "select: index 3 is out of range for axis 1");
  check_error([&] { (void)ops::expand(x, {2, 4}); }, "expand: [2, 3] does not expand to [2, 4]");
  check_error([&] { (void)ops::expand(x, {3}); }, "expand: [2, 3] has more axes");
  check_error([&] { (void)ops::expand(x, {-1, 2, 3}); }, "expand");
  check_error([&] { (void)ops::squeeze(x, 0); }, "squeeze: axis 0 of [2, 3] has size 2");
  check_error([&] { (void)ops::cat({}, 0); }, "cat: got no tensors");
  check_error([&] { (void)ops::cat({x, zeros({2, 4})}, 0); }, "cat: got shapes [2, 3] and [2, 4]");
  check_error([&] { (void)ops::cat({x, integers}, 0); }, "cat: got f32 on cpu and i64 on cpu");
  check_error([&] { (void)ops::stack({x, zeros({3, 2})}, 0); }, "stack: got [2, 3]");
  check_error([&] { (void)ops::split(x, Integers{1, 2}, 0); }, "split: sizes sum to 3, axis 0");
  check_error([&] { (void)ops::split(x, Integers{-1, 3}, 0); }, "split: got size -1");
  check_error([&] { (void)ops::pad(x, Integers{1}); }, "pad: got 1 amounts");
  check_error(
      [&] {
        (void)ops::pad(x, Integers{-2, -2});
      },
      "pad: -2 before and -2 after leave size -1");
  check_error([&] { (void)ops::roll(x, 1, 5); }, "roll: axis 5 is out of range");
}
