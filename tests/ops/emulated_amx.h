// Executes the instructions of AMX that the kernels use on processors that lack them: the handler
// of illegal instructions decodes them and does what Intel's manual (SDM, volume 2) says, in plain
// C++.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "engine/amx.h"
#include "engine/cpu_isa.h"

namespace fovea::test {

/// A number as the units that multiply bf16 read and write it: subnormal ones are zero.
inline float flushed(float x) {
  const bool is_subnormal = std::abs(x) < std::numeric_limits<float>::min();
  return is_subnormal ? std::copysign(0.0f, x) : x;
}

/// While it is alive, AMX is emulated on all threads; tiles are those of a single thread.
class EmulatedAmx {
 public:
  struct Counts {
    int configurations = 0, releases = 0, loads = 0, products = 0, stores = 0;
  };

  EmulatedAmx() {
    state() = {};
    struct sigaction action = {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~EmulatedAmx() { sigaction(SIGILL, &before_, nullptr); }
  EmulatedAmx(const EmulatedAmx&) = delete;
  EmulatedAmx& operator=(const EmulatedAmx&) = delete;

  [[nodiscard]] static const Counts& counts() { return state().counts; }

 private:
  static constexpr int kSide = 16;
  using Tile = std::array<std::array<std::uint32_t, kSide>, kSide>;
  struct State {
    bool is_configured = false;
    std::array<Tile, 8> tiles{};
    Counts counts;
  };
  static State& state() {
    static State one;
    return one;
  }

  /// An instruction with a three-byte VEX prefix and the operands of its ModRM byte.
  struct Instruction {
    std::uint8_t opcode = 0, prefix = 0, mod = 0, reg = 0, rm = 0, second = 0;
    std::uint8_t *memory = nullptr, *next = nullptr;
    std::int64_t stride = 0;  // the index register, scaled
  };
  enum Prefix : std::uint8_t { kNone, k66, kF3, kF2 };

  static std::int64_t value(const ucontext_t& context, int number) {
    constexpr std::array<int, 16> kOrder{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                         REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                         REG_R12, REG_R13, REG_R14, REG_R15};
    return context.uc_mcontext.gregs[kOrder.at(static_cast<std::size_t>(number))];
  }

  static std::int64_t displacement(const std::uint8_t*& at, int bytes) {
    std::int32_t wide = 0;
    if (bytes == 1) wide = static_cast<std::int8_t>(*at);
    if (bytes == 4) std::memcpy(&wide, at, sizeof wide);
    at += bytes;
    return wide;
  }

  static Instruction decode(const ucontext_t& context) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2) std::abort();  // not in the map of 0F 38
    const int high_index = (at[1] & 0x40) == 0 ? 8 : 0, high_base = (at[1] & 0x20) == 0 ? 8 : 0;
    Instruction code;
    code.second = static_cast<std::uint8_t>(~at[2] >> 3 & 15);
    code.prefix = at[2] & 3;
    code.opcode = at[3];
    code.mod = at[4] >> 6;
    code.reg = at[4] >> 3 & 7;
    code.rm = at[4] & 7;
    at += 5;
    if (code.mod != 3) {
      int base = code.rm + high_base;
      if (code.rm == 4) {
        const int sib = *at++, index = (sib >> 3 & 7) + high_index;
        if (index != 4) code.stride = value(context, index) << (sib >> 6);
        base = (sib & 7) + high_base;
      }
      const bool is_absolute = code.mod == 0 && (base & 7) == 5;
      if (is_absolute && code.rm == 4) std::abort();
      std::int64_t address = displacement(at, is_absolute || code.mod == 2 ? 4 : code.mod);
      address += is_absolute ? reinterpret_cast<std::int64_t>(at) : value(context, base);
      code.memory = reinterpret_cast<std::uint8_t*>(address);
    }
    code.next = const_cast<std::uint8_t*>(at);
    return code;
  }

  static void configure(const std::uint8_t* to) {
    if (to[0] != 1 || to[1] != 0) std::abort();  // the palette and the first row
    for (int tile = 0; tile < 8; ++tile) {
      if (to[16 + 2 * tile] != 64 || to[17 + 2 * tile] != 0 || to[48 + tile] != kSide) std::abort();
    }
    state().is_configured = true;
    state().tiles = {};
    ++state().counts.configurations;
  }

  static void release() {
    state().is_configured = false;
    ++state().counts.releases;
  }

  static float number(std::uint32_t bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }

  /// TDPBF16PS.
  static void multiply(Tile& sums, const Tile& a, const Tile& b) {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        float even = 0, odd = 0;
        for (int k = 0; k < kSide; ++k) {
          const auto low = [](std::uint32_t pair) { return flushed(number(pair << 16)); };
          const auto high = [](std::uint32_t pair) { return flushed(number(pair & 0xffff0000)); };
          even = flushed(std::fma(low(a[i][k]), low(b[k][j]), even));
          odd = flushed(std::fma(high(a[i][k]), high(b[k][j]), odd));
        }
        const float sum = flushed(flushed(number(sums[i][j])) + flushed(even + odd));
        std::memcpy(&sums[i][j], &sum, sizeof sum);
      }
    }
  }

  static void execute(const Instruction& code) {
    State& now = state();
    if (code.opcode == 0x49 && code.prefix == kNone) {
      return code.mod == 3 ? release() : configure(code.memory);
    }
    if (!now.is_configured) std::abort();
    Tile& tile = now.tiles[code.reg];
    if (code.opcode == 0x49 && code.prefix == kF2) {
      tile = {};
    } else if (code.opcode == 0x4b && code.prefix == kF2) {
      for (int i = 0; i < kSide; ++i) std::memcpy(&tile[i], code.memory + i * code.stride, 64);
      ++now.counts.loads;
    } else if (code.opcode == 0x4b && code.prefix == kF3) {
      for (int i = 0; i < kSide; ++i) std::memcpy(code.memory + i * code.stride, &tile[i], 64);
      ++now.counts.stores;
    } else if (code.opcode == 0x5c && code.prefix == kF3) {
      multiply(tile, now.tiles[code.rm], now.tiles[code.second]);
      ++now.counts.products;
    } else {
      std::abort();
    }
  }

  static void handle(int /*signal*/, siginfo_t* /*info*/, void* context) {
    auto& interrupted = *static_cast<ucontext_t*>(context);
    const Instruction code = decode(interrupted);
    execute(code);
    interrupted.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(code.next);
  }

  struct sigaction before_ = {};
};

/// Whether AMX can be emulated, beside its twin: the kernels' other instructions exist.
inline bool emulates_amx() {
  return processor_has(Isa::v4) && __builtin_cpu_supports("avx512bf16") != 0 &&
         !processor_has_amx() && is_built(Isa::amx) && is_built(Isa::amx_twin);
}

}  // namespace fovea::test
