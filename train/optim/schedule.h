// Learning rate schedules as pure functions of the step; only the plateau schedule keeps state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/names.h"
#include "train/optim/plateau_state.h"

namespace fovea {

/// timm's schedules, with identical values, and two others. The warm-up is part of a schedule's
/// epochs, unless warmup_prefix puts it before them.
enum class ScheduleKind {
  cosine,       ///< half a cosine from lr to min_lr
  half_cosine,  ///< MAE: linear warm-up from 0, then a half cosine; always per step
  linear,       ///< a straight line from lr to min_lr
  poly,         ///< lr to min_lr as (1 - t / E) ^ decay_rate
  step,         ///< multiplied by decay_rate every decay_epochs
  multistep,    ///< multiplied by decay_rate at each milestone, one tick early like timm
  plateau,      ///< multiplied by decay_rate when the score stalls; always per epoch
  constant,
  wsd,  ///< warm-up, stable, decay: lr, then 1 - sqrt down to min_lr (Haegele et al. 2024)
};
template <>
inline constexpr auto kNames<ScheduleKind> =
    std::to_array<Named<ScheduleKind>>({{ScheduleKind::cosine, "cosine"},
                                        {ScheduleKind::half_cosine, "half-cosine"},
                                        {ScheduleKind::linear, "linear"},
                                        {ScheduleKind::poly, "poly"},
                                        {ScheduleKind::step, "step"},
                                        {ScheduleKind::multistep, "multistep"},
                                        {ScheduleKind::plateau, "plateau"},
                                        {ScheduleKind::constant, "constant"},
                                        {ScheduleKind::wsd, "wsd"}});

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr = 1e-3;
  double min_lr = 1e-5;
  double warmup_lr = 1e-6;  ///< rate at the start of the warm-up (half_cosine: 0)
  double epochs = 300;      ///< excluding the cool-down and a warm-up prefix
  double warmup_epochs = 5;
  bool warmup_prefix = false;  ///< the warm-up precedes `epochs` instead of being part of them
  /// step: the interval. wsd: the length of the decay, or its fraction if below 1. Empty: 90 as in
  /// timm, and the last fifth.
  std::optional<double> decay_epochs{};
  double decay_rate = 0.1;            ///< factor of step, multistep, plateau; exponent of poly
  std::vector<double> milestones{};   ///< multistep: epochs in ascending order
  std::int64_t patience_epochs = 10;  ///< plateau: tolerated epochs without improvement
  bool on_updates = true;  ///< evaluated at every step; otherwise constant within an epoch
  std::int64_t lag = 0;    ///< if on_updates is false: epoch e uses the rate of epoch e - lag
};

[[nodiscard]] double decay_epochs(const ScheduleOptions& options);
/// Length of the schedule without its warm-up; not positive if the warm-up covers the whole run.
[[nodiscard]] double epochs_after_warmup(const ScheduleOptions& options);
/// Whether the decay of ScheduleKind::wsd begins after the warm-up. A fraction always does.
[[nodiscard]] bool decay_fits(const ScheduleOptions& options);

/// Updates a plateau schedule with the score of epoch `epoch`, counted from 0; the score should
/// rise or fall as requested. Behaves like PyTorch's ReduceLROnPlateau with a relative threshold of
/// 1e-4. Scores during the warm-up are ignored.
void note_metric(const ScheduleOptions& options, std::int64_t epoch, double metric,
                 bool more_is_better, PlateauState& state);

/// The rate at a time in ticks, not necessarily whole, with `per_epoch` ticks per epoch. From
/// `epochs` on, a decaying schedule stays at the floor.
[[nodiscard]] double rate_at(const ScheduleOptions& options, double tick, double per_epoch = 1);

/// The rate of step `step` (from 0) of a run with `steps_per_epoch` steps per epoch.
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t step,
                                   std::int64_t steps_per_epoch, const PlateauState& plateau = {});

/// Total epochs of a run with this schedule, including `cooldown` epochs at the floor.
[[nodiscard]] std::int64_t total_epochs(const ScheduleOptions& options, std::int64_t cooldown);
/// True if the schedule ends at min_lr, as a cool-down requires.
[[nodiscard]] bool has_floor(ScheduleKind kind);

}  // namespace fovea
