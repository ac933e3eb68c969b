// Which sizes come when, and whether a model takes them.
#include "train/loop/training_sizes.h"

#include <algorithm>
#include <cmath>

#include "base/fields.h"
#include "engine/autograd.h"
#include "engine/rng.h"

namespace fovea {

ImageSize training_size(const TrainingSizes& sizes, ImageSize usual, std::int64_t epoch) {
  constexpr std::uint64_t kSizeStream = 0x73697A65;  // "size"
  if (sizes.sides.empty()) return usual;
  const auto count = std::ssize(sizes.sides);
  std::int64_t chosen = 0;
  if (sizes.schedule == SizeSchedule::random) {
    Rng rng(sizes.seed, stream_of(kSizeStream, static_cast<std::uint64_t>(epoch)));
    chosen = rng.below(count);
  } else {  // evenly from the first to the last
    const auto last = static_cast<double>(std::max<std::int64_t>(sizes.epochs - 1, 1));
    const double progress = std::min(static_cast<double>(epoch) / last, 1.0);
    chosen = std::lround(progress * static_cast<double>(count - 1));
  }
  const std::int64_t side = sizes.sides[static_cast<std::size_t>(chosen)];
  return {side, side};
}

void try_training_sizes(const TrainingSizes& sizes, Model& model, const std::string& who) {
  const NoGrad no_grad;
  Context ctx;
  ctx.any_size = true;
  for (const std::int64_t side : sizes.sides) {
    try {
      const TensorOptions options{DType::f32, model.device()};
      (void)model.probe(zeros({1, model.info().in_chans, side, side}, options), ctx);
    } catch (const Error& error) {
      throw UsageError("--train-img-sizes: " + who + " cannot take size " + std::to_string(side) +
                       ": " + error.what());
    }
  }
}

}  // namespace fovea
