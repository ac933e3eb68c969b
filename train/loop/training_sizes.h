// --train-img-sizes: training images of another size than the model's, epoch by epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/image.h"
#include "models/model.h"

namespace fovea {

enum class SizeSchedule { progressive, random };
template <>
inline constexpr auto kNames<SizeSchedule> = std::to_array<Named<SizeSchedule>>(
    {{SizeSchedule::progressive, "progressive"}, {SizeSchedule::random, "random"}});

struct TrainingSizes {
  std::vector<std::int64_t> sides{};  ///< of the square images; empty: they have their usual size
  SizeSchedule schedule = SizeSchedule::progressive;
  /// Their usual size is the one that each image has, not the model's: for models that take any.
  /// RowOptions::pad_multiple brings different ones into one batch.
  bool keep = false;
};

/// What the size of an epoch's images may depend on.
struct EpochPlace {
  std::int64_t epoch = 0;
  double epochs = 1;       ///< until the last side is reached
  std::uint64_t seed = 0;  ///< of random sides
};

/// Of the training images of an epoch: the side that the schedule says, or `usual` without one.
[[nodiscard]] ImageSize training_size(const TrainingSizes& sizes, ImageSize usual,
                                      const EpochPlace& place);

/// Shows `model` an image of each size: better now than epochs later. Throws UsageError naming
/// `who` where it cannot take one.
void try_training_sizes(const TrainingSizes& sizes, Model& model, const std::string& who);

}  // namespace fovea
