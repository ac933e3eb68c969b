// train_cifar: trains a model on the built-in data set, CIFAR-10 or CIFAR-100.
#include "apps/common/training.h"

namespace fovea::programs {

int run_train_cifar(int argc, char** argv) {
  return run_training(
      {"train_cifar",
       "Trains a model on small images. Defaults come from the data set's recipe (shown: builtin;\n"
       "CIFAR's is recipes/cifar.json); a --config file overrides it, flags override both.",
       {}},
      argc, argv);
}

}  // namespace fovea::programs
