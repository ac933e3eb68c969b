// --verify-data: a check of all images, for those who begin long work with them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/comm/communicator.h"

namespace fovea {

/// What a check of a data set has found.
struct Verification {
  std::int64_t images = 0, checked = 0;
  std::vector<BrokenImage> broken{};  ///< of the checked ones, in order of index

  [[nodiscard]] bool is_complete() const { return checked == images; }
  /// "1 of 5 images are broken", or after how many images it was stopped.
  [[nodiscard]] std::string text() const;
};

/// Checks the images until all are checked or a signal has reached a process, see SignalRequest.
/// Several processes share the images; all get what all have found.
[[nodiscard]] Verification verify_until_stopped(
    const Dataset& images, Communicator& processes,
    const std::function<void(std::int64_t done)>& on_progress = {});

/// A part of a data set with its name in messages, or "".
struct NamedImages {
  std::string name;
  const Dataset& images;
};

/// Checks the parts and prints what is broken. Returns the exit code: 1 if an image is broken, 128
/// + the number of the signal that stopped it.
[[nodiscard]] int verify_data(const std::vector<NamedImages>& parts, Communicator& processes);

}  // namespace fovea
