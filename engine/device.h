// Devices, and the one macro that marks code compiled for host and device.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

// In sources that are compiled once per instruction set (ops/kernels.h) this code is always
// inlined: as a shared symbol, the version for one instruction set could be linked into the
// kernels of another.
#if defined(__CUDACC__)
#define FOVEA_HD __host__ __device__
#elif defined(FOVEA_ISA)
#define FOVEA_HD __attribute__((always_inline))
#else
#define FOVEA_HD
#endif

namespace fovea {

enum class DeviceType : std::uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  [[nodiscard]] bool is_cpu() const { return type == DeviceType::cpu; }
  [[nodiscard]] bool is_cuda() const { return type == DeviceType::cuda; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// Parses "cpu", "cuda" or "cuda:N". Throws on anything else.
[[nodiscard]] Device parse_device(std::string_view text);
[[nodiscard]] std::string to_string(Device device);
std::ostream& operator<<(std::ostream& out, Device device);

/// Throws, with the reason, unless tensors can be created on `device` in this build on this
/// machine.
void require_device(Device device);

}  // namespace fovea
