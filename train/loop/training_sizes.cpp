// Size of training images per epoch, and a trial of the model at each size.
#include "train/loop/training_sizes.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/fields.h"
#include "engine/rng.h"

namespace fovea {

ImageSize training_size(const TrainingSizes& sizes, ImageSize usual, const EpochPlace& place) {
  constexpr std::uint64_t kSizeStream = 0x73697A65;  // "size"
  if (sizes.sides.empty()) return usual;
  const auto count = std::ssize(sizes.sides);
  std::int64_t chosen = 0;
  if (sizes.schedule == SizeSchedule::random) {
    Rng rng(place.seed, stream_of(kSizeStream, static_cast<std::uint64_t>(place.epoch)));
    chosen = rng.below(count);
  } else {  // evenly spaced from first to last
    const double last = std::max(place.epochs - 1, 1.0);
    const double progress = std::min(static_cast<double>(place.epoch) / last, 1.0);
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
      throw UsageError("--train-img-sizes: " + who + " does not support size " +
                       std::to_string(side) + ": " + error.what());
    }
  }
}

}  // namespace fovea
