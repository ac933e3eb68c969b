// train_imagenet: trains a model on photographs in class folders, tar shards or packs.
#include "apps/common/training.h"

namespace fovea::programs {

int run_train_imagenet(int argc, char** argv) {
  return run_training(
      {"train_imagenet",
       "Trains a model on photographs: --data-dir with class folders in train/ and val/, tar\n"
       "shards, or train.pack and val.pack. Defaults come from DeiT's recipe\n"
       "(recipes/imagenet_deit_tiny.json), with --finetune HUB_FOLDER from recipes/finetune.json;\n"
       "a --config file overrides it, flags override both.",
       {.dataset = "auto", .dataset_in_folder = "auto"}},
      argc, argv);
}

}  // namespace fovea::programs
