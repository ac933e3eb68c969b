// The broken images of a run: the user's notices about them, and the limit of their number.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/comm/communicator.h"
#include "train/loop/run_observer.h"

namespace fovea {

class BrokenImages {
 public:
  /// `limit` is the largest accepted fraction of the data set of `training_images` images.
  BrokenImages(double limit, std::int64_t training_images,
               Communicator& processes = single_process())
      : limit_(limit), training_images_(training_images), processes_(processes) {}

  /// Tells the observer about each image that it has not been told about.
  void report(const std::vector<BrokenImage>& images, RunObserver& observer);
  /// Reports the training images that the loaders of all processes have skipped; `own` are those of
  /// this process. All processes call it.
  void report_training(const std::vector<BrokenImage>& own, RunObserver& observer);
  /// Throws TooManyBadImages, in all processes, if the run has skipped more training images than
  /// the limit.
  void require_few() const;

  /// Number of reported images, of training and evaluation.
  [[nodiscard]] std::int64_t count() const { return std::ssize(messages_); }

 private:
  double limit_;
  std::int64_t training_images_;
  Communicator& processes_;
  std::set<std::string> messages_;   ///< reported so far
  std::set<std::int64_t> training_;  ///< indices of the broken training images
  std::string last_;                 ///< message of the last one
};

}  // namespace fovea
