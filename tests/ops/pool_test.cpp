// Pooling by value: padding rules, ties, NaN; error messages.
#include "ops/pool.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "tests/support/values.h"

using namespace fovea;

TEST_CASE("average pooling counts padding, or does not") {
  const Tensor x = from_values({1, 1, 2, 2}, {1, 2, 3, 4});
  const ops::Pool2dOptions padded{.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}};
  CHECK(ops::avg_pool2d(x, padded).to_vector() == Values{0.25, 0.5, 0.75, 1});
  ops::Pool2dOptions inside = padded;
  inside.count_include_pad = false;
  CHECK(ops::avg_pool2d(x, inside).to_vector() == Values{1, 2, 3, 4});
}

TEST_CASE("padding never wins a maximum, and the first of equals has the gradient") {
  const Tensor x = from_values({1, 1, 2, 2}, {-1, -1, -1, -1});
  x.set_requires_grad();
  const Tensor y = ops::max_pool2d(x, {.kernel = {2, 2}, .stride = {1, 1}, .padding = {1, 1}});
  CHECK(y.to_vector() == Values(9, -1));
  backward(y, ones(y.shape()));
  CHECK(x.grad().to_vector() == Values{4, 2, 2, 1});
}

TEST_CASE("NaN wins a maximum") {
  const Tensor x = from_values({1, 1, 2, 2}, {1, NAN, 3, 4});
  CHECK(std::isnan(ops::max_pool2d(x, {}).at(0)));
}

TEST_CASE("pooling refuses what does not fit, by name") {
  const Tensor x = zeros({1, 1, 4, 4});
  CHECK_THROWS_WITH_AS((void)ops::avg_pool2d(x, {.kernel = {3, 3}, .padding = {2, 0}}),
                       "avg_pool2d: got padding 2, expected 0 to half the kernel of 3", Error);
  CHECK_THROWS_WITH_AS((void)ops::max_pool2d(x, {.kernel = {5, 5}}),
                       "max_pool2d: kernel 5 is larger than the padded input, 4", Error);
  CHECK_THROWS_AS((void)ops::max_pool2d(x, {.kernel = {0, 1}}), Error);
  CHECK_THROWS_AS((void)ops::max_pool2d(x, {.stride = {0, 1}}), Error);
  CHECK_THROWS_AS((void)ops::avg_pool2d(zeros({4, 4}), {}), Error);
  CHECK_THROWS_AS((void)ops::avg_pool2d(zeros({1, 1, 4, 4}, {DType::i64, {}}), {}), Error);
}
