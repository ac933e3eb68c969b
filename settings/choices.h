// What a run can choose among, by name, of the parts that stand above the settings.
#pragma once

#include "base/names.h"
#include "models/task_kind.h"

namespace fovea {

enum class BadImages { stop, skip };  ///< stop: when more than 1 % are broken
template <>
inline constexpr auto kNames<BadImages> =
    std::to_array<Named<BadImages>>({{BadImages::stop, "stop"}, {BadImages::skip, "skip"}});

enum class SizeSchedule { progressive, random };  ///< of training's image sizes
template <>
inline constexpr auto kNames<SizeSchedule> = std::to_array<Named<SizeSchedule>>(
    {{SizeSchedule::progressive, "progressive"}, {SizeSchedule::random, "random"}});

enum class InitialValues { timm, jax };
template <>
inline constexpr auto kNames<InitialValues> = std::to_array<Named<InitialValues>>(
    {{InitialValues::timm, "timm"}, {InitialValues::jax, "jax"}});

enum class RateScale { linear, sqrt };  ///< how the rate grows with the samples of a step
template <>
inline constexpr auto kNames<RateScale> =
    std::to_array<Named<RateScale>>({{RateScale::linear, "linear"}, {RateScale::sqrt, "sqrt"}});

/// What a student learns from a teacher: nothing, its softened logits, its decision, its sigmoids.
enum class Distillation { none, soft, hard, bce };
template <>
inline constexpr auto kNames<Distillation> =
    std::to_array<Named<Distillation>>({{Distillation::none, "none"},
                                        {Distillation::soft, "soft"},
                                        {Distillation::hard, "hard"},
                                        {Distillation::bce, "bce"}});

}  // namespace fovea
