// Records launched kernels by pointer; the dynamic linker supplies their names.
#include "tests/cuda/fake/kernels.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "tests/cuda/emulator/machine.h"

namespace fovea::fake {
namespace {

std::string name_of(const void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr) return "?";
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : info.dli_sname;
}

}  // namespace

std::map<std::string, emulate::Counters> kernels_run() {
  std::map<std::string, emulate::Counters> all;
  for (const auto& [function, counters] : emulate::Machine::instance().kernels) {
    all[name_of(function)] += counters;
  }
  return all;
}

}  // namespace fovea::fake
