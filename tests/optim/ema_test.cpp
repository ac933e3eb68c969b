// Averaged weights: the recursion, what is averaged, and lending them to the model.
#include "train/optim/ema.h"

#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

struct AveragedStore {
  explicit AveragedStore(DType dtype) : store(0, {dtype, {}}) {
    const Scope scope(store);
    w = scope.param("w", {2}, constant(1));
    mean = scope.buffer("mean", {2}, constant(0));
    count = scope.buffer("count", {}, constant(0), DType::i64);
  }
  void set(double value) {
    const NoGrad no_grad;
    w.fill_(value);
    mean.fill_(10 * value);
    count.fill_(value);
  }
  ParameterStore store;
  Tensor w, mean, count;
};

}  // namespace

TEST_CASE("average <- d average + (1 - d) value, from the initial values on") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    AveragedStore f(dtype);
    Ema ema(f.store, 0.75);
    f.set(5);
    ema.update(f.store);
    CHECK(ema.averages().at("w").at(1) == 2);        // 0.75 * 1 + 0.25 * 5
    CHECK(ema.averages().at("mean").at(0) == 12.5);  // buffers too
    CHECK(ema.averages().at("count").at(0) == 5);    // integers are copied
    f.set(6);
    ema.update(f.store);
    CHECK(ema.averages().at("w").at(0) == 3);
    CHECK(f.w.at(0) == 6);
  }
}

TEST_CASE("swapped weights come back bit for bit, and what was computed from them is stale") {
  AveragedStore f(DType::f32);
  const Ema ema(f.store, 0.9);
  f.set(0.1);
  const std::vector<double> before = f.w.to_vector();
  const std::uint64_t version = f.w.version();
  {
    const SwappedWeights swapped(f.store, ema.averages());
    CHECK(f.w.at(0) == 1);
    CHECK(f.w.version() != version);
  }
  CHECK(f.w.to_vector() == before);
  CHECK(f.mean.at(0) == 1);
}

TEST_CASE("what is left of the first values is the product of the decays") {
  CHECK(share_of_first_values(0.99996, false, 60) == doctest::Approx(0.9976).epsilon(1e-4));
  CHECK(share_of_first_values(0.5, false, 3) == 0.125);
  CHECK(share_of_first_values(0.99996, true, 60) == 0);
  for (const bool warmup : {false, true}) {
    AveragedStore f(DType::f64);
    Ema ema(f.store, 0.75, warmup);  // from 1 to 0
    f.set(0);
    for (std::int64_t step = 1; step <= 4; ++step) ema.update(f.store, step);
    CHECK(ema.averages().at("w").at(0) ==
          doctest::Approx(share_of_first_values(0.75, warmup, 4)).epsilon(1e-12));
  }
}

TEST_CASE("a decay out of range is refused") {
  AveragedStore f(DType::f32);
  CHECK_THROWS_AS(Ema(f.store, 1.0), Error);
  CHECK_THROWS_AS(Ema(f.store, -0.1), Error);
}

}  // namespace fovea
