// What tasks have in common.
#include "train/loop/task.h"

#include "data/figures/boxes.h"
#include "data/image.h"
#include "ops/pixels.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

Batch with_values(Batch batch) {
  if (!batch.raw) return batch;
  const auto& [levels, erased, fills, mixed, weights] = *batch.raw;
  batch.images = ops::finish_pixels(batch.images, {levels, erased, fills, mixed, weights});
  batch.raw.reset();
  return batch;
}

ImageSize Task::image_size(const Model& model) const {
  const std::int64_t scale = info().image_scale;
  return {scale * model.info().img_size[0], scale * model.info().img_size[1]};
}

Scores Task::scores(const EvaluationResult& result) const {
  const auto* const sums = std::get_if<ScoreSums>(&result.measured);
  return sums != nullptr ? from_sums(*sums) : std::get<Scores>(result.measured);
}

std::vector<std::vector<ShownBox>> Task::boxes_on(const Batch& /*batch*/) const { return {}; }

std::optional<Image> Task::picture(const std::shared_ptr<const Dataset>& /*dataset*/,
                                   const EvaluateOptions& /*options*/) const {
  return {};
}

}  // namespace fovea
