// Learning rate schedules. Notation: t time in ticks (epochs or steps), E number of ticks, W
// warm-up, b peak rate, m floor, w start.
#include "train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// m + (b - m) / 2 * (1 + cos(pi x)): b at x = 0, m at x = 1.
double cosine_between(const ScheduleOptions& o, double x) {
  return o.min_lr + (o.lr - o.min_lr) / 2 * (1 + std::cos(std::numbers::pi * x));
}

double half_cosine(const ScheduleOptions& o, double epoch) {
  if (epoch < o.warmup_epochs) return o.lr * epoch / o.warmup_epochs;
  if (epoch >= o.epochs) return o.min_lr;
  return cosine_between(o, (epoch - o.warmup_epochs) / (o.epochs - o.warmup_epochs));
}

/// Number of milestones at or before the next tick.
double milestones_passed(const ScheduleOptions& o, double t, double per_epoch) {
  const auto passed = std::count_if(o.milestones.begin(), o.milestones.end(),
                                    [&](double m) { return m * per_epoch <= t + 1; });
  return static_cast<double>(passed);
}

/// b until the decay, then m + (b - m) (1 - sqrt(x)). t counts from the end of the warm-up.
double stable_decay(const ScheduleOptions& o, double t, double per_epoch) {
  const double length = epochs_after_warmup(o) * per_epoch;
  const double epochs = decay_epochs(o);
  const double asked = epochs < 1 ? epochs * length : epochs * per_epoch;
  const double decay = std::nearbyint(asked);
  const double x = (t - (length - decay)) / std::max(decay, 1.0);
  if (x <= 0) return o.lr;
  return o.min_lr + (o.lr - o.min_lr) * (1 - std::sqrt(std::min(x, 1.0)));
}

/// t counts from the start, or from the end of a warm-up prefix.
double after_warmup(const ScheduleOptions& o, double t, double per_epoch) {
  const double length = o.epochs * per_epoch;
  if (has_floor(o.kind) && t >= length) return o.min_lr;
  switch (o.kind) {
    case ScheduleKind::cosine:
      return cosine_between(o, t / length);
    case ScheduleKind::linear:
      return o.lr + (o.min_lr - o.lr) * t / length;
    case ScheduleKind::poly:
      return o.min_lr + (o.lr - o.min_lr) * std::pow(1 - t / length, o.decay_rate);
    case ScheduleKind::step:
      return o.lr * std::pow(o.decay_rate, std::floor(t / (decay_epochs(o) * per_epoch)));
    case ScheduleKind::multistep:
      return o.lr * std::pow(o.decay_rate, milestones_passed(o, t, per_epoch));
    case ScheduleKind::plateau:  // PlateauState holds its reductions
    case ScheduleKind::constant:
    case ScheduleKind::half_cosine:  // these two are computed elsewhere
    case ScheduleKind::wsd:
      break;
  }
  return o.lr;
}

}  // namespace

double decay_epochs(const ScheduleOptions& options) {
  return options.decay_epochs.value_or(options.kind == ScheduleKind::wsd ? 0.2 : 90);
}

double epochs_after_warmup(const ScheduleOptions& options) {
  return options.epochs - (options.warmup_prefix ? 0 : options.warmup_epochs);
}

bool decay_fits(const ScheduleOptions& options) {
  const double decay = decay_epochs(options);
  return options.kind != ScheduleKind::wsd || decay < 1 || decay <= epochs_after_warmup(options);
}

bool has_floor(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::step:
    case ScheduleKind::multistep:
    case ScheduleKind::plateau:
    case ScheduleKind::constant:
      return false;
    case ScheduleKind::cosine:
    case ScheduleKind::half_cosine:
    case ScheduleKind::linear:
    case ScheduleKind::poly:
    case ScheduleKind::wsd:
      return true;
  }
  return true;
}

std::int64_t total_epochs(const ScheduleOptions& o, std::int64_t cooldown) {
  const double before = o.warmup_prefix ? o.warmup_epochs : 0;
  return static_cast<std::int64_t>(std::ceil(o.epochs + before)) + cooldown;
}

double rate_at(const ScheduleOptions& o, double tick, double per_epoch) {
  if (o.kind == ScheduleKind::half_cosine) return half_cosine(o, tick / per_epoch);
  const double warmup = o.warmup_epochs * per_epoch;
  if (tick < warmup) return o.warmup_lr + tick * (o.lr - o.warmup_lr) / warmup;
  if (o.kind == ScheduleKind::wsd) return stable_decay(o, tick - warmup, per_epoch);
  return after_warmup(o, o.warmup_prefix ? tick - warmup : tick, per_epoch);
}

double learning_rate(const ScheduleOptions& options, std::int64_t step,
                     std::int64_t steps_per_epoch, const PlateauState& plateau) {
  if (plateau.lowered) return plateau.lr;
  const bool every_step = options.on_updates && options.kind != ScheduleKind::plateau;
  if (every_step || options.kind == ScheduleKind::half_cosine) {
    return rate_at(options, static_cast<double>(step), static_cast<double>(steps_per_epoch));
  }
  const std::int64_t epoch = step / steps_per_epoch;
  return rate_at(options, static_cast<double>(std::max<std::int64_t>(0, epoch - options.lag)));
}

void note_metric(const ScheduleOptions& o, std::int64_t epoch, double metric, bool more_is_better,
                 PlateauState& state) {
  constexpr double kThreshold = 1e-4, kSmallestChange = 1e-8;  // PyTorch's defaults
  if (o.kind != ScheduleKind::plateau || static_cast<double>(epoch + 1) <= o.warmup_epochs) return;
  const double bar = state.best * (1 + (more_is_better ? kThreshold : -kThreshold));
  if (!state.has_best || (more_is_better ? metric > bar : metric < bar)) {
    state.has_best = true;
    state.best = metric;
    state.bad_epochs = 0;
    return;
  }
  if (++state.bad_epochs <= o.patience_epochs) return;
  state.bad_epochs = 0;
  const double now = state.lowered ? state.lr : o.lr;
  const double next = std::max(now * o.decay_rate, o.min_lr);
  if (now - next <= kSmallestChange) return;
  state.lowered = true;
  state.lr = next;
}

}  // namespace fovea
