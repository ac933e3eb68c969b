// Names of labels, of mixed targets and of boxes.
#include "train/loop/shown_batch.h"

#include <algorithm>

namespace fovea {
namespace {

std::string name_of_class(const Dataset& images, std::int64_t label) {
  const std::vector<std::string>& names = images.class_names();
  if (label < 0 || label >= std::ssize(names)) return std::to_string(label);
  return names[static_cast<std::size_t>(label)];
}

/// The classes of mixed targets [K] that stand out of the smoothed ones, the larger share first.
std::string name_of_mixture(const Dataset& images, const double* shares, std::int64_t classes) {
  constexpr double kShown = 0.05;
  const double smoothed = *std::min_element(shares, shares + classes);
  const std::int64_t first = std::max_element(shares, shares + classes) - shares;
  std::string name = name_of_class(images, first);
  for (std::int64_t k = 0; k < classes; ++k) {
    if (k != first && shares[k] - smoothed > kShown) name += "+" + name_of_class(images, k);
  }
  return name;
}

std::vector<std::string> names_of(const Batch& batch, const Dataset& images) {
  const Tensor targets = batch.find("targets");
  const Tensor shares = targets.defined() ? targets.to(DType::f64).contiguous() : Tensor();
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    if (shares.defined()) {
      const std::int64_t classes = shares.size(1);
      names.push_back(name_of_mixture(images, shares.data<double>() + i * classes, classes));
    } else {
      names.push_back(name_of_class(images, static_cast<std::int64_t>(batch.labels.at(i))));
    }
  }
  return names;
}

}  // namespace

ShownBatch shown_batch(const Task& task, const Batch& batch, const Dataset& images) {
  ShownBatch shown{batch.images};
  if (task.info().needs_labels && batch.images.size(1) == Image::kChannels)
    shown.names = names_of(batch, images);
  shown.boxes = task.boxes_on(batch);
  for (std::vector<ShownBox>& boxes : shown.boxes)
    for (ShownBox& box : boxes)
      box.label = name_of_class(images, static_cast<std::int64_t>(box.color));
  return shown;
}

}  // namespace fovea
