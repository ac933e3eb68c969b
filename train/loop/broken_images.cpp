// Reports of broken images, each once.
#include "train/loop/broken_images.h"

#include "data/loading/loader.h"
#include "engine/base/text.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

void BrokenImages::report(const std::vector<BrokenImage>& images, RunObserver& observer) {
  for (const BrokenImage& image : images) {
    const bool is_new = messages_.insert(image.message).second;
    if (is_new) observer.notice("skipped a broken image: " + image.message);
  }
}

void BrokenImages::report_training(const std::vector<BrokenImage>& own, RunObserver& observer) {
  if (!any(processes_, !own.empty())) return;
  const std::vector<BrokenImage> images = all_bad_images(own, processes_);
  report(images, observer);
  for (const BrokenImage& image : images) training_.insert(image.index);
  last_ = images.back().message;
}

void BrokenImages::require_few() const {
  const auto found = static_cast<double>(training_.size());
  const auto all = static_cast<double>(training_images_);
  if (found <= limit_ * all) return;
  throw TooManyBadImages(
      concat("training: ", found, " of ", all, " images are broken, the last: ", last_));
}

}  // namespace fovea
