// train_cifar: trains a model on the built-in data set, CIFAR-10 or CIFAR-100.
#include "apps/common/app.h"
#include "apps/common/training.h"

namespace {

int train(int argc, char** argv) {
  return fovea::run_training(
      {"train_cifar",
       "Trains a model on small images. Defaults come from the data set's recipe (shown: builtin;\n"
       "CIFAR's is recipes/cifar.json); a --config file overrides it, flags override both.",
       {}},
      argc, argv);
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, train); }
