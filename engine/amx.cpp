// Detection of AMX by CPUID, and Linux's request for permission to use its registers.
#include "engine/amx.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace fovea {
namespace {

constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // the registers' number among the extended states

std::string request() {
  if (::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return "";
  return "the kernel refuses the registers of AMX (" + std::generic_category().message(errno) + ")";
}

}  // namespace

bool processor_has_amx() {
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24;  // EDX of leaf 7
  constexpr unsigned kRounding = 1U << 5;                 // EAX of leaf 7, part 1: AVX-512 BF16
  unsigned a = 0, b = 0, c = 0, d = 0, part1 = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || a < 1) return false;
  const bool has_tiles = (d & kBf16) != 0 && (d & kTile) != 0;
  return has_tiles && __get_cpuid_count(7, 1, &part1, &b, &c, &d) != 0 && (part1 & kRounding) != 0;
}

const std::string& amx_refusal() {
  static const std::string refusal = request();
  return refusal;
}

}  // namespace fovea
