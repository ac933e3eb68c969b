// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <string_view>

namespace fovea {

enum class ScheduleKind {
  cosine,       ///< timm: the warm-up lies inside the cosine
  half_cosine,  ///< MAE: from 0 up, then a half cosine over the rest; always per step
  linear,       ///< a straight line from lr to min_lr, the warm-up inside
  step,         ///< times decay_rate every decay_epochs, the warm-up inside
  constant,
};
[[nodiscard]] ScheduleKind parse_schedule(std::string_view text);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr = 1e-3;
  double min_lr = 1e-5;
  double warmup_lr = 1e-6;  ///< where the warm-up starts (half_cosine starts at 0)
  double epochs = 300;
  double warmup_epochs = 5;
  double decay_epochs = 30;  ///< step
  double decay_rate = 0.1;   ///< step
  bool on_updates = true;    ///< evaluated at every step; else constant within an epoch
  std::int64_t lag = 0;      ///< without on_updates: epoch e runs at the rate of epoch e - lag
};

/// The rate at a time in epochs, which need not be whole. From `epochs` on it stays at the floor.
[[nodiscard]] double rate_at(const ScheduleOptions& options, double epoch);

/// The rate of step `step` (from 0) of a run of `steps_per_epoch` steps an epoch.
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t step,
                                   std::int64_t steps_per_epoch);

}  // namespace fovea
