// train_depth: trains a model that predicts the depth of each pixel.
#include "apps/common/training.h"

namespace fovea::programs {

int run_train_depth(int argc, char** argv) {
  return run_training(
      {"train_depth",
       "Trains a model that predicts the depth of each pixel of a picture in metres.\n"
       "Defaults come from the data set's recipe (shown: rooms, which are drawn; others:\n"
       "recipes/nyu_depth_pit_small.json); a --config file overrides it, flags override both.",
       {.task = TaskKind::depth, .dataset = "rooms", .dataset_in_folder = "depth_pairs"}},
      argc, argv);
}

}  // namespace fovea::programs
