// Learning rates against check values of the papers' code.
#include "train/optim/schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// DeiT's: base 1e-3, floor 1e-5, warm-up 5 epochs from 1e-6, 300 epochs.
ScheduleOptions deit() {
  ScheduleOptions options;
  options.lr = 1e-3;
  options.min_lr = 1e-5;
  options.warmup_lr = 1e-6;
  options.warmup_epochs = 5;
  options.epochs = 300;
  return options;
}

void check_rate(double rate, double expected) {
  CHECK(rate == doctest::Approx(expected).epsilon(1e-12));
}

}  // namespace

TEST_CASE("timm's cosine, the warm-up inside") {
  const ScheduleOptions o = deit();
  check_rate(rate_at(o, 0), 1e-6);
  check_rate(rate_at(o, 1), 2.008e-4);
  check_rate(rate_at(o, 4), 8.002e-4);
  check_rate(rate_at(o, 5), 9.99321619703514e-4);
  check_rate(rate_at(o, 150), 5.05e-4);
  check_rate(rate_at(o, 299), 1.002714116407149e-5);
  check_rate(rate_at(o, 300), 1e-5);
  check_rate(rate_at(o, 1000), 1e-5);
}

TEST_CASE("MAE's half-cosine, per step") {
  ScheduleOptions o;
  o.kind = ScheduleKind::half_cosine;
  o.lr = 2.4e-3;
  o.min_lr = 0;
  o.warmup_epochs = 40;
  o.epochs = 800;
  CHECK(rate_at(o, 0) == 0);
  check_rate(rate_at(o, 0.5), 3e-5);
  check_rate(rate_at(o, 20), 1.2e-3);
  check_rate(rate_at(o, 420), 1.2e-3);
  CHECK(rate_at(o, 799.5) == doctest::Approx(2.563089e-9).epsilon(1e-6));
  check_rate(learning_rate(o, 2000, 100), 1.2e-3);
}

TEST_CASE("per epoch the rate is constant inside and may lag by whole epochs") {
  ScheduleOptions o = deit();
  o.on_updates = false;
  check_rate(learning_rate(o, 99, 100), 1e-6);
  check_rate(learning_rate(o, 100, 100), 2.008e-4);
  check_rate(learning_rate(o, 199, 100), 2.008e-4);
  o.lag = 1;  // epoch 0 and 1 at the start of the warm-up, epoch e at f(e - 1)
  check_rate(learning_rate(o, 0, 100), 1e-6);
  check_rate(learning_rate(o, 100, 100), 1e-6);
  check_rate(learning_rate(o, 600, 100), 9.99321619703514e-4);
  check_rate(learning_rate(o, 29'900, 100), rate_at(o, 298));
}

TEST_CASE("on updates the rate moves at every step") {
  const ScheduleOptions o = deit();
  check_rate(learning_rate(o, 0, 100), 1e-6);
  check_rate(learning_rate(o, 250, 100), 1e-6 + 2.5 * (1e-3 - 1e-6) / 5);
  check_rate(learning_rate(o, 15'000, 100), 5.05e-4);
}

TEST_CASE("linear, step and constant") {
  ScheduleOptions o = deit();
  o.kind = ScheduleKind::linear;
  check_rate(rate_at(o, 1), 2.008e-4);
  check_rate(rate_at(o, 150), 5.05e-4);
  check_rate(rate_at(o, 300), 1e-5);
  o.kind = ScheduleKind::step;
  check_rate(rate_at(o, 89.5), 1e-3);  // timm's interval
  check_rate(rate_at(o, 90), 1e-4);
  o.decay_epochs = 30;
  check_rate(rate_at(o, 29.5), 1e-3);
  check_rate(rate_at(o, 30), 1e-4);
  check_rate(rate_at(o, 65), 1e-5);
  o.kind = ScheduleKind::constant;
  check_rate(rate_at(o, 2.5), 1e-6 + 2.5 * (1e-3 - 1e-6) / 5);
  check_rate(rate_at(o, 299), 1e-3);
}

TEST_CASE("without a warm-up the first rate is the base") {
  ScheduleOptions o = deit();
  o.warmup_epochs = 0;
  for (const ScheduleKind kind :
       {ScheduleKind::cosine, ScheduleKind::half_cosine, ScheduleKind::linear, ScheduleKind::step,
        ScheduleKind::constant}) {
    o.kind = kind;
    check_rate(rate_at(o, 0), 1e-3);
  }
}

TEST_CASE("a name that is no schedule is refused") {
  CHECK(parse_name<ScheduleKind>("schedule", "half-cosine") == ScheduleKind::half_cosine);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_name<ScheduleKind>("schedule", "cosin")),
                       doctest::Contains("expected one of cosine, half-cosine"), Error);
}

}  // namespace fovea
