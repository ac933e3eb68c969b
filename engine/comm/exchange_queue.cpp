// A stream of its own on a GPU.
#include "engine/comm/exchange_queue.h"

#include "engine/cuda/runtime.h"

namespace fovea {

struct ExchangeQueue::Streams {
  cuda::Stream ops, own;
};
struct ExchangeQueue::Mark {
  cuda::Moment moment;
};
struct ExchangeQueue::Scope::Selected {
  cuda::StreamScope scope;
};

ExchangeQueue::ExchangeQueue(Device device) {
  if (device.is_cpu()) return;
  streams_ = std::make_unique<Streams>(
      Streams{cuda::Stream::current(device.index), cuda::Stream::exchange(device.index)});
}
ExchangeQueue::~ExchangeQueue() = default;

ExchangeQueue::Ready ExchangeQueue::after_ops() const {
  if (streams_ == nullptr) return nullptr;
  return std::make_shared<const Mark>(Mark{streams_->ops.now()});
}

void ExchangeQueue::hold_ops() const {
  if (streams_ != nullptr) streams_->ops.wait_for(streams_->own);
}

void ExchangeQueue::share(const Tensor& tensor) const {
  if (streams_ == nullptr) return;
  for (const cuda::Stream& stream : {streams_->ops, streams_->own}) {
    cuda::also_used_by(tensor.storage().data(), stream);
  }
}

ExchangeQueue::Scope::Scope(const ExchangeQueue& queue, const Ready& ready) {
  if (queue.streams_ == nullptr) return;
  queue.streams_->own.wait_for(ready->moment);
  selected_.reset(new Selected{cuda::StreamScope(queue.streams_->own)});
}
ExchangeQueue::Scope::~Scope() = default;

}  // namespace fovea
