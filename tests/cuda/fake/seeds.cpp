// The fake device's seeds and error counts, for tests that also run on a GPU.
#include "tests/cuda/seeds.h"

#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/fake/queues.h"

namespace fovea::tests {

void use_seed(std::uint64_t seed) { fake::Queues::instance().set_seed(seed); }
void use_worst_rounding(bool worst) { emulate::Machine::instance().rounding = worst ? 1 : 0; }
std::vector<std::string> take_findings() { return fake::Queues::instance().take_findings(); }

std::vector<std::string> kernels_run() {
  std::vector<std::string> names;
  for (const auto& [name, counters] : fake::kernels_run()) names.push_back(name);
  return names;
}

}  // namespace fovea::tests
