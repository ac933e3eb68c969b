// The fake device's order and findings, for tests that also run on a GPU.
#include "tests/cuda/seeds.h"

#include "tests/cuda/fake/queues.h"

namespace fovea::tests {

void use_seed(std::uint64_t seed) { fake::Queues::instance().set_seed(seed); }
std::vector<std::string> take_findings() { return fake::Queues::instance().take_findings(); }

}  // namespace fovea::tests
