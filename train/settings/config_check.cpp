// Checks of settings across several components.
#include <nlohmann/json.hpp>

#include "data/fields.h"
#include "train/loop/fields.h"
#include "train/optim/fields.h"
#include "train/settings/config.h"

namespace fovea {
namespace {

void check_images(const TrainConfig& config) {
  const TrainingImages& images = config.images;
  check_options(images.augment);
  const std::int64_t splits = images.loader.rows.splits;
  check_usage(splits == 1 || varies(images.augment), "--aug-splits: got ", splits,
              " identical rows per image; vary them with --aa, --color-jitter, --grayscale-prob, "
              "--gaussian-blur-prob or --reprob");
  check_usage(images.loader.rows.unfinished_every == 0 || images.augment.erase.probability > 0,
              "--resplit only affects random erasing: it needs --reprob");
}

void check_request(const TrainConfig& config) {
  const RunRequest& request = config.request;
  check_usage(!request.eval || !request.resume.empty() || !config.weights.checkpoint.empty(),
              "--eval needs weights: --resume STATE or --initial-checkpoint FILE");
  check_usage(!request.use_ema || request.eval, "--use-ema needs --eval");
  check_usage(request.resume != "auto" || !request.output.empty(),
              "--resume auto needs --output DIR");
  check_usage(!request.overwrite || !request.output.empty(), "--overwrite needs --output DIR");
}

}  // namespace

void check_config(const TrainConfig& config) {
  check_images(config);
  const ScheduleKind kind = config.schedule.kind;
  check_usage(config.loop.cooldown_epochs == 0 || has_floor(kind), "--cooldown-epochs: --sched ",
              name_of(kind), " does not end at a constant learning rate to hold");
  check_options(config.schedule);
  config.task->check(config);
  check_options(config.sizes);
  check_options(config.step);
  check_options(config.frozen);
  check_options(config.weights);
  check_request(config);
  static_cast<void>(config.model.overrides());  // throws if a text is not a valid value
}

}  // namespace fovea
