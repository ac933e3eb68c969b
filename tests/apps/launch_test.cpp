// Programs that a launcher starts in several processes, but that run in one.
#include "apps/common/launch.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "apps/common/app.h"
#include "engine/base/error.h"
#include "tests/support/environment.h"

namespace fovea {

TEST_CASE("a program that shares no work is refused where several processes were started") {
  CHECK_NOTHROW(require_one_process());
  {
    const Environment mpirun({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    CHECK_THROWS_WITH_AS(require_one_process(), doctest::Contains("2 processes were started"),
                         Error);
  }
  {
    const Environment second({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    CHECK_THROWS_AS(require_one_process(), HelpRequest);  // which prints nothing
  }
  {
    const Environment torchrun({{"RANK", "1"}, {"WORLD_SIZE", "3"}});
    CHECK_THROWS_WITH_AS(require_one_process(), doctest::Contains("WORLD_SIZE says that 3"), Error);
  }
  const Environment alone({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  CHECK_NOTHROW(require_one_process());
}

}  // namespace fovea
