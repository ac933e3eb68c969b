// The exchange of one shard: batches, gradients and moments stay where they are.
#include "train/loop/exchange.h"

#include "train/optim/gradients.h"

namespace fovea {

BatchSource& Exchange::begin(BatchSource& source, std::int64_t /*count*/) { return source; }

std::unique_ptr<OnCompleteGradient> Exchange::sending(std::int64_t /*shard*/,
                                                      bool /*is_last_batch*/) {
  return nullptr;
}

void Exchange::take(std::int64_t /*shard*/) {}

void Exchange::finish(StepResults& /*numbers*/) {}

Tensor Exchange::squares() const { return gradient_squares(store_); }

void Exchange::share_values() {}

void Exchange::shard_state(Optimizer& /*optimizer*/, Ema* /*ema*/) {}

Exchange::Tensors Exchange::whole(const Tensors& parts, std::size_t /*prefix*/,
                                  bool /*everywhere*/) const {
  return parts;
}

}  // namespace fovea
