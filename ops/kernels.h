// The interface between ops and devices: one table of kernels per device and instruction set.
//
// Above it are shapes, checks, the tape and derivatives (ops/<family>/<family>.cpp); below it are
// the loops and the threads that run them. The call.h of a family defines the arguments of its
// kernels: plain pointers, sizes and strides, independent of the device. Its cpu*.cpp files are
// compiled for each CPU instruction set that overrides this family (cmake/FoveaIsas.cmake; other
// families are inherited from the next lower set), its *.cu files for CUDA. Each side defines a
// table `<family>_kernels`, and table.cpp.in collects the tables of a device or instruction set.
//
// Rule for cpu*.cpp: define nothing outside namespace fovea::ops::cpu::FOVEA_ISA (v2, v3, ...) or
// an anonymous namespace, and call no inline header function that could be emitted as a shared
// symbol: the linker keeps one copy, which another processor might not be able to run.
// tests/programs/isa_symbols.sh checks the object files.
#pragma once

#include "engine/device.h"

namespace fovea {
enum class Isa;  // engine/cpu_isa.h
}

namespace fovea::ops {

struct AttentionKernels;
struct ConvKernels;
struct DeformableKernels;
struct ElementwiseKernels;
struct GemmKernels;
struct IndexKernels;
struct LossKernels;
struct NormKernels;
struct OrderKernels;
struct PixelsKernels;
struct PoolKernels;
struct ReduceKernels;
struct ResizeKernels;
struct SoftmaxKernels;
struct UpdateKernels;

/// One member per family, in alphabetical order, named after its folder, whose call.h defines the
/// type of its table.
struct Kernels {
  const AttentionKernels& attention;
  const ConvKernels& conv;
  const DeformableKernels& deformable;
  const ElementwiseKernels& elementwise;
  const GemmKernels& gemm;
  const IndexKernels& index;
  const LossKernels& loss;
  const NormKernels& norm;
  const OrderKernels& order;
  const PixelsKernels& pixels;
  const PoolKernels& pool;
  const ReduceKernels& reduce;
  const ResizeKernels& resize;
  const SoftmaxKernels& softmax;
  const UpdateKernels& update;
};

/// The table of a family that a device does not implement: all entries are null and throw when
/// called.
template <class Table>
inline constexpr Table kNoKernels{};

/// The kernels of `device`. The call also makes it this thread's current CUDA device, on which the
/// table's kernels run. Call it before each use; do not keep the table while requesting other
/// devices.
[[nodiscard]] const Kernels& kernels(Device device);

namespace cpu {
/// The kernels of an instruction set, which the processor may not support.
[[nodiscard]] const Kernels& kernels_of(Isa isa);
}  // namespace cpu

}  // namespace fovea::ops
