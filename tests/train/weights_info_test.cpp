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

TEST_CASE("a detector's weights keep the category ids that were numbered") {
  Trainer trainer = make_trainer(tiny_config());
  WeightsInfo info;
  const auto file_with = [&](const CategoryIds& ids) {
    info.categories = ids;
    return weights_file("a.safetensors", trainer.model(), state_of(trainer.model()), info);
  };
  CHECK_FALSE(file_with({}).metadata.contains("category_ids"));
  PendingFile file = file_with(CategoryIds({5001, 5002}));
  CHECK(weights_info(file.metadata, file.path).categories.ids() ==
        std::vector<std::int64_t>{5001, 5002});
  for (const char* const damaged : {"[2, 1]", "[-1]", "7"}) {
    file.metadata["category_ids"] = damaged;
    CHECK_THROWS_AS(static_cast<void>(weights_info(file.metadata, file.path)), Error);
  }
}

TEST_CASE("weights say whether their pictures were turned; others were not") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_config());
  for (const ExifOrientation orientation : {ExifOrientation::ignore, ExifOrientation::apply}) {
    WeightsInfo info;
    info.exif_orientation = orientation;
    const PendingFile file =
        weights_file(folder / "a.safetensors", trainer.model(), state_of(trainer.model()), info);
    CHECK(file.metadata.contains("exif_orientation") == (orientation == ExifOrientation::apply));
    CHECK(weights_info(file.metadata, file.path).exif_orientation == orientation);
  }
}

TEST_CASE(
    "a diffusion model's weights say what noise they remove, and damaged values are refused") {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(tiny_diffusion_config());
  WeightsInfo info;
  info.process = ProcessOptions{.schedule = NoiseSchedule::cosine, .steps = 400};
  const PendingFile file =
      weights_file(folder / "a.safetensors", trainer.model(), state_of(trainer.model()), info);
  const auto read = weights_info(file.metadata, file.path);
  REQUIRE(read.process.has_value());
  CHECK(read.process->schedule == NoiseSchedule::cosine);
  CHECK(read.process->steps == 400);
  for (const auto& [key, value] : {std::pair("noise_schedule", "cosine"),
                                   {"diffusion_steps", "0"},
                                   {"diffusion_steps", "1e9"},
                                   {"diffusion_steps", "2.5"},
                                   {"diffusion_steps", "many"}}) {
    Metadata damaged = file.metadata;
    damaged[key] = value;
    const std::string said =
        message_of([&] { static_cast<void>(weights_info(damaged, file.path)); });
    CHECK_MESSAGE(said.find("a.safetensors: its " + std::string(key)) != std::string::npos, said);
  }
  Metadata without = file.metadata;
  without.erase("noise_schedule");
  CHECK_FALSE(weights_info(without, file.path).process.has_value());
}

}  // namespace fovea
