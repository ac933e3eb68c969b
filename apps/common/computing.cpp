// The checks and notes of programs before they compute.
#include "apps/common/computing.h"

#include <iostream>

#include "engine/base/notices.h"

namespace fovea {

void start_computing(Device device, const std::string& notice) {
  require_device(device);
  static Notices printed;
  if (device.is_cpu() && printed.add_new(notice)) std::cerr << "note: " + notice + "\n";
}

}  // namespace fovea
