// Reading by index: values, order of additions, errors.
#include "ops/index.h"

#include <doctest/doctest.h>

#include <cstring>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/errors.h"
#include "tests/support/values.h"

using namespace fovea;
using tests::check_error;

namespace {

Tensor ids(const Shape& shape, const Values& values) {
  return from_values(shape, values, {DType::i64, {}});
}

}  // namespace

TEST_CASE("reads the elements that the index names") {
  const Tensor x = from_values({2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(ops::gather(x, 1, ids({2, 2}, {2, 0, 1, 1})).to_vector() == Values{2, 0, 4, 4});
  CHECK(ops::gather(x, 0, ids({3, 2}, {1, 0, 0, 1, 1, 1})).to_vector() == Values{3, 1, 0, 4, 3, 4});
  CHECK(ops::index_select(x, -1, ids({2}, {2, 1})).to_vector() == Values{2, 1, 5, 4});
  CHECK(ops::embedding(x, ids({2, 1}, {1, 0})).shape() == Shape{2, 1, 3});
  CHECK(ops::embedding(x, ids({2, 1}, {1, 0})).to_vector() == Values{3, 4, 5, 0, 1, 2});
  CHECK(ops::index_select(arange(5), 0, ids({2}, {4, 2})).to_vector() == Values{4, 2});
}

TEST_CASE("one_hot") {
  const Tensor y = ops::one_hot(ids({2}, {2, 0}), 3, DType::bf16);
  CHECK(y.dtype() == DType::bf16);
  CHECK(y.to_vector() == Values{0, 0, 1, 1, 0, 0});
  CHECK(ops::one_hot(ids({0}, {}), 3).shape() == Shape{0, 3});
}

TEST_CASE("gradients of repeated rows add in f32 and in the same order for any thread count") {
  Values rows(4096);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * i % 3);
  const Tensor index = ids({4096}, rows);
  const Tensor dy = rand_normal({4096, 200}, {0, 1}, {8});
  std::vector<Tensor> grads;
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const Tensor w = zeros({3, 200}).set_requires_grad();
    backward(ops::embedding(w, index), dy);
    grads.push_back(w.grad());
  }
  set_num_threads(before);
  CHECK(std::memcmp(grads[0].raw(), grads[1].raw(), 3 * 200 * 4) == 0);

  const Tensor w = zeros({3, 1}, {DType::bf16, {}}).set_requires_grad();
  backward(ops::embedding(w, index), ones({4096, 1}));
  CHECK(w.grad().at(0) == 1368);  // 1366 rounded to bf16, once: squares are 0 or 1 modulo 3
  CHECK(w.grad().at(1) == 2736);  // 2730
}

TEST_CASE("index errors name op, value and range") {
  const Tensor x = zeros({2, 3});
  check_error(
      [&] {
        (void)ops::gather(x, 1, ids({2, 1}, {0, 3}));
      },
      "gather: index 3 at position 1 is out of range, expected 0 to 2");
  check_error([&] { (void)ops::gather(x, 1, ids({1}, {0})); },
              "gather: got index [1] for x [2, 3]");
  check_error([&] { (void)ops::gather(x, 1, ids({3, 1}, {0, 0, 0})); }, "gather: index [3, 1]");
  check_error([&] { (void)ops::gather(x, 1, zeros({2, 1})); }, "gather: got an index of dtype f32");
  check_error([&] { (void)ops::index_select(x, 0, ids({1}, {-1})); }, "index_select: index -1");
  check_error([&] { (void)ops::index_select(x, 0, ids({1, 1}, {0})); }, "index_select: got index");
  check_error([&] { (void)ops::embedding(x, ids({1}, {2})); }, "embedding: index 2 at position 0");
  check_error([&] { (void)ops::embedding(zeros({2}), ids({1}, {0})); },
              "embedding: got weight [2]");
  check_error([&] { (void)ops::one_hot(ids({1}, {3}), 3); }, "one_hot: index 3");
  check_error([&] { (void)ops::one_hot(ids({1}, {0}), 0); }, "one_hot: got 0 classes");
}
