// The checks and notes of programs before they compute.
#include "apps/common/computing.h"

#include <iostream>

#include "engine/base/notices.h"
#include "engine/base/wrap.h"
#include "engine/parallel.h"

namespace fovea {

void start_computing(Device device, const std::string& notice) {
  require_device(device);
  // OpenMP's threads start here, right after num_threads() has seen that so many can: where the
  // system refuses one, OpenMP ends the program without a word of ours.
  parallel_for(num_threads(), 1, [](std::int64_t, std::int64_t) {});
  static Notices printed;
  if (device.is_cpu() && printed.add_new(notice)) std::cerr << note_of(notice, 2) + "\n";
}

}  // namespace fovea
