// The interface between ops and devices: one table of kernels per device and instruction set.
//
// Above it are shapes, checks, the tape and derivatives (ops/<family>/<family>.cpp); below it are
// the loops and the threads that run them. The call.h of a family defines the arguments of its
// kernels: plain pointers, sizes and strides, independent of the device. Its cpu*.cpp files are
// compiled for each CPU instruction set that overrides this family (cmake/FoveaIsas.cmake; other
// families are inherited from the next lower set), its *.cu files for CUDA. Each side defines a
// table `<family>_kernels`, and table.cpp.in collects the tables of a device or instruction set.
//
// Rule for cpu*.cpp: define nothing outside namespace fovea::ops::cpu::FOVEA_ISA (v2, v3 or v4) or
// an anonymous namespace, and call no inline header function that could be emitted as a shared
// symbol: the linker keeps one copy, which another processor might not be able to run.
// tests/programs/isa_symbols.sh checks the object files.
#pragma once

#include "engine/cpu_isa.h"
#include "engine/device.h"
#include "ops/attention/call.h"
#include "ops/conv/call.h"
#include "ops/deformable/call.h"
#include "ops/elementwise/call.h"
#include "ops/index/call.h"
#include "ops/loss/call.h"
#include "ops/norm/call.h"
#include "ops/order/call.h"
#include "ops/pool/call.h"
#include "ops/product/call.h"
#include "ops/reduce/call.h"
#include "ops/resize/call.h"
#include "ops/softmax/call.h"
#include "ops/update/call.h"

namespace fovea::ops {

/// The table of a family that a device does not implement: all entries are null and throw when
/// called.
template <class Table>
inline constexpr Table kNoKernels{};

/// One member per family, in alphabetical order, named after its folder.
struct Kernels {
  const AttentionKernels& attention = kNoKernels<AttentionKernels>;
  const ConvKernels& conv = kNoKernels<ConvKernels>;
  const DeformableKernels& deformable = kNoKernels<DeformableKernels>;
  const ElementwiseKernels& elementwise = kNoKernels<ElementwiseKernels>;
  const IndexKernels& index = kNoKernels<IndexKernels>;
  const LossKernels& loss = kNoKernels<LossKernels>;
  const NormKernels& norm = kNoKernels<NormKernels>;
  const OrderKernels& order = kNoKernels<OrderKernels>;
  const PoolKernels& pool = kNoKernels<PoolKernels>;
  const ProductKernels& product = kNoKernels<ProductKernels>;
  const ReduceKernels& reduce = kNoKernels<ReduceKernels>;
  const ResizeKernels& resize = kNoKernels<ResizeKernels>;
  const SoftmaxKernels& softmax = kNoKernels<SoftmaxKernels>;
  const UpdateKernels& update = kNoKernels<UpdateKernels>;
};

/// The kernels of `device`. The call also makes it this thread's current CUDA device, on which the
/// table's kernels run. Call it before each use; do not keep the table while requesting other
/// devices.
[[nodiscard]] const Kernels& kernels(Device device);

namespace cpu {
/// The kernels of an instruction set, which the processor may not support.
[[nodiscard]] const Kernels& kernels_of(Isa isa);
}  // namespace cpu

}  // namespace fovea::ops
