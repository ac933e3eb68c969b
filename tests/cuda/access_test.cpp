// How kernels reach memory, as the emulator counts it: 16 bytes at a time along rows, and shared
// memory without conflicts of its banks.
#include <doctest/doctest.h>

#include "ops/attention.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/seeds.h"

using namespace fovea;
using emulate::Machine;

namespace {

/// Values and gradients of the sum of `op`, counted by kernel.
template <class Op>
std::map<std::string, emulate::Counters> counters_of(const std::vector<Tensor>& inputs,
                                                     const Op& op) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.to(Device{DeviceType::cuda, 0}).clone().requires_grad_());
  }
  use_seed(1);
  Machine& machine = Machine::instance();
  machine.kernels.clear();
  machine.counts = true;
  const Tensor y = op(leaves);
  backward(y, ones_like(y));
  static_cast<void>(y.to(Device{}).to_vector());  // waits
  machine.counts = false;
  return fake::kernels_run();
}

}  // namespace
