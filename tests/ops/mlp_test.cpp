// The perceptron in one pass against its two layers.
#include "ops/mlp.h"

#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/matmul.h"

using namespace fovea;

namespace {

struct MlpSizes {
  std::int64_t rows, in, hidden, out;
};

ops::MlpWeights weights_of(const MlpSizes& s) {
  return {rand_normal({s.hidden, s.in}, {0, 1}, {1}), rand_normal({s.hidden}, {0, 1}, {2}),
          rand_normal({s.out, s.hidden}, {0, 1}, {3}), rand_normal({s.out}, {0, 1}, {4})};
}

}  // namespace

TEST_CASE("the perceptron in one pass has the bits of its two layers") {
  // Rows and columns around tiles, k beyond one block, and hidden rows of a multiple of a page.
  for (const MlpSizes& s : {MlpSizes{1024, 3, 5, 2},
                            {1121, 17, 33, 16},
                            {1238, 70, 1030, 35},
                            {1037, 600, 1008, 48},
                            {1025, 40, 1024, 9},
                            {29, 17, 33, 16}}) {
    CAPTURE(s.rows);
    const ops::MlpWeights w = weights_of(s);
    const Tensor x = rand_normal({s.rows, s.in}, {0, 1}, {5}),
                 r = rand_normal({s.rows, s.out}, {0, 1}, {6});
    for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
      const Tensor hidden = ops::linear_gelu(x, w.fc1, w.bias1, form);
      CHECK(ops::mlp(x, w, r, form).to_vector() ==
            ops::linear(hidden, w.fc2, w.bias2, r).to_vector());
    }
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor in = x.to(dtype);
      const Tensor hidden = ops::linear_gelu(in, w.fc1, w.bias1);
      CHECK(ops::mlp(in, w).to_vector() == ops::linear(hidden, w.fc2, w.bias2).to_vector());
      CHECK(ops::mlp(in, w, r).to_vector() == ops::linear(hidden, w.fc2, w.bias2, r).to_vector());
    }
  }
}

TEST_CASE("the perceptron reads views, does without biases and counts no threads") {
  const ops::MlpWeights w = weights_of({0, 6, 20, 6});
  const Tensor x = rand_normal({6, 1200}, {0, 1}, {5}).alias({1200, 6}, {1, 1200});
  const Tensor r = rand_normal({6, 1200}, {0, 1}, {6}).alias({1200, 6}, {1, 1200});
  const std::vector<double> y = ops::mlp(x, w, r).to_vector();
  CHECK(y == ops::mlp(x.contiguous(), w, r.contiguous()).to_vector());
  const int before = num_threads();
  set_num_threads(3);
  CHECK(ops::mlp(x, w, r).to_vector() == y);
  set_num_threads(before);
  CHECK(ops::mlp(x, {w.fc1, {}, w.fc2, {}}).to_vector() ==
        ops::linear(ops::linear_gelu(x, w.fc1, {}), w.fc2).to_vector());
  CHECK(ops::mlp(zeros({0, 6}), w).shape() == Shape{0, 6});
}

TEST_CASE("in bf16 what reads the hidden rows has the gradient of the stored rows") {
  const ops::MlpWeights w = weights_of({0, 17, 70, 16});
  const Tensor x = rand_normal({29, 17}, {0, 1}, {5}).to(DType::bf16).set_requires_grad();
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    const Tensor hidden = ops::linear_gelu(x, w.fc1, w.bias1, form);
    const Tensor again = w.fc2.clone().set_requires_grad(), stored = w.fc2.clone();
    stored.set_requires_grad();
    const Tensor dy = rand_normal({29, 16}, {0, 1}, {6}).to(DType::bf16);
    backward(ops::linear(hidden, again), dy, Tape::kept);
    backward(ops::linear(hidden.clone(), stored), dy, Tape::kept);
    CHECK(again.grad().to_vector() == stored.grad().to_vector());
  }
}

TEST_CASE("in bf16 GELU is that of the rounded layer, whether a derivative needs it or not") {
  const ops::MlpWeights w = weights_of({0, 17, 70, 16});
  const Tensor x = rand_normal({29, 17}, {0, 1}, {5}).to(DType::bf16);
  const Tensor layer = ops::linear(x, w.fc1, w.bias1);
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    const std::vector<double> expected = ops::gelu(layer, form).to_vector();
    CHECK(ops::linear_gelu(x, w.fc1, w.bias1, form).to_vector() == expected);
    w.fc1.set_requires_grad();
    CHECK(ops::linear_gelu(x, w.fc1, w.bias1, form).to_vector() == expected);
    w.fc1.set_requires_grad(false);
  }
}

TEST_CASE("the perceptron keeps what its derivative needs, and refuses what does not fit") {
  const ops::MlpWeights w = weights_of({0, 6, 20, 4});
  const Tensor x = rand_normal({3, 6}, {0, 1}, {5});
  x.set_requires_grad();
  const Tensor y = ops::mlp(x, w);
  backward(y, ones(y.shape()));
  CHECK(x.grad().defined());
  const NoGrad no_grad;
  CHECK(ops::mlp(x, w).to_vector() == y.to_vector());
  CHECK_THROWS_WITH_AS((void)ops::mlp(x, {w.fc1, w.bias1, zeros({4, 19}), w.bias2}),
                       "mlp: got x [3, 20] and weight [4, 19], expected x [..., in] and weight "
                       "[out, in]",
                       Error);
  CHECK_THROWS_WITH_AS((void)ops::mlp(x, w, zeros({3, 5})),
                       "mlp: got residual [3, 5] of f32, expected [3, 4] of f32, or f32 with "
                       "bf16",
                       Error);
}
