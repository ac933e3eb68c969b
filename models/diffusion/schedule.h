// Noise schedules and respacing: how much noise each time step adds, and which steps a sampler
// takes (Nichol and Dhariwal 2021, "Improved Denoising Diffusion Probabilistic Models").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/names.h"

namespace fovea {

enum class NoiseSchedule { linear, cosine };
template <>
inline constexpr auto kNames<NoiseSchedule> = std::to_array<Named<NoiseSchedule>>(
    {{NoiseSchedule::linear, "linear"}, {NoiseSchedule::cosine, "squaredcos_cap_v2"}});

/// The variances beta_0 ... beta_(steps - 1) of the noise that each step adds.
/// linear: evenly spaced from 0.1 / steps to 20 / steps, which needs more than 20 steps.
/// cosine: 1 - a((i + 1) / steps) / a(i / steps), at most 0.999, with
/// a(u) = cos^2((u + 0.008) / 1.008 pi / 2).
[[nodiscard]] std::vector<double> noise_betas(NoiseSchedule schedule, std::int64_t steps);

/// The steps of 0 ... steps - 1 that a sampler takes, ascending. `respacing` is "" (all), a count
/// ("250"), counts of equally long sections, in order ("10,15,20"), or "ddimN": multiples of the
/// smallest stride that gives exactly N steps. Positions within a section are rounded half to even.
/// Throws if a section is shorter than its count, or if no stride gives N steps.
[[nodiscard]] std::vector<std::int64_t> space_timesteps(std::int64_t steps,
                                                        std::string_view respacing);

}  // namespace fovea
