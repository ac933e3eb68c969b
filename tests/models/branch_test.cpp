// Residual branches: a layer runs once, whatever is put behind it.
#include "models/layers/branch.h"

#include <doctest/doctest.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/layers/dropout.h"
#include "models/layers/layer_scale.h"
#include "ops/arithmetic.h"
#include "tests/support/f64.h"

using namespace fovea;

namespace {

template <class B>
concept CanBeAdded = requires(const Tensor& x, B&& branch) {
  x + std::forward<B>(branch);
};

static_assert(std::is_convertible_v<Branch, Tensor> && CanBeAdded<Branch>);
static_assert(!std::is_convertible_v<Branch&, Tensor> && !CanBeAdded<Branch&>,
              "a named branch may be used twice and would compute twice");
static_assert(!std::is_convertible_v<const Branch&, Tensor> && !CanBeAdded<const Branch&>);
static_assert(std::is_move_constructible_v<Branch> && !std::is_copy_constructible_v<Branch>);

using Values = std::vector<double>;

Tensor of(const Values& values) {
  return from_values({static_cast<std::int64_t>(values.size()), 1}, values, kF64);
}

/// A branch whose last layer computes 2 y. `runs` counts how often.
Branch doubled(const Tensor& y, int& runs) {
  return Branch([y, &runs](const Tensor& x) {
    ++runs;
    const Tensor z = y * 2.0;
    return x.defined() ? x + z : z;
  });
}

}  // namespace

TEST_CASE("the last layer of a branch runs when the branch is used, and once") {
  int runs = 0;
  const Tensor alone = doubled(of({1, 2}), runs);
  CHECK(runs == 1);
  CHECK(alone.to_vector() == Values{2, 4});
  const Tensor sum = of({10, 20}) + doubled(of({1, 2}), runs);
  CHECK(runs == 2);
  CHECK(sum.to_vector() == Values{12, 24});
  Branch named = doubled(of({3, 4}), runs);
  CHECK(runs == 2);
  const Tensor moved = std::move(named);
  CHECK(runs == 3);
  CHECK(moved.to_vector() == Values{6, 8});
  CHECK_THROWS_AS((void)(of({10, 20}) + std::move(named)), std::bad_function_call);
  CHECK(runs == 3);
}

TEST_CASE("a layer behind a branch acts on its output, before x is added") {
  int runs = 0;
  const auto squared = [](const Tensor& y) { return y * y; };
  const Tensor alone = doubled(of({1, 2}), runs).then(squared);
  CHECK(alone.to_vector() == Values{4, 16});
  const Tensor sum = of({10, 20}) + doubled(of({1, 2}), runs).then(squared);
  CHECK(sum.to_vector() == Values{14, 36});
  CHECK(runs == 2);
}

TEST_CASE("layer scale, dropout and drop path run the last layer once") {
  ParameterStore store(1, kF64);
  const LayerScale scale(Scope(store), 1, 0.5);
  const Dropout drop(0.5);
  const DropPath drop_path(0.5);
  Context training;
  training.training = true;
  training.seed = 3;
  const Values y(64, 1.0), x(64, 10.0);
  int runs = 0;
  const Tensor sum = of(x) + drop_path(drop(scale(doubled(of(y), runs)), training), training);
  CHECK(runs == 1);
  // Kept by both with probability 1/4, and then scaled up by 4.
  int kept = 0;
  for (const double value : sum.to_vector()) {
    CHECK((value == 10 || value == 14));
    kept += value == 14 ? 1 : 0;
  }
  CHECK(kept > 4);
  CHECK(kept < 40);
}

TEST_CASE("in evaluation dropout and drop path leave a branch as it is") {
  Context evaluation;
  int runs = 0;
  const Tensor sum =
      of({10}) + DropPath(0.5)(Dropout(0.5)(doubled(of({1}), runs), evaluation), evaluation);
  CHECK(runs == 1);
  CHECK(sum.to_vector() == Values{12});
}
