// Noise schedules and respacing: check values of the official code, and errors.
#include "models/diffusion/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "models/diffusion/process.h"
#include "tests/support/errors.h"

namespace fovea {
namespace {

using Steps = std::vector<std::int64_t>;
using tests::check_error;

void check_schedule_value(double value, double expected) {
  CHECK(std::abs(value - expected) <= 1e-12 * std::abs(expected));
}

}  // namespace

TEST_CASE("the linear schedule has the official values") {
  const DiffusionProcess process;
  CHECK(process.size() == 1000);
  check_schedule_value(process.betas()[0], 1e-4);
  check_schedule_value(process.betas()[999], 0.02);
  check_schedule_value(process.at(0).alphas_cumprod, 0.9999);
  check_schedule_value(process.at(1).alphas_cumprod, 0.9997800920720721);
  check_schedule_value(process.at(499).alphas_cumprod, 0.07858724288177824);
  check_schedule_value(process.at(999).alphas_cumprod, 4.035829765375676e-5);
  check_schedule_value(process.at(1).posterior_variance, 5.453187661300667e-5);
}

TEST_CASE("the clipped log-variance of step 0 is that of step 1") {
  const DiffusionProcess process;
  CHECK(process.at(0).posterior_variance == 0);
  check_schedule_value(process.at(0).posterior_log_variance, -9.81672513529595);
  CHECK(process.at(0).posterior_log_variance == process.at(1).posterior_log_variance);
  CHECK(process.at(0).fixed_log_variance == process.at(1).posterior_log_variance);
  CHECK(process.at(1).fixed_log_variance == std::log(process.betas()[1]));
}

TEST_CASE("the linear schedule scales with the number of steps") {
  const std::vector<double> betas = noise_betas(NoiseSchedule::linear, 100);
  check_schedule_value(betas.front(), 1e-3);
  check_schedule_value(betas.back(), 0.2);
}

TEST_CASE("the cosine schedule has the official values") {
  const DiffusionProcess process({.schedule = NoiseSchedule::cosine});
  check_schedule_value(process.betas()[0], 4.128422482196914e-5);
  check_schedule_value(process.at(499).alphas_cumprod, 0.4938435904406382);
  CHECK(process.betas()[999] == 0.999);
}

TEST_CASE("a schedule rejects numbers of steps that it cannot have") {
  check_error([] { return noise_betas(NoiseSchedule::linear, 20); }, "more than 20");
  CHECK(noise_betas(NoiseSchedule::linear, 21).size() == 21);
  CHECK(noise_betas(NoiseSchedule::cosine, 1).size() == 1);
  check_error([] { return noise_betas(NoiseSchedule::cosine, 0); }, "got 0, expected 1 to");
  check_error([] { return noise_betas(NoiseSchedule::cosine, -3); }, "got -3");
}

TEST_CASE("a count spaces steps evenly, rounded half to even") {
  const Steps steps = space_timesteps(1000, "250");
  REQUIRE(steps.size() == 250);
  CHECK(Steps(steps.begin(), steps.begin() + 5) == Steps{0, 4, 8, 12, 16});
  CHECK(Steps(steps.end() - 3, steps.end()) == Steps{991, 995, 999});
  CHECK(std::accumulate(steps.begin(), steps.end(), std::int64_t{0}) == 124875);
  CHECK(space_timesteps(1000, "10") == Steps{0, 111, 222, 333, 444, 555, 666, 777, 888, 999});
  // 1.5, 4.5 and 7.5 are halfway: 2, 4 and 8, not 2, 5 and 8.
  CHECK(space_timesteps(10, "7") == Steps{0, 2, 3, 4, 6, 8, 9});
}

TEST_CASE("a list of counts divides the steps into sections") {
  CHECK(space_timesteps(1000, "3,2") == Steps{0, 250, 499, 500, 999});
  // sections of 4, 3 and 3; one of a single step takes its first
  CHECK(space_timesteps(10, "2,1,2") == Steps{0, 3, 4, 7, 9});
  CHECK(space_timesteps(10, "0,2") == Steps{5, 9});
}

TEST_CASE("ddimN takes the smallest stride that gives exactly N steps") {
  CHECK(space_timesteps(1000, "ddim5") == Steps{0, 200, 400, 600, 800});
  CHECK(space_timesteps(1000, "ddim1000").size() == 1000);
  CHECK(space_timesteps(1000, "ddim50")[1] == 20);
  check_error([] { return space_timesteps(1000, "ddim300"); },
              "no integer stride takes exactly 300 of 1000 steps");
}

TEST_CASE("an empty respacing takes all steps") {
  Steps all(7);
  std::iota(all.begin(), all.end(), 0);
  CHECK(space_timesteps(7, "") == all);
}

TEST_CASE("a respacing that cannot be is rejected") {
  check_error([] { return space_timesteps(1000, "1001"); }, "got 1001 steps in a section of 1000");
  check_error([] { return space_timesteps(10, "6,5"); }, "got 6 steps in a section of 5");
  for (const char* text : {"0", "0,0"}) {
    check_error([text] { return space_timesteps(10, text); }, "expected at least one step");
  }
  for (const char* text :
       {"x", "-1", "1.5", "2,", ",2", "ddim", "ddimx", "DDIM5", "99999999999999999999"}) {
    CAPTURE(text);
    check_error([text] { return space_timesteps(1000, text); }, "expected a count such as 250");
  }
}

TEST_CASE("respaced betas keep the products at the steps that are taken") {
  const DiffusionProcess whole, spaced({.respacing = "250"});
  REQUIRE(spaced.size() == 250);
  check_schedule_value(spaced.betas()[0], 1e-4);
  check_schedule_value(spaced.betas()[1], 5.990655644756426e-4);
  check_schedule_value(spaced.betas()[249], 0.07751934499235003);
  for (const std::int64_t i : {0, 1, 100, 249}) {
    check_schedule_value(spaced.at(i).alphas_cumprod, whole.at(spaced.timestep(i)).alphas_cumprod);
  }
  CHECK(spaced.timestep(249) == 999);
}

}  // namespace fovea
