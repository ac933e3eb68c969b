// Device names, and checks that a device can be used.
#include "engine/device.h"

#include <ostream>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/cuda/runtime.h"

namespace fovea {

Device parse_device(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceType::cuda, 0};
  if (text.starts_with("cuda:")) {
    constexpr std::int64_t kMaxDevices = 1 << 16;
    const std::int64_t index = parse_integer(text.substr(5)).value_or(-1);
    if (index >= 0 && index < kMaxDevices) return {DeviceType::cuda, static_cast<int>(index)};
  }
  fail("device: got '", text, "', expected cpu, cuda or cuda:N");
}

std::string to_string(Device device) {
  return device.is_cpu() ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << to_string(device); }

void require_device(Device device) {
  if (device.is_cpu()) return;
  check(cuda::available(), "device ", device, ": ", cuda::unavailable_reason());
  check(device.index < cuda::device_count(), "device ", device, ": this machine has ",
        cuda::device_count(), " CUDA device(s), numbered from 0");
}

}  // namespace fovea
