// The learning rate as a pure function of the step; what a plateau has seen is its only memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/names.h"

namespace fovea {

/// timm's schedules, of the same values, and two others. The warm-up lies inside a schedule unless
/// warmup_prefix says that it comes before.
enum class ScheduleKind {
  cosine,       ///< half a cosine from lr to min_lr
  half_cosine,  ///< MAE: from 0 up, then a half cosine over the rest; always per step
  linear,       ///< a straight line from lr to min_lr
  poly,         ///< lr to min_lr as (1 - t / E) ^ decay_rate
  step,         ///< times decay_rate every decay_epochs
  multistep,    ///< times decay_rate at each milestone, one tick early as timm does
  plateau,      ///< times decay_rate when the score stops improving; always per epoch
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
  double warmup_lr = 1e-6;  ///< where the warm-up starts (half_cosine starts at 0)
  double epochs = 300;      ///< without the cool-down, and without a warm-up that comes before
  double warmup_epochs = 5;
  bool warmup_prefix = false;  ///< the warm-up comes before `epochs`, not inside
  /// step: the interval; wsd: the decay, below 1 a share. None: timm's 90, and the last fifth.
  std::optional<double> decay_epochs{};
  double decay_rate = 0.1;            ///< step, multistep, plateau; the power of poly
  std::vector<double> milestones{};   ///< multistep: epochs, rising
  std::int64_t patience_epochs = 10;  ///< plateau: epochs without a better score
  bool on_updates = true;             ///< evaluated at every step; else constant within an epoch
  std::int64_t lag = 0;  ///< without on_updates: epoch e runs at the rate of epoch e - lag
};

[[nodiscard]] double decay_epochs(const ScheduleOptions& options);

/// What a plateau schedule has seen. Saved with a run.
struct PlateauState {
  bool lowered = false;
  double lr = 0;  ///< where it has been lowered to
  bool has_best = false;
  double best = 0;
  std::int64_t bad_epochs = 0;
};
/// Tells a plateau schedule a score after epoch `epoch`, counted from 0, that should rise or fall.
/// As PyTorch's ReduceLROnPlateau with a relative threshold of 1e-4; nothing counts during the
/// warm-up.
void note_metric(const ScheduleOptions& options, std::int64_t epoch, double metric,
                 bool more_is_better, PlateauState& state);

/// The rate at a time in ticks, `per_epoch` of which make an epoch; the time need not be whole.
/// From `epochs` on a falling schedule stays at the floor.
[[nodiscard]] double rate_at(const ScheduleOptions& options, double tick, double per_epoch = 1);

/// The rate of step `step` (from 0) of a run of `steps_per_epoch` steps an epoch.
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t step,
                                   std::int64_t steps_per_epoch, const PlateauState& plateau = {});

/// Epochs that a run of this schedule takes, `cooldown` of them at the floor.
[[nodiscard]] std::int64_t total_epochs(const ScheduleOptions& options, std::int64_t cooldown);
/// Whether it ends at min_lr, so that a cool-down there makes sense.
[[nodiscard]] bool has_floor(ScheduleKind kind);

}  // namespace fovea
