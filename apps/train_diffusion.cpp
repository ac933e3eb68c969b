// train_diffusion: trains a diffusion transformer on any image data set with classes.
#include "apps/common/training.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"

namespace fovea::programs {

int run_train_diffusion(int argc, char** argv) {
  return run_training(
      {"train_diffusion",
       concat("Trains a diffusion transformer to generate images of the data set's classes;\n",
              program_call("sample"),
              " RUN generates them, and each epoch ends with a sheet of samples.\n"
              "Defaults come from the data set's recipe (shown: builtin; others:\n"
              "recipes/cifar_dit.json, recipes/photographs_dit.json, recipes/latents_dit.json); a\n"
              "--config file overrides it, flags override both."),
       {.task = TaskKind::diffusion, .dataset_in_folder = "auto"}},
      argc, argv);
}

}  // namespace fovea::programs
