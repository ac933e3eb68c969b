// train_vae: trains a variational autoencoder on any image data set.
#include "apps/common/training.h"

namespace fovea::programs {

int run_train_vae(int argc, char** argv) {
  return run_training(
      {"train_vae",
       "Trains an image autoencoder for diffusion on latents: encode and sample take the run as "
       "--vae.\n"
       "Defaults come from the data set's recipe (shown: builtin; others: recipes/cifar_vae.json,\n"
       "recipes/imagenet_vae_f8.json); a --config file overrides it, flags override both.",
       {.task = TaskKind::autoencoding, .dataset_in_folder = "auto"}},
      argc, argv);
}

}  // namespace fovea::programs
