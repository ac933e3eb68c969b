// train_mae: trains a masked autoencoder on any image data set.
#include "apps/app.h"
#include "apps/training.h"

namespace {

int train(int argc, char** argv) {
  return fovea::run_training(
      {"train_mae",
       "Trains a masked autoencoder: an encoder that classifiers start from, without labels.\n"
       "Defaults are the recipe of the data set (shown: builtin; there are recipes/cifar_mae.json\n"
       "and recipes/imagenet_mae_base.json); a --config file overrides it, flags override both.",
       {.task = fovea::TaskKind::masked_autoencoding, .dataset_in_folder = "auto"}},
      argc, argv);
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, train); }
