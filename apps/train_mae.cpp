// train_mae: trains a masked autoencoder on any image data set.
#include "apps/common/training.h"

namespace fovea::programs {

int run_train_mae(int argc, char** argv) {
  return run_training(
      {"train_mae",
       "Trains a masked autoencoder without labels; --finetune turns its encoder into a "
       "classifier.\n"
       "Defaults come from the data set's recipe (shown: builtin; others: recipes/cifar_mae.json,\n"
       "recipes/imagenet_mae_base.json); a --config file overrides it, flags override both.",
       {.task = TaskKind::masked_autoencoding, .dataset_in_folder = "auto"}},
      argc, argv);
}

}  // namespace fovea::programs
