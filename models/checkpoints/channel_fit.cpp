// Summing or repeating the channels of a patch embedding.
#include "models/checkpoints/channel_fit.h"

#include <vector>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {

Fitted fit_channels(const Parameter& p, const Tensor& file) {
  constexpr std::int64_t kRgb = 3;
  const Shape &own = p.tensor.shape(), &shape = file.shape();
  const bool fits = own.rank() == 4 && shape.rank() == 4 && shape[1] == kRgb && own[1] != kRgb &&
                    own[0] == shape[0] && own[2] == shape[2] && own[3] == shape[3];
  if (!fits) return {};
  const NoGrad no_grad;
  const std::int64_t channels = own[1];
  const Tensor values = file.to(p.tensor.dtype());
  if (channels == 1) {
    const Tensor sum = ops::unsqueeze(ops::sum(values, {1}), 1).contiguous();
    return {.values = sum, .notes = {concat(p.name, " was summed over the channels of RGB")}};
  }
  std::vector<Tensor> in_turn;
  for (std::int64_t c = 0; c < channels; ++c) {
    in_turn.push_back(ops::slice(values, 1, c % kRgb, c % kRgb + 1));
  }
  const double scale = static_cast<double>(kRgb) / static_cast<double>(channels);
  return {.values = (ops::cat(in_turn, 1) * scale).contiguous(),
          .notes = {concat(p.name, " was repeated from 3 channels to ", channels)}};
}

}  // namespace fovea
