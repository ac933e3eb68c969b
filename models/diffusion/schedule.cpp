// Formulas of the noise schedules, and respacing.
#include "models/diffusion/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000;

std::vector<double> linear_betas(std::int64_t steps) {
  check(steps > 20, "diffusion steps: got ", steps,
        ", expected more than 20 for the linear schedule, whose last beta is 20 / steps");
  const auto count = static_cast<double>(steps);
  const double first = 0.1 / count, last = 20 / count;
  std::vector<double> betas;
  for (std::int64_t i = 0; i < steps; ++i) {
    betas.push_back(first + (last - first) * static_cast<double>(i) / (count - 1));
  }
  return betas;
}

std::vector<double> cosine_betas(std::int64_t steps) {
  const auto remaining = [steps](std::int64_t i) {
    const double u = static_cast<double>(i) / static_cast<double>(steps);
    const double c = std::cos((u + 0.008) / 1.008 * M_PI / 2);
    return c * c;
  };
  std::vector<double> betas;
  for (std::int64_t i = 0; i < steps; ++i) {
    betas.push_back(std::min(1 - remaining(i + 1) / remaining(i), 0.999));
  }
  return betas;
}

/// A count in a respacing text.
std::int64_t parse_count(std::string_view text, std::string_view respacing) {
  const auto count = parse_integer(text);
  check(count && *count >= 0, "sampling steps: got '", respacing,
        "', expected a count such as 250, counts such as 10,15,20, or ddim50");
  return *count;
}

std::vector<std::int64_t> strided(std::int64_t steps, std::int64_t count) {
  for (std::int64_t stride = 1; stride < steps; ++stride) {
    const std::int64_t found = (steps + stride - 1) / stride;
    if (found < count) break;
    if (found > count) continue;
    std::vector<std::int64_t> taken;
    for (std::int64_t t = 0; t < steps; t += stride) taken.push_back(t);
    return taken;
  }
  fail("sampling steps: no integer stride takes exactly ", count, " of ", steps,
       " steps; use another number after ddim, or the count alone");
}

/// Adds `count` positions of the section [start, start + size).
void add_section(std::int64_t start, std::int64_t size, std::int64_t count,
                 std::vector<std::int64_t>& taken) {
  check(count <= size, "sampling steps: got ", count, " steps in a section of ", size,
        ", expected at most as many as it has");
  const double stride =
      count <= 1 ? 1 : static_cast<double>(size - 1) / static_cast<double>(count - 1);
  double position = 0;  // accumulated as in the official code
  for (std::int64_t i = 0; i < count; ++i, position += stride) {
    taken.push_back(start + static_cast<std::int64_t>(std::nearbyint(position)));
  }
}

}  // namespace

std::vector<double> noise_betas(NoiseSchedule schedule, std::int64_t steps) {
  check(steps >= 1 && steps <= kMaxSteps, "diffusion steps: got ", steps, ", expected 1 to ",
        kMaxSteps);
  return schedule == NoiseSchedule::linear ? linear_betas(steps) : cosine_betas(steps);
}

std::vector<std::int64_t> space_timesteps(std::int64_t steps, std::string_view respacing) {
  const std::string_view prefix = "ddim";
  if (respacing.starts_with(prefix)) {
    return strided(steps, parse_count(respacing.substr(prefix.size()), respacing));
  }
  std::vector<std::int64_t> counts;
  for (const std::string& part : split_text(respacing, ',')) {
    counts.push_back(parse_count(part, respacing));
  }
  if (counts.empty()) counts.push_back(steps);
  const std::int64_t sections = std::ssize(counts);
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 0, start = 0; i < sections; ++i) {
    const std::int64_t size = steps / sections + (i < steps % sections ? 1 : 0);
    add_section(start, size, counts[static_cast<std::size_t>(i)], taken);
    start += size;
  }
  check(!taken.empty(), "sampling steps: got '", respacing, "', expected at least one step");
  return taken;
}

}  // namespace fovea
