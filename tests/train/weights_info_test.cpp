// What weights say of themselves.
#include "train/run/weights_info.h"

#include <doctest/doctest.h>

#include "models/checkpoints/pretrained.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {

TEST_CASE("weights carry what evaluation and prediction need") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  WeightsInfo info;
  info.dataset = "builtin";
  info.classes = {"a", "b, \"c\""};
  info.normalization = {{0.1F, 0.2F, 0.3F}, {1, 2, 3}};
  info.epoch = 4;
  info.scores = {{"top1", 12.5}};
  const auto file = folder / "best.safetensors";
  weights_file(file, trainer.model(), state_of(trainer.model()), info).write();
  const WeightsInfo read = read_weights_info(file);
  CHECK(read.dataset == info.dataset);
  CHECK(read.classes == info.classes);
  CHECK(read.normalization.mean == info.normalization.mean);
  CHECK(read.normalization.deviation == info.normalization.deviation);
  CHECK(read.epoch == 4);
  CHECK(read.scores == info.scores);
  const std::unique_ptr<Model> model = load_model(file);
  CHECK(model->info().config == trainer.model().info().config);
  CHECK(model->store().find("head.weight").to_vector() ==
        trainer.model().store().find("head.weight").to_vector());
}

}  // namespace fovea
