// AdamW and SGD against numbers from torch.optim, and what surrounds the updates.
#include "train/optim/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/scope.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"
#include "train/optim/gradients.h"

namespace fovea {
namespace {

constexpr TensorOptions kF32{DType::f32, {}};

/// One decayed parameter "w" of three values, one "b" that is not decayed.
struct OptimizedPair {
  explicit OptimizedPair(TensorOptions options) : store(0, options) {
    const Scope scope(store);
    w = scope.param("w", {3}, constant(0), Decay::yes);
    b = scope.param("b", {3}, constant(0), Decay::no);
    const NoGrad no_grad;
    for (const Tensor& p : {w, b}) p.copy_(from_values({3}, {1.0, -0.5, 2.0}, options));
  }
  ParameterStore store;
  Tensor w, b;
};

constexpr double kGradients[3][3] = {{0.5, -2.0, 0.0}, {0.1, 1.0, 3.0}, {-0.7, 0.2, -1.0}};

void run_three_steps(OptimizedPair& f, const OptimizerOptions& options, double scale = 1) {
  Optimizer optimizer(f.store, options);
  for (const auto& g : kGradients) {
    for (const Tensor& p : {f.w, f.b}) {
      p.set_grad(from_values({3}, {g[0] / scale, g[1] / scale, g[2] / scale}, p.options()));
    }
    optimizer.step(0.1, {scale});
  }
  CHECK(optimizer.steps_done() == 3);
}

void check_values(const Tensor& p, const std::vector<double>& expected, double epsilon) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(p.at(static_cast<std::int64_t>(i)) == doctest::Approx(expected[i]).epsilon(epsilon));
  }
}

OptimizerOptions adamw_options() {
  OptimizerOptions options;
  options.beta2 = 0.99;
  return options;
}

OptimizerOptions sgd_options(bool nesterov) {
  OptimizerOptions options;
  options.kind = nesterov ? OptimizerKind::sgd : OptimizerKind::momentum;
  return options;
}

// Three steps of torch.optim at lr 0.1, weight decay 0.05 from (1, -0.5, 2).
const std::vector<double> kAdamW{0.821107090618801, -0.35213558584927285, 1.8619327837147686};
const std::vector<double> kMomentum{0.888568625, -0.1573299375, 1.47563975};
const std::vector<double> kNesterov{0.896798268875, -0.10970962631249999, 1.3026186852500001};

}  // namespace

TEST_CASE("AdamW is torch.optim.AdamW") {
  OptimizedPair f64(kF64), f32(kF32);
  run_three_steps(f64, adamw_options());
  check_values(f64.w, kAdamW, 1e-13);
  run_three_steps(f32, adamw_options());
  check_values(f32.w, kAdamW, 1e-6);
}

TEST_CASE("SGD is torch.optim.SGD, with plain and with Nesterov momentum") {
  OptimizedPair plain(kF64), nesterov(kF64);
  run_three_steps(plain, sgd_options(false));
  check_values(plain.w, kMomentum, 1e-13);
  run_three_steps(nesterov, sgd_options(true));
  check_values(nesterov.w, kNesterov, 1e-13);
}

TEST_CASE("only parameters born with decay are decayed") {
  for (const OptimizerOptions& options : {adamw_options(), sgd_options(false)}) {
    OptimizedPair f(kF64);
    Optimizer optimizer(f.store, options);
    for (const Tensor& p : {f.w, f.b}) p.set_grad(zeros({3}, p.options()));
    optimizer.step(0.1);
    check_values(f.w, {0.995, -0.4975, 1.99}, 1e-13);
    check_values(f.b, {1, -0.5, 2}, 1e-15);
  }
}

TEST_CASE("the gradient scale acts as if the gradients had been multiplied") {
  OptimizedPair scaled(kF64);
  run_three_steps(scaled, adamw_options(), 4);  // a power of two: no rounding
  check_values(scaled.w, kAdamW, 1e-13);
}

TEST_CASE("and so in every optimizer, also where gradients are clipped inside") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::lamb, OptimizerKind::lars,
                                   OptimizerKind::lion, OptimizerKind::muon}) {
    OptimizedPair plain(kF64), scaled(kF64);
    run_three_steps(plain, {.kind = kind}, 1);
    run_three_steps(scaled, {.kind = kind}, 4);
    check_values(scaled.w, plain.w.to_vector(), 1e-13);
  }
}

TEST_CASE("LARS steps in proportion to a matrix's length, and as momentum with vectors") {
  ParameterStore store(0, kF64);
  const Scope s(store);
  const std::int64_t columns = 40'000;  // more than one block of sums
  const Tensor w = s.param("w", {2, columns}, normal(1)), b = s.param("b", {3}, normal(1));
  const Tensor zero = s.param("zero", {2, 2}, constant(0));
  OptimizerOptions options{.kind = OptimizerKind::lars};
  options.weight_decay = 0.01;
  Optimizer optimizer(store, options);
  std::vector<double> values[3], momenta[3];
  const Tensor tensors[3] = {w, b, zero};
  for (std::size_t t = 0; t < 3; ++t) {
    values[t] = tensors[t].to_vector();
    momenta[t].assign(values[t].size(), 0);
  }
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (std::size_t t = 0; t < 3; ++t) {
      const Tensor g = rand_normal(tensors[t].shape(), {0, 1}, {9, 3 * step + t}, kF64);
      tensors[t].set_grad(g);
      const std::vector<double> gradient = g.to_vector();
      const double decay = t == 1 ? 0 : 0.01;
      double parameter = 0, direction = 0;
      std::vector<double> u(gradient.size());
      for (std::size_t i = 0; i < u.size(); ++i) {
        u[i] = 0.5 * gradient[i] + decay * values[t][i];
        parameter += values[t][i] * values[t][i];
        direction += u[i] * u[i];
      }
      const double q =
          t == 1 || parameter == 0 ? 1 : 0.001 * std::sqrt(parameter) / std::sqrt(direction);
      for (std::size_t i = 0; i < u.size(); ++i) {
        momenta[t][i] = 0.9 * momenta[t][i] + q * u[i];
        values[t][i] -= 0.1 * momenta[t][i];
      }
    }
    optimizer.step(0.1, {0.5});
  }
  for (std::size_t t = 0; t < 3; ++t) check_values(tensors[t], values[t], 1e-12);
}

TEST_CASE("rates follow patterns of names, whose factors multiply with each other and a layer's") {
  ParameterStore store(0, kF64);
  const Scope scope(store);
  const Tensor head = scope.as(Role::head).param("head.weight", {1}, constant(1), Decay::yes);
  const Tensor block = (scope.block(0) / "mlp").param("weight", {1}, constant(1), Decay::yes);
  const auto moved = [&](const std::vector<NamedRate>& rates, double layer_decay = 1) {
    const NoGrad no_grad;
    OptimizerOptions options = sgd_options(false);
    options.weight_decay = 0;
    options.layer_decay = layer_decay;
    options.named_rates = rates;
    Optimizer optimizer(store, options);
    for (const Tensor& p : {head, block}) {
      p.fill_(0);
      p.set_grad(from_values({1}, {-1}, kF64));
    }
    optimizer.step(0.5);
    return std::vector<double>{head.item(), block.item()};
  };
  using Moved = std::vector<double>;
  CHECK(moved({}) == Moved{0.5, 0.5});
  CHECK(moved({{"^head", 4}}) == Moved{2, 0.5});
  CHECK(moved({{"weight", 0.5}, {"mlp\\.", 8}}) == Moved{0.25, 2});
  CHECK(moved({{"mlp", 8}}, 0.5) == Moved{0.5, 2});
  CHECK(moved({{"head", 0}}) == Moved{0, 0.5});
}

TEST_CASE("patterns of rates that mean nothing are refused by name") {
  const OptimizedPair f(kF64);
  const auto error = [&](NamedRate rate) {
    OptimizerOptions options;
    options.named_rates = {{"w", 2}, std::move(rate)};
    try {
      const Optimizer optimizer(f.store, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error({"b", 2}).empty());
  CHECK(error({"blocks", 2}) ==
        "learning rates: 'blocks' matches no parameter; fovea summary lists the names");
  CHECK(error({"(b", 2}).find("'(b' is not a regular expression") != std::string::npos);
  CHECK(error({"b", -1}).find("got factor -1 for 'b'") != std::string::npos);
  CHECK(error({"b", HUGE_VAL}).find("finite") != std::string::npos);
}

TEST_CASE("a parameter without a gradient stays, and its version with it") {
  OptimizedPair f(kF64);
  Optimizer optimizer(f.store, adamw_options());
  f.w.set_grad(ones({3}, kF64));
  const std::uint64_t w = f.w.version(), b = f.b.version();
  optimizer.step(0.1);
  CHECK(f.w.version() != w);
  CHECK(f.b.version() == b);
  check_values(f.b, {1, -0.5, 2}, 1e-15);
}

TEST_CASE("an update writes the bf16 copies that products have read") {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd, OptimizerKind::lamb,
                                   OptimizerKind::lars, OptimizerKind::lion, OptimizerKind::muon}) {
    CAPTURE(std::string(name_of(kind)));
    ParameterStore store(0, kF32);
    const Tensor p = Scope(store).param("w", {257, 129}, normal(1));
    p.set_grad(rand_normal(p.shape(), {0, 1}, {5}));
    Optimizer optimizer(store, {.kind = kind});
    const std::byte* const copy = p.cached_to(DType::bf16).raw();
    optimizer.step(0.01);
    CHECK(p.cached_to(DType::bf16).raw() == copy);
    CHECK(p.cached_to(DType::bf16).to_vector() == p.detach().to(DType::bf16).to_vector());

    const Tensor read = p.cached_to(DType::bf16);  // somebody needs the values of now
    const std::vector<double> before = read.to_vector();
    optimizer.step(0.01);
    CHECK(read.to_vector() == before);
    CHECK(p.cached_to(DType::bf16).to_vector() == p.detach().to(DType::bf16).to_vector());
  }
}

TEST_CASE("an update does not depend on the number of threads") {
  const int threads = num_threads();
  std::vector<double> results[2];
  for (int count = 1; count <= 2; ++count) {
    set_num_threads(count);
    ParameterStore store(0, kF32);
    const Tensor p = Scope(store).param("w", {100'003}, normal(1));
    p.set_grad(rand_normal(p.shape(), {0, 1}, {5}));
    Optimizer optimizer(store, {});
    optimizer.step(0.01, {clip_scale(gradient_norm(store), 1)});
    results[count - 1] = p.to_vector();
  }
  set_num_threads(threads);
  CHECK(results[0] == results[1]);
}

TEST_CASE("the gradient norm covers all parameters and clipping bounds it") {
  OptimizedPair f(kF64);
  f.w.set_grad(from_values({3}, {3, 0, 0}, kF64));
  f.b.set_grad(from_values({3}, {0, -4, 0}, kF64));
  CHECK(gradient_norm(f.store) == doctest::Approx(5).epsilon(1e-15));
  CHECK(clip_scale(5, 10) == 1);
  CHECK(clip_scale(5, 1) == doctest::Approx(1 / 5.000001).epsilon(1e-15));
  const auto none = [](const Parameter&) { return false; };
  const auto bias = [](const Parameter& p) { return p.name == "b"; };
  require_gradients(f.store, none);
  f.b.set_grad({});
  CHECK(gradient_norm(f.store) == doctest::Approx(3).epsilon(1e-15));
  require_gradients(f.store, bias);
  tests::check_error([&] { require_gradients(f.store, none); },
                     "no gradient reached 1 parameter: b");
  f.b.set_grad(from_values({3}, {0, NAN, 0}, kF64));
  CHECK(std::isnan(gradient_norm(f.store)));
  CHECK(parameters_with_bad_gradient(f.store) == std::vector<std::string>{"b"});
}

}  // namespace fovea
