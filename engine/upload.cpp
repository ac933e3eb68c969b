// One copy on the upload stream, and the compute stream's wait for it.
#include "engine/upload.h"

#include <cstring>
#include <memory>

#include "engine/cuda/runtime.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

bool travels(const Tensor& x, Device device) {
  return device.is_cuda() && x.device().is_cpu() && x.numel() > 0;
}

/// Bytes of a tensor's part of a block: kernels access up to 16 bytes at once.
std::size_t part_bytes(const Tensor& x) {
  constexpr std::size_t kAlignment = 64;
  return (static_cast<std::size_t>(x.byte_count()) + kAlignment - 1) / kAlignment * kAlignment;
}

/// A packed tensor like x in the block, from this byte on.
Tensor part_of(const Storage& block, std::size_t byte, const Tensor& x) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = block;
  impl->offset = static_cast<std::int64_t>(byte / size_of(x.dtype()));
  impl->shape = x.shape();
  impl->strides = contiguous_strides(x.shape());
  impl->dtype = x.dtype();
  return Tensor(std::move(impl));
}

/// The tensors that travel, one after the other.
Storage copied_block(std::span<const Tensor> tensors, std::size_t bytes, Device device) {
  const cuda::HostStage stage(bytes, device.index);
  std::size_t place = 0;
  for (const Tensor& x : tensors) {
    if (!travels(x, device)) continue;
    const Tensor packed = x.contiguous();
    std::memcpy(stage.data() + place, packed.raw(), static_cast<std::size_t>(packed.byte_count()));
    place += part_bytes(x);
  }
  const cuda::Stream ops = cuda::Stream::current(device.index);
  const cuda::Stream copies = cuda::Stream::upload(device.index);
  const cuda::StreamScope scope(copies);
  Storage block(bytes, device);
  stage.put(0, block.data(), bytes);
  ops.wait_for(copies);
  cuda::also_used_by(block.data(), ops);
  return block;
}

}  // namespace

std::vector<Tensor> upload(std::span<const Tensor> tensors, Device device) {
  std::size_t bytes = 0;
  for (const Tensor& x : tensors) bytes += travels(x, device) ? part_bytes(x) : 0;
  const Storage block = bytes == 0 ? Storage() : copied_block(tensors, bytes, device);
  std::vector<Tensor> there;
  std::size_t place = 0;
  for (const Tensor& x : tensors) {
    const bool goes = travels(x, device);
    there.push_back(goes ? part_of(block, place, x) : x.to(device));
    place += goes ? part_bytes(x) : 0;
  }
  return there;
}

Tensor upload(const Tensor& x, Device device) { return upload({&x, 1}, device).front(); }

}  // namespace fovea
