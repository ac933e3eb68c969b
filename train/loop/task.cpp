// What tasks have in common.
#include "train/loop/task.h"

#include "data/image.h"

namespace fovea {

ImageSize Task::image_size(const Model& model) const {
  const std::int64_t scale = info().image_scale;
  return {scale * model.info().img_size[0], scale * model.info().img_size[1]};
}

std::optional<Image> Task::picture(const std::shared_ptr<const Dataset>& /*dataset*/,
                                   const EvaluateOptions& /*options*/) const {
  return {};
}

}  // namespace fovea
