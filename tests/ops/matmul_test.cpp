// Products against the definition: shapes around the tiles' edges, strides, batches, endings,
// dtypes, thread counts; the cache of compute_copy; error messages.
#include "ops/matmul.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"
#include "ops/view.h"

using namespace fovea;
using ops::GemmActivation;
using ops::GemmBias;
using ops::GemmCall;
using ops::GemmOperand;

namespace {

double value(DType dtype, const void* data, std::int64_t i) {
  return dispatch_float(dtype, [&](auto tag) {
    return static_cast<double>(static_cast<const decltype(tag)*>(data)[i]);
  });
}

/// Element (i, j) of batch entry `entry` by the definition, in f64, before GELU.
double expected(const GemmCall& c, const Tensor& before, std::int64_t entry, std::int64_t i,
                std::int64_t j) {
  double sum = 0;
  const std::int64_t a = ops::gemm_batch_offset(c, c.a.batch, entry) + i * c.a.row;
  const std::int64_t b = ops::gemm_batch_offset(c, c.b.batch, entry) + j * c.b.col;
  for (std::int64_t k = 0; k < c.k; ++k) {
    sum +=
        value(c.a.dtype, c.a.data, a + k * c.a.col) * value(c.b.dtype, c.b.data, b + k * c.b.row);
  }
  sum *= c.alpha;
  if (c.addend != nullptr) {
    sum += before.at(ops::gemm_batch_offset(c, c.c.batch, entry) + i * c.c.row + j);
  }
  const DType bias = c.c.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (c.bias_kind == GemmBias::per_column) sum += value(bias, c.bias, j);
  if (c.bias_kind == GemmBias::per_row) sum += value(bias, c.bias, i);
  return sum;
}

/// The larger error; NaN is the largest.
double larger(double worst, double error) {
  return error <= worst ? worst : error == error ? error : 1e9;
}

/// What a product is made of; tensors are filled from the sizes and strides.
struct Trial {
  std::int64_t m, n, k;
  std::int64_t batch = 1;
  bool a_transposed = false, b_transposed = false, spread = false, b_repeats = false;
  std::int64_t beside = 0;  // elements between two lines of A and of B
  DType a = DType::f32, b = DType::f32, c = DType::f32;
  double alpha = 1;
  bool accumulate = false, out_of_place = false;
  GemmBias bias = GemmBias::none;
  GemmActivation activation = GemmActivation::none;

  [[nodiscard]] double activated(double x) const {
    if (activation == GemmActivation::none) return x;
    const double u = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return 0.5 * x *
           (1 + (activation == GemmActivation::gelu ? std::erf(x / std::sqrt(2.0)) : std::tanh(u)));
  }
};

/// A matrix of the batch, possibly transposed and with gaps between its elements.
GemmOperand operand(const Tensor& storage, std::int64_t rows, std::int64_t cols, bool transposed,
                    std::int64_t gap, std::int64_t beside) {
  GemmOperand x{storage.raw(), storage.dtype(), cols * gap + beside, gap, {}};
  if (transposed) {
    x.row = gap;
    x.col = rows * gap + beside;
  }
  x.batch[1] = rows * cols * gap;
  return x;
}

/// Largest error of a trial, relative to the scale of the sums.
double error_of(const Trial& t) {
  const std::int64_t gap = t.spread ? 3 : 1, row = t.n + 2;  // C has a gap after each row
  const auto random = [](std::int64_t count, DType dtype, std::uint64_t seed) {
    return rand_uniform({count}, {-1, 1}, {seed}).to(dtype);
  };
  const Tensor a = random(t.batch * t.m * t.k * gap + t.beside * (t.m + t.k), t.a, 1);
  const Tensor b = random(t.batch * t.k * t.n * gap + t.beside * (t.k + t.n), t.b, 2);
  const Tensor c = random(t.batch * t.m * row, t.c, 3), before = c.clone();
  const Tensor z = random(t.batch * t.m * row, t.c, 5);
  const Tensor bias = random(std::max(t.m, t.n), t.c == DType::f64 ? DType::f64 : DType::f32, 4);
  GemmCall call;
  call.m = t.m;
  call.n = t.n;
  call.k = t.k;
  call.batch[1] = t.batch;
  call.a = operand(a, t.m, t.k, t.a_transposed, gap, t.beside);
  call.b = operand(b, t.k, t.n, t.b_transposed, gap, t.beside);
  if (t.b_repeats) call.b.batch[1] = 0;
  call.c = {c.raw(), t.c, row, {0, t.m * row}};
  call.alpha = t.alpha;
  if (t.accumulate) call.addend = t.out_of_place ? before.raw() : c.raw();
  call.bias_kind = t.bias;
  call.bias = bias.raw();
  call.activation = t.activation;
  const bool is_activated = t.activation != GemmActivation::none;
  if (is_activated) call.pre_activation = z.raw();
  ops::kernels({}).gemm.multiply(call);
  double worst = 0;
  for (std::int64_t entry = 0; entry < t.batch; ++entry) {
    for (std::int64_t i = 0; i < t.m; ++i) {
      const std::int64_t start = (entry * t.m + i) * row;
      for (std::int64_t j = 0; j < t.n; ++j) {
        const double sum = expected(call, before, entry, i, j);
        worst = larger(worst, std::abs(c.at(start + j) - t.activated(sum)));
        if (is_activated) worst = larger(worst, std::abs(z.at(start + j) - sum));
      }
      for (std::int64_t j = t.n; j < row; ++j) {  // the gap is left alone
        if (c.at(start + j) != before.at(start + j)) worst = 1e9;
      }
    }
  }
  return worst / std::sqrt(static_cast<double>(t.k) + 1);
}

constexpr double kBoundF32 = 1e-6, kBoundBf16 = 1.0 / 128, kBoundF64 = 1e-14;

}  // namespace

TEST_CASE("products around the edges of tiles equal the definition") {
  for (const std::int64_t m : {1, 3, 5, 6, 13, 14, 15, 29}) {
    for (const std::int64_t n : {1, 7, 16, 17, 31, 32, 33, 65, 130}) {
      for (const std::int64_t k : {1, 15, 33}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CHECK(error_of({.m = m, .n = n, .k = k}) < kBoundF32);
      }
    }
  }
}

TEST_CASE("transposes, strides and batches are read in place") {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool spread : {false, true}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
          Trial t{.m = 31, .n = 37, .k = 41, .batch = 3};
          t.a_transposed = a_transposed;
          t.b_transposed = b_transposed;
          t.spread = spread;
          t.a = t.b = t.c = dtype;
          CHECK(error_of(t) < (dtype == DType::f64 ? kBoundF64 : kBoundF32));
          t.b_repeats = true;
          CHECK(error_of(t) < (dtype == DType::f64 ? kBoundF64 : kBoundF32));
        }
      }
    }
  }
}

TEST_CASE("an operand whose lines are a multiple of a page apart is packed") {
  CHECK(error_of({.m = 29, .n = 33, .k = 1024}) < kBoundF32);
  CHECK(error_of({.m = 1024, .n = 33, .k = 29, .a_transposed = true}) < kBoundF32);
}

TEST_CASE("k beyond one block is summed in parts") {
  for (const auto& [a_transposed, b_transposed] :
       {std::pair{false, false}, {false, true}, {true, false}}) {
    Trial t{
        .m = 45, .n = 50, .k = 1301, .a_transposed = a_transposed, .b_transposed = b_transposed};
    CHECK(error_of(t) < kBoundF32);
    t.accumulate = true;
    CHECK(error_of(t) < kBoundF32);
    t.out_of_place = true;
    CHECK(error_of(t) < kBoundF32);
    t.bias = GemmBias::per_column;
    CHECK(error_of(t) < kBoundF32);
    t.activation = GemmActivation::gelu_tanh;
    CHECK(error_of(t) < kBoundF32);
    t.activation = GemmActivation::gelu;
    CHECK(error_of(t) < kBoundF32);
    t.a = t.b = t.c = DType::bf16;
    CHECK(error_of(t) < kBoundBf16);
  }
  CHECK(error_of({.m = 3, .n = 2100, .k = 1030}) < kBoundF32);  // and B beyond one part
}

TEST_CASE("a small result of long sums, whose operands each thread packs alone") {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const auto& [a, b] : {std::pair{DType::f32, DType::f32},
                               {DType::bf16, DType::bf16},
                               {DType::f32, DType::bf16},
                               {DType::bf16, DType::f32}}) {
      for (const bool accumulate : {false, true}) {
        Trial t{.m = 75, .n = 110, .k = 1237, .a_transposed = true, .accumulate = accumulate};
        t.a = a;
        t.b = b;
        CHECK(error_of(t) < kBoundF32);
        t.alpha = -0.5;
        CHECK(error_of(t) < kBoundF32);
      }
    }
    // Panels whose rows lie as in memory, incomplete panels, and strips of any width.
    for (const std::int64_t m : {4, 6, 13, 14, 15, 140}) {
      for (const std::int64_t n : {8, 17, 32, 64, 100}) {
        CAPTURE(m);
        CAPTURE(n);
        for (const std::int64_t beside : {0, 5})
          CHECK(error_of({.m = m, .n = n, .k = 530, .a_transposed = true, .beside = beside}) <
                kBoundF32);
      }
    }
  }
  set_num_threads(before);
}

TEST_CASE("bias, scale, accumulation and GELU") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const double bound = dtype == DType::f64   ? kBoundF64
                         : dtype == DType::f32 ? kBoundF32
                                               : kBoundBf16;
    for (const GemmBias bias : {GemmBias::none, GemmBias::per_column, GemmBias::per_row}) {
      for (const bool accumulate : {false, true}) {
        for (const auto activation :
             {GemmActivation::none, GemmActivation::gelu, GemmActivation::gelu_tanh}) {
          for (const double alpha : {1.0, -0.5}) {
            Trial t{.m = 29, .n = 67, .k = 19, .batch = 2};
            t.a = t.b = t.c = dtype;
            t.bias = bias;
            t.accumulate = accumulate;
            t.out_of_place = (activation == GemmActivation::none) == (alpha == 1);
            t.activation = activation;
            t.alpha = alpha;
            CHECK(error_of(t) < bound);
          }
        }
      }
    }
  }
}

TEST_CASE("bf16 and f32 mix, and nothing to sum gives the bias") {
  Trial t{.m = 17, .n = 33, .k = 40};
  t.a = DType::bf16;
  CHECK(error_of(t) < kBoundF32);
  t.c = DType::bf16;
  CHECK(error_of(t) < kBoundBf16);
  std::swap(t.a, t.b);
  t.c = DType::f32;
  CHECK(error_of(t) < kBoundF32);
  for (const DType dtype : {DType::f64, DType::f32}) {
    Trial none{.m = 17, .n = 33, .k = 0, .bias = GemmBias::per_column};
    none.a = none.b = none.c = dtype;
    CHECK(error_of(none) < kBoundF32);
  }
}

TEST_CASE("any number of threads gives the same bits") {
  const int before = num_threads();
  const auto bits = [](int threads, const Tensor& a, const Tensor& b) {
    set_num_threads(threads);
    return ops::matmul(a, b);
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const Shape& shape :
         {Shape{1, 211, 600, 190}, Shape{7, 65, 64, 33}, Shape{1, 190, 2100, 64}}) {
      const Tensor a = rand_uniform({shape[0], shape[1], shape[2]}, {-1, 1}, {1}).to(dtype);
      const Tensor b = rand_uniform({shape[0], shape[2], shape[3]}, {-1, 1}, {2}).to(dtype);
      const Tensor one = bits(1, a, b), three = bits(3, a, b);
      CHECK(std::memcmp(one.raw(), three.raw(), one.storage().bytes()) == 0);
    }
    const Tensor x = rand_uniform({2100, 90}, {-1, 1}, {1}).to(dtype);  // a weight's gradient
    const Tensor dy = rand_uniform({2100, 150}, {-1, 1}, {2}).to(dtype);
    const Tensor turned = ops::transpose(dy, 0, 1);
    const Tensor one = bits(1, turned, x), three = bits(3, turned, x);
    CHECK(std::memcmp(one.raw(), three.raw(), one.storage().bytes()) == 0);
  }
  set_num_threads(before);
}

TEST_CASE("a residual is added inside the product, in its own dtype") {
  const Tensor x = rand_uniform({2, 5, 9}, {-1, 1}, {1}), w = rand_uniform({7, 9}, {-1, 1}, {2});
  const Tensor b = rand_uniform({7}, {-1, 1}, {3}), r = rand_uniform({2, 5, 7}, {-1, 1}, {4});
  CHECK(ops::linear(x, w, b, r).to_vector() == (r + ops::linear(x, w, b)).to_vector());
  const Tensor mixed = ops::linear(x.to(DType::bf16), w, b, r);
  CHECK(mixed.dtype() == DType::f32);
  const Tensor exact =
      ops::linear(x.to(DType::bf16).to(DType::f32), w.to(DType::bf16).to(DType::f32), b, r);
  CHECK(mixed.to_vector() == exact.to_vector());  // no digit of the sum is lost to bf16
  CHECK_THROWS_WITH_AS((void)ops::linear(x, w, b, r.to(DType::bf16)),
                       "linear: got residual [2, 5, 7] of bf16, expected [2, 5, 7] of f32, or "
                       "f32 with bf16",
                       Error);
  CHECK_THROWS_AS((void)ops::linear(x, w, b, zeros({7})), Error);
}

TEST_CASE("linear adds weight gradients to those that exist, in f32 beside bf16") {
  const Tensor x = rand_uniform({4, 5, 7}, {-1, 1}, {1}).to(DType::bf16);
  const Tensor w = rand_uniform({3, 7}, {-1, 1}, {2}), b = rand_uniform({3}, {-1, 1}, {3});
  w.set_requires_grad();
  b.set_requires_grad();
  const auto step = [&] {
    const Tensor y = ops::linear(x, w, b);
    CHECK(y.dtype() == DType::bf16);
    backward(y, rand_uniform(y.shape(), {-1, 1}, {4}).to(DType::bf16));
  };
  step();
  CHECK(w.grad().dtype() == DType::f32);
  const std::vector<double> once = w.grad().to_vector(), bias_once = b.grad().to_vector();
  const std::byte* const memory = w.grad().raw();
  step();
  CHECK(w.grad().raw() == memory);
  for (std::int64_t i = 0; i < 21; ++i) {
    CHECK(w.grad().at(i) == doctest::Approx(2 * once[static_cast<std::size_t>(i)]).epsilon(1e-6));
  }
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(b.grad().at(i) == doctest::Approx(2 * bias_once[static_cast<std::size_t>(i)]));
  }
}

TEST_CASE("compute_copy is remade when the parameter changes, and only then") {
  const Tensor p = rand_uniform({3, 5}, {-1, 1}, {1});
  CHECK(ops::compute_copy(p, DType::f32).is_same(p));
  const Tensor first = ops::compute_copy(p, DType::bf16);
  CHECK(first.is_same(ops::compute_copy(p, DType::bf16)));
  p.fill_(2);
  const Tensor second = ops::compute_copy(p, DType::bf16);
  CHECK(second.at(0) == 2);
  CHECK(first.at(0) != 2);
  CHECK(ops::compute_copy(p, DType::f64).dtype() == DType::f64);
}

TEST_CASE("a weight on the tape is not frozen by its copy") {
  const Tensor p = rand_uniform({3, 5}, {-1, 1}, {1});
  p.set_requires_grad();
  const Tensor x = rand_uniform({2, 5}, {-1, 1}, {2}).to(DType::bf16);
  const Tensor y = ops::linear(x, ops::transpose(ops::transpose(p, 0, 1), 0, 1));
  backward(y, ones(y.shape(), y.options()));
  CHECK(p.grad().defined());
}

TEST_CASE(
    "a linear layer reads rows where they lie if they are evenly spaced, others from a copy") {
  const Tensor x = rand_normal({4, 5, 2, 8}, {0, 1}, {1});
  const Tensor w = rand_normal({6, 8}, {0, 1}, {2}), b = rand_normal({6}, {0, 1}, {3});
  for (const Tensor& part : {ops::slice(x, 1, 0, 1), ops::slice(x, 2, 1, 2), ops::slice(x, 1, 1, 4),
                             ops::transpose(x, 0, 1), ops::expand(x, {3, 4, 5, 2, 8})}) {
    CAPTURE(part.shape());
    CHECK(ops::linear(part, w, b).to_vector() == ops::linear(part.clone(), w, b).to_vector());
  }
}

TEST_CASE("products refuse what does not fit, by name") {
  const Tensor a = zeros({64, 197, 192}), b = zeros({768, 192});
  CHECK_THROWS_WITH_AS((void)ops::matmul(a, b),
                       "matmul: inner sizes differ: a [64, 197, 192] x b [768, 192] (did you mean "
                       "the transposed b?)",
                       Error);
  CHECK_THROWS_WITH_AS((void)ops::matmul(a, b.to(DType::bf16)),
                       "matmul: got dtypes f32 and bf16, expected the same; convert one with "
                       "to(dtype)",
                       Error);
  CHECK_THROWS_AS((void)ops::matmul(zeros({3}), b), Error);
  CHECK_THROWS_AS((void)ops::matmul(zeros({2, 3, 5}), zeros({3, 5, 7})), Error);
  CHECK_THROWS_AS((void)ops::matmul(arange(6).alias({2, 3}, {3, 1}), arange(6)), Error);
  CHECK_THROWS_WITH_AS((void)ops::linear(a, zeros({5, 191})),
                       "linear: got x [64, 197, 192] and weight [5, 191], expected x [..., in] and "
                       "weight [out, in]",
                       Error);
  CHECK_THROWS_WITH_AS((void)ops::linear(a, b, zeros({767})),
                       "linear: got bias [767], expected [768]", Error);
  CHECK_THROWS_WITH_AS((void)ops::linear_gelu(a, b.to(DType::bf16), {}),
                       "linear_gelu: got x f32 and weight bf16, expected the same dtype, or bf16 "
                       "and an f32 parameter",
                       Error);
}
