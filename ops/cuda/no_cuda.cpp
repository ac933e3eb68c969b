// The symbols of ops/cuda/*.h for a build without CUDA. No tensor can be on a CUDA device there, so
// these are never reached.
#include "engine/check.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/softmax.h"

namespace fovea::cuda {
namespace {

constexpr const char* kReason = "this build has no CUDA";

}  // namespace

void map(int, const ops::detail::MapCall&, int) { fail(kReason); }
void gemm(const ops::cpu::GemmCall&, int) { fail(kReason); }
Tensor softmax(const Tensor&, bool) { fail(kReason); }
Tensor softmax_backward(const Tensor&, const Tensor&, bool) { fail(kReason); }

}  // namespace fovea::cuda
