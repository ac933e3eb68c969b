// Which sizes come when, and whether a model takes them.
#include "train/training_sizes.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/rng.h"
#include "settings/pipeline.h"
#include "train/evaluate.h"

namespace fovea {

ImageSize training_size(const TrainConfig& config, ImageSize usual, std::int64_t epoch) {
  constexpr std::uint64_t kSizeStream = 0x73697A65;  // "size"
  if (config.train_img_sizes.empty()) return usual;
  const auto count = static_cast<std::int64_t>(config.train_img_sizes.size());
  std::int64_t chosen = 0;
  if (config.train_size_schedule == SizeSchedule::random) {
    Rng rng(seed_of(config), stream_of(kSizeStream, static_cast<std::uint64_t>(epoch)));
    chosen = rng.below(count);
  } else {  // evenly from the first to the last
    const auto last = static_cast<double>(std::max<std::int64_t>(config.epochs - 1, 1));
    const double progress = std::min(static_cast<double>(epoch) / last, 1.0);
    chosen = std::lround(progress * static_cast<double>(count - 1));
  }
  const auto side =
      static_cast<std::int64_t>(config.train_img_sizes[static_cast<std::size_t>(chosen)]);
  return {side, side};
}

void try_training_sizes(const TrainConfig& config, Model& model, const std::string& who) {
  const NoGrad no_grad;
  Context ctx;
  ctx.any_size = true;
  for (const double s : config.train_img_sizes) {
    const auto side = static_cast<std::int64_t>(s);
    try {
      const TensorOptions options{DType::f32, device_of(model)};
      (void)model.forward(zeros({1, model.info().in_chans, side, side}, options), ctx);
    } catch (const Error& error) {
      throw UsageError("--train-img-sizes: " + who + " cannot take size " + std::to_string(side) +
                       ": " + error.what());
    }
  }
}

}  // namespace fovea
