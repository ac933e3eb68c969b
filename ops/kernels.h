// The border between ops and devices: one table of kernels a device and instruction set.
//
// Above it stand shapes, checks, the tape and derivatives (ops/<family>/<family>.cpp); below it the
// loops, and the threads that run them. A family's call.h says what its kernels are given: plain
// pointers, sizes and strides, which name no device. Its cpu*.cpp are compiled once for each of the
// CPU's instruction sets that has this family of its own (cmake/FoveaIsas.cmake; it takes the
// others from the set below it), its *.cu for CUDA; each side defines a table `<family>_kernels`,
// and table.cpp.in gathers those of a device or a set.
//
// A rule for cpu*.cpp: nothing is defined outside namespace fovea::ops::cpu::FOVEA_ISA (v2, v3 or
// v4) or an anonymous one, and no inline function of a header is called that could be emitted as a
// shared symbol: the linker keeps one copy, which another processor could not run.
// tests/programs/isa_symbols.sh checks the objects.
#pragma once

#include "engine/cpu_isa.h"
#include "engine/device.h"
#include "ops/attention/call.h"
#include "ops/conv/call.h"
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

/// The table of a family that a device has no form of: every entry is null, and throws when called.
template <class Table>
inline constexpr Table kNoKernels{};

/// A member a family, in the order of the alphabet, named as its folder.
struct Kernels {
  const AttentionKernels& attention = kNoKernels<AttentionKernels>;
  const ConvKernels& conv = kNoKernels<ConvKernels>;
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

/// The kernels of a device, which becomes the one that this thread works on: CUDA's current device,
/// where what is called of the table runs. Ask anew before each call; do not keep the table while
/// other devices are asked for.
[[nodiscard]] const Kernels& kernels(Device device);

namespace cpu {
/// Those of an instruction set, which the processor may lack.
[[nodiscard]] const Kernels& kernels_of(Isa isa);
}  // namespace cpu

}  // namespace fovea::ops
