// Steps that go wrong: how they are told, and what the run does about them.
#include "train/loop/guards.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A guard that has seen `count` losses around 2, one up, one down by 0.1.
GuardState calm(const StepGuard& guard, int count) {
  GuardState state;
  for (int i = 0; i < count; ++i) guard.record(i % 2 == 0 ? 2.1 : 1.9, state);
  return state;
}

}  // namespace

TEST_CASE("z-scores") {
  CHECK(z_score(2.5, {2.1, 1.9}) == doctest::Approx(5).epsilon(1e-12));
  CHECK(z_score(2.0, {2.0, 2.0}) == 0);
  CHECK(z_score(2.02, {2.0, 2.0}) == doctest::Approx(10).epsilon(1e-9));  // 1 % over a thousandth
  CHECK(z_score(1, {2.1, 1.9}) < 0);
}

TEST_CASE("without options no step is skipped") {
  const StepGuard guard({});
  CHECK(guard.skip_reason(kNaN, 1, {}).empty());
  CHECK(guard.skip_reason(1e9, 1, calm(guard, 100)).empty());
  CHECK(calm(guard, 100).losses.empty());  // and nothing is kept
}

TEST_CASE("losses and gradients that are not finite") {
  GuardOptions options;
  options.skip_nonfinite = true;
  const StepGuard guard(options);
  CHECK(contains(guard.skip_reason(kNaN, 1, {}), "the loss is nan"));
  CHECK(contains(guard.skip_reason(1, INFINITY, {}), "the gradient norm is inf"));
  CHECK(guard.skip_reason(1, 1, {}).empty());
}

TEST_CASE("spikes stand out once there is something to stand out of") {
  GuardOptions options;
  options.zscore = 6;
  const StepGuard guard(options);
  CHECK(guard.skip_reason(50, 1, calm(guard, 15)).empty());
  const GuardState state = calm(guard, 16);
  CHECK(contains(guard.skip_reason(2.61, 1, state), "a spike"));
  CHECK(guard.skip_reason(2.59, 1, state).empty());
  CHECK(guard.skip_reason(-50, 1, state).empty());  // falling is fine
  CHECK(guard.skip_reason(NAN, 1, state).empty());  // stops the run instead
  CHECK(guard.skip_reason(INFINITY, 1, state).empty());
}

TEST_CASE("the window holds the last losses") {
  GuardOptions options;
  options.zscore = 6;
  const StepGuard guard(options);
  GuardState state = calm(guard, 128);
  guard.record(7, state);
  CHECK(state.losses.size() == GuardState::kWindow);
  CHECK(state.losses.back() == 7);
  CHECK(state.losses.front() == 1.9);
}

TEST_CASE("too many skipped steps in a row stop the run and say what to do") {
  GuardOptions options;
  options.most_in_row = 2;
  const StepGuard guard(options);
  GuardState state;
  guard.skip("a", state);
  guard.skip("b", state);
  guard.record(1, state);
  CHECK(state.in_row == 0);
  guard.skip("a", state);
  guard.skip("b", state);
  const std::string message = message_of([&] { guard.skip("the loss is nan", state); });
  CHECK(contains(message, "3 steps in a row"));
  CHECK(contains(message, "the loss is nan"));
  CHECK(contains(message, "--detect-anomaly"));
  CHECK(state.skipped == 5);
}

}  // namespace fovea
