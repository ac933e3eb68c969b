// Records launched kernels by pointer; the dynamic linker supplies their names.
#include "tests/cuda/fake/kernels.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "tests/cuda/emulator/machine.h"

namespace fovea::fake {
namespace {

/// The dynamic linker searches all names of the program, one after another.
std::string find_name(const void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr) return "?";
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : info.dli_sname;
}

const std::string& name_of(const void* function) {
  static auto& names = *new std::map<const void*, std::string>;
  const auto [found, is_new] = names.try_emplace(function);
  if (is_new) found->second = find_name(function);
  return found->second;
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
