// --train-img-sizes: training image sizes that differ from the model's and change by epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"
#include "engine/base/names.h"
#include "models/model.h"

namespace fovea {

enum class SizeSchedule { progressive, random };
template <>
inline constexpr auto kNames<SizeSchedule> = std::to_array<Named<SizeSchedule>>(
    {{SizeSchedule::progressive, "progressive"}, {SizeSchedule::random, "random"}});

struct TrainingSizes {
  std::vector<std::int64_t> sides{};  ///< side lengths of the square images; empty: the usual size
  SizeSchedule schedule = SizeSchedule::progressive;
  /// Images keep their own size instead of the model's, for models that accept any size.
  /// RowOptions::pad_multiple allows different sizes in one batch.
  bool keep = false;
};

/// The epoch's position, which determines its image size.
struct EpochPlace {
  std::int64_t epoch = 0;
  double epochs = 1;       ///< epochs until the last size is reached
  std::uint64_t seed = 0;  ///< seed of randomly chosen sizes
};

/// Size of an epoch's training images by the schedule, or `usual` without a schedule.
[[nodiscard]] ImageSize training_size(const TrainingSizes& sizes, ImageSize usual,
                                      const EpochPlace& place);

/// Runs `model` on one image of each size, so that an unsupported size fails at once instead of
/// epochs later. Throws UsageError naming `who`.
void try_training_sizes(const TrainingSizes& sizes, Model& model, const std::string& who);

}  // namespace fovea
