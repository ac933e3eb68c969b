// What changes tensors in place: what is refused, versions, and sums that threads do not change.
// The optimizers' numbers are compared with PyTorch's and timm's in tests/train.
#include "ops/update.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/view.h"
#include "tests/support/f64.h"
#include "tests/support/special_values.h"

using namespace fovea;

namespace {

double squares_of(const Tensor& x) { return ops::sum_of_squares({&x, 1}).item(); }

constexpr std::int64_t kMany = 100'003;  // several blocks, the last one shorter

ops::UpdateTensors tensors_of(const Shape& shape, TensorOptions options = {}) {
  return {rand_normal(shape, {0, 1}, {1}, options), rand_normal(shape, {0, 1}, {2}, options),
          zeros(shape, options), zeros(shape, options)};
}

/// Calls f with a step of each optimizer: step(tensors, rates).
template <class F>
void for_each_optimizer(const F& f) {
  using Tensors = ops::UpdateTensors;
  using Rates = ops::UpdateRates;
  const auto one = [&](const auto& step) {
    f([step](const Tensors& t, const Rates& rates) {
      const ops::Update update{t, rates};
      step(ops::Updates(&update, 1));
    });
  };
  one([](ops::Updates updates) { ops::adamw_(updates, {0.9, 0.99, 1e-8}); });
  one([](ops::Updates updates) { ops::lamb_(updates, {0.9, 0.99, 1e-6}); });
  one([](ops::Updates updates) { ops::lars_(updates, {0.9, 0.001}); });
  one([](ops::Updates updates) { ops::lion_(updates, {0.9, 0.99}); });
  one([](ops::Updates updates) { ops::sgd_(updates, {0.9, true}); });
  one([](ops::Updates updates) { ops::muon_(updates, {0.95, 1e-7}); });
}

/// Calls f with one step of each: step(tensors).
template <class F>
void for_each_step(const F& f) {
  const ops::UpdateRates rates{.now = {{}, {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99}},
                               .weight_decay = 0.1};
  for_each_optimizer(
      [&](const auto& step) { f([&](const ops::UpdateTensors& t) { step(t, rates); }); });
}

}  // namespace

TEST_CASE("a step has the same bits for any number of threads, and new versions") {
  const int threads = num_threads();
  for_each_step([](const auto& step) {
    std::vector<double> results[2];
    for (int count = 1; count <= 2; ++count) {
      set_num_threads(count);
      const ops::UpdateTensors t = tensors_of({401, 211});
      const std::uint64_t before[] = {t.parameter.version(), t.m.version()};
      step(t);
      CHECK(t.parameter.version() != before[0]);
      CHECK(t.m.version() != before[1]);
      results[count - 1] = t.parameter.to_vector();
    }
    CHECK(results[0] == results[1]);
  });
  set_num_threads(threads);
}

TEST_CASE("rates, the gradients' scale and the step are read where the kernels run") {
  // One block that is written anew gives what a block of those numbers gives: nothing of the first
  // is part of the calls.
  for_each_optimizer([](const auto& step) {
    const ops::StepScalars now{
        .lr = 0.02, .gradient_scale = 0.5, .step = 4, .beta1 = 0.9, .beta2 = 0.99};
    const ops::UpdateTensors t = tensors_of({8, 12}), expected = tensors_of({8, 12});
    ops::UpdateRates rewritten{.now = {{}, {.lr = 7, .beta1 = 0.9, .beta2 = 0.99}},
                               .lr_scale = 0.5};
    rewritten.now.write(now);
    step(t, rewritten);
    step(expected, {.now = {{}, now}, .lr_scale = 0.5});
    CHECK(t.parameter.to_vector() == expected.parameter.to_vector());
    CHECK(t.parameter.to_vector() != tensors_of({8, 12}).parameter.to_vector());
  });
}

TEST_CASE("a norm is limited by the scale of its gradients") {
  // |g| = 5 and scale 0.5: a limit of 2 makes it 0.4, a limit of 3 leaves it.
  const Tensor squares = full({}, 25, kF64);
  const auto moved_by = [&](std::optional<double> limit, double scale) {
    const ops::Update update{{zeros({1}, kF64), ones({1}, kF64), zeros({1}, kF64), {}},
                             {.now = {{}, {.lr = 1, .gradient_scale = scale}}}};
    if (limit) update.rates.now.limit_norm(squares, *limit);
    ops::sgd_({&update, 1}, {});
    return -update.tensors.parameter.at(0);
  };
  CHECK(moved_by({}, 0.5) == 0.5);
  CHECK(moved_by(3, 0.5) == 0.5);
  CHECK(moved_by(2, 0.5) == doctest::Approx(0.4).epsilon(1e-15));
  CHECK(moved_by(2, 1) == doctest::Approx(0.4).epsilon(1e-15));
}

TEST_CASE("the betas are those that the step's numbers were written for") {
  const ops::Update update{tensors_of({4}),
                           {.now = {{}, {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99}}}};
  CHECK_THROWS_WITH_AS(ops::adamw_({&update, 1}, {0.9, 0.999, 1e-8}),
                       "adamw_: got betas 0.9 and 0.999, expected the step's betas, 0.9 and 0.99",
                       Error);
}

TEST_CASE("tensors that do not fit each other are refused") {
  for_each_step([](const auto& step) {
    ops::UpdateTensors t = tensors_of({4, 6});
    t.gradient = t.gradient.to(DType::f64);
    CHECK_THROWS_AS(step(t), Error);
    t = tensors_of({4, 6});
    t.m = zeros({6, 4});
    CHECK_THROWS_AS(step(t), Error);
    t = tensors_of({4, 6});
    t.parameter = ops::transpose(t.parameter, 0, 1);
    CHECK_THROWS_AS(step(t), Error);
    CHECK_THROWS_AS(step(tensors_of({4, 6}, {DType::bf16, {}})), Error);
  });
  const ops::Update scalars{tensors_of({}), {.now = {{}, {}}}};
  CHECK_THROWS_AS(ops::muon_({&scalars, 1}, {}), Error);
  CHECK_THROWS_AS(ops::adamw_({}, {}), Error);
  const ops::Average unequal{zeros({3}), zeros({4})}, equal{zeros({3}), zeros({3})};
  CHECK_THROWS_AS(ops::average_({&unequal, 1}, scalar(0.5, kF64)), Error);
  CHECK_THROWS_AS(ops::average_({&equal, 1}, scalar(0.5)), Error);
  CHECK_THROWS_AS((void)ops::sum_of_squares(std::vector{zeros({3}, {DType::i64, {}})}), Error);
}

TEST_CASE("LAMB's step is lr |p| long where it decays, and as Adam's elsewhere") {
  // One step from zero moments with eps 0: u = sign(g) + wd p.
  const auto step_of = [](double weight_decay) {
    const ops::StepScalars numbers{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99};
    const ops::Update update{{from_values({2}, {3, 4}, kF64), from_values({2}, {2, -1}, kF64),
                              zeros({2}, kF64), zeros({2}, kF64)},
                             {.now = {{}, numbers}, .weight_decay = weight_decay}};
    ops::lamb_({&update, 1}, {0.9, 0.99, 0});
    return update.tensors.parameter.to_vector();
  };
  const std::vector<double> plain = step_of(0), decayed = step_of(0.5);
  CHECK(plain[0] == doctest::Approx(2.9).epsilon(1e-12));
  CHECK(plain[1] == doctest::Approx(4.1).epsilon(1e-12));
  const double u[] = {2.5, 1}, rate = 0.1 * 5 / std::hypot(u[0], u[1]);
  CHECK(decayed[0] == doctest::Approx(3 - rate * u[0]).epsilon(1e-12));
  CHECK(decayed[1] == doctest::Approx(4 - rate * u[1]).epsilon(1e-12));
}

TEST_CASE("sums of squares are f64 sums of every float dtype, strided or not") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    CAPTURE(to_string(dtype));
    const Tensor x = rand_normal({kMany}, {0, 1}, {3}).to(dtype);
    double expected = 0;
    for (const double value : x.to_vector()) expected += value * value;
    CHECK(squares_of(x) == doctest::Approx(expected).epsilon(1e-13));
  }
  const Tensor x = from_values({2, 2}, {1, 2, 3, 4}, kF64);
  CHECK(squares_of(ops::select(x, 1, 1)) == 20);
  CHECK(squares_of(zeros({0})) == 0);
  CHECK(ops::sum_of_squares({}).item() == 0);
  CHECK(ops::sum_of_squares(std::vector{x, zeros({0}), x.to(DType::f32)}).item() == 60);
  CHECK(std::isnan(squares_of(from_values({2}, {1, kNan}))));
}

TEST_CASE("clipping by value keeps NaN, by units leaves short gradients alone") {
  const Tensor g = from_values({4}, {-3, 0.5, kNan, 2}, kF64);
  ops::clip_values_(g, 1);
  CHECK(g.at(0) == -1);
  CHECK(g.at(1) == 0.5);
  CHECK(std::isnan(g.at(2)));
  CHECK(g.at(3) == 1);

  const Tensor weights = from_values({2, 2}, {3, 4, 3, 4}, kF64);
  const Tensor rows = from_values({2, 2}, {0, 0.25, 6, 8}, kF64);
  ops::clip_units_(rows, weights, 0.1);  // norms of at most 0.5
  CHECK(rows.at(1) == 0.25);
  CHECK(rows.at(2) == doctest::Approx(0.3).epsilon(1e-14));
  CHECK(rows.at(3) == doctest::Approx(0.4).epsilon(1e-14));
}
