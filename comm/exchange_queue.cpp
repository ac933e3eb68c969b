// A stream of its own on a GPU.
#include "comm/exchange_queue.h"

namespace fovea {

ExchangeQueue::ExchangeQueue(Device device) {
  if (device.is_cpu()) return;
  ops_ = cuda::Stream::current(device.index);
  own_ = cuda::Stream::exchange(device.index);
}

void ExchangeQueue::wait_for_ops() const {
  if (own_) own_->wait_for(*ops_);
}

void ExchangeQueue::hold_ops() const {
  if (own_) ops_->wait_for(*own_);
}

void ExchangeQueue::share(const Tensor& tensor) const {
  if (!own_) return;
  for (const cuda::Stream& stream : {*ops_, *own_}) {
    cuda::also_used_by(tensor.storage().data(), stream);
  }
}

ExchangeQueue::Scope::Scope(const ExchangeQueue& queue) {
  if (queue.own_) scope_.emplace(*queue.own_);
}

}  // namespace fovea
