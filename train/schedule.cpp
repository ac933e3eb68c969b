// t is the time in epochs, E their number, W the warm-up, b the rate, m the floor, w the start.
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/check.h"

namespace fovea {
namespace {

/// m + (b - m) / 2 * (1 + cos(pi x)): b at x = 0, m at x = 1.
double cosine_between(const ScheduleOptions& o, double x) {
  return o.min_lr + (o.lr - o.min_lr) / 2 * (1 + std::cos(std::numbers::pi * x));
}

double half_cosine(const ScheduleOptions& o, double t) {
  if (t < o.warmup_epochs) return o.lr * t / o.warmup_epochs;
  if (t >= o.epochs) return o.min_lr;
  return cosine_between(o, (t - o.warmup_epochs) / (o.epochs - o.warmup_epochs));
}

}  // namespace

ScheduleKind parse_schedule(std::string_view text) {
  if (text == "cosine") return ScheduleKind::cosine;
  if (text == "half-cosine") return ScheduleKind::half_cosine;
  if (text == "linear") return ScheduleKind::linear;
  if (text == "step") return ScheduleKind::step;
  if (text == "constant") return ScheduleKind::constant;
  fail("schedule: got \"", text, "\", expected cosine, half-cosine, linear, step or constant");
}

double rate_at(const ScheduleOptions& o, double t) {
  if (o.kind == ScheduleKind::half_cosine) return half_cosine(o, t);
  if (t < o.warmup_epochs) return o.warmup_lr + t * (o.lr - o.warmup_lr) / o.warmup_epochs;
  switch (o.kind) {
    case ScheduleKind::cosine:
      return t >= o.epochs ? o.min_lr : cosine_between(o, t / o.epochs);
    case ScheduleKind::linear:
      return t >= o.epochs ? o.min_lr : o.lr + (o.min_lr - o.lr) * t / o.epochs;
    case ScheduleKind::step:
      return o.lr * std::pow(o.decay_rate, std::floor(t / o.decay_epochs));
    default:
      return o.lr;
  }
}

double learning_rate(const ScheduleOptions& options, std::int64_t step,
                     std::int64_t steps_per_epoch) {
  if (options.on_updates || options.kind == ScheduleKind::half_cosine) {
    return rate_at(options, static_cast<double>(step) / static_cast<double>(steps_per_epoch));
  }
  const std::int64_t epoch = step / steps_per_epoch;
  return rate_at(options, static_cast<double>(std::max<std::int64_t>(0, epoch - options.lag)));
}

}  // namespace fovea
