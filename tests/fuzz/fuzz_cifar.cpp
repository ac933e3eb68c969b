// Fuzzes the CIFAR reader: any bytes give records or an Error.
#include <cstdint>
#include <span>
#include <string>

#include "data/sources/packed/cifar.h"
#include "engine/base/error.h"

namespace {

void read_all(fovea::CifarKind kind, std::span<const char> bytes, std::int64_t classes) {
  const std::int64_t count = fovea::check_cifar_records(kind, bytes, "input");
  for (std::int64_t i = 0; i < count; ++i) {
    const fovea::Sample sample = fovea::read_cifar_record(kind, bytes, i);
    if (sample.label < 0 || sample.label >= classes) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const char*>(data), size);
  for (const bool ten : {true, false}) {
    const std::int64_t classes = ten ? 10 : 100;
    try {
      read_all(ten ? fovea::CifarKind::cifar10 : fovea::CifarKind::cifar100, bytes, classes);
    } catch (const fovea::Error&) {  // the documented answer to bad input
    }
    const auto names = fovea::parse_class_names(std::string(bytes.begin(), bytes.end()), classes);
    if (static_cast<std::int64_t>(names.size()) != classes) __builtin_trap();
  }
  return 0;
}
