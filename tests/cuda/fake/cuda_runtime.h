// The fake device's <cuda_runtime.h>: the runtime API and CUDA C++'s language extensions.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "cuda_runtime_api.h"
#include "tests/cuda/emulator/device.h"

using dim3 = fovea::emulate::Dim3;

namespace fovea::fake {

cudaError_t launch_kernel(const void* kernel, const emulate::Launch& launch, cudaStream_t stream);

/// Replaces cudaLaunchKernel, which does not receive the types of a kernel's parameters.
template <class... Params, class Arguments>
cudaError_t start_kernel(const char* op, cudaStream_t stream, void (*kernel)(Params...), dim3 grid,
                         dim3 block, std::size_t shared_bytes, Arguments arguments) {
  struct Call {
    void (*kernel)(Params...);
    Arguments arguments;
  };
  emulate::Launch launch;
  launch.kernel = *op != 0 ? op : "a kernel";
  launch.grid = grid;
  launch.block = block;
  launch.shared_bytes = shared_bytes;
  launch.parameters = std::make_shared<const Call>(Call{kernel, std::move(arguments)});
  launch.parameter_bytes = sizeof(Call);
  launch.argument_bytes = sizeof(Arguments);
  launch.body = [](const void* parameters) {
    const auto& call = *static_cast<const Call*>(parameters);
    std::apply(call.kernel, call.arguments);
  };
  return launch_kernel(reinterpret_cast<const void*>(kernel), launch, stream);
}

}  // namespace fovea::fake
