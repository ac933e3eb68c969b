// What the environment says about the processes of a run.
#include "engine/comm/launcher.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/base/error.h"
#include "engine/comm/world.h"
#include "tests/support/environment.h"

namespace fovea {

TEST_CASE("a program that torchrun starts several times is refused with the command of mpirun") {
  const Environment torchrun({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}});
  CHECK(processes_of_torchrun() == 4);
  CHECK_THROWS_WITH_AS(static_cast<void>(join_world()),
                       doctest::Contains("mpirun -n 4 fovea train_cifar"), Error);
  const Environment script(  // torchrun in the script of a job of Slurm
      {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}});
  CHECK_THROWS_WITH_AS(static_cast<void>(join_world()),
                       doctest::Contains("mpirun -n 4 fovea train_cifar"), Error);
}

TEST_CASE("one process of torchrun, and variables that mean something else, are no obstacle") {
  for (const char* size : {"1", "", "many"}) {
    CAPTURE(std::string(size));
    const Environment alone(
        std::map<std::string, std::string>{{"RANK", "0"}, {"WORLD_SIZE", size}});
    CHECK(processes_of_torchrun() == 1);
    CHECK(join_world() == nullptr);
  }
  const Environment only_size(std::map<std::string, std::string>{{"WORLD_SIZE", "4"}});
  CHECK(processes_of_torchrun() == 1);
}

TEST_CASE("mpirun's own numbers count before those of torchrun") {
  const Environment both({{"RANK", "1"},
                          {"WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_RANK", "0"},
                          {"OMPI_COMM_WORLD_SIZE", "1"}});
  REQUIRE(launcher());
  CHECK(launcher()->size == 1);
}

}  // namespace fovea
