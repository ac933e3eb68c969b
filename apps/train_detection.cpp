// train_detection: trains a detector on any data set with boxes.
#include "apps/common/training.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"

namespace fovea::programs {

int run_train_detection(int argc, char** argv) {
  return run_training(
      {"train_detection",
       concat("Trains a detector, DETR or Deformable DETR, on images with boxes: drawn scenes,\n"
              "COCO's files or VOC's folders; ",
              program_call("predict"),
              " draws what it finds on your pictures.\n"
              "Defaults come from the data set's recipe (shown: scenes; others: recipes/\n"
              "deformable_detr_coco.json); a --config file overrides it, flags override both."),
       {.task = TaskKind::detection, .dataset = "scenes", .dataset_in_folder = "coco"}},
      argc, argv);
}

}  // namespace fovea::programs
