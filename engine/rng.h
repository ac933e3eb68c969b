// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A value is a pure function of (seed, stream, counter), on host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/device.h"

namespace fovea {

struct Philox4 {
  std::uint32_t v[4];
};

/// Ten rounds over a 128-bit counter under a 64-bit key.
FOVEA_HD inline Philox4 philox4x32_10(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter.v[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter.v[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.v[1] ^ key0,
                static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.v[3] ^ key1,
                static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Four 32-bit words for one address. The seed is the key, (counter, stream) the counter.
FOVEA_HD inline Philox4 philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return philox4x32_10(
      {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// 24 bits of a word as a float in [0, 1).
FOVEA_HD inline float to_uniform(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// 53 bits of two words as a double in [0, 1).
FOVEA_HD inline double to_uniform53(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// Sequential reading of a (seed, stream) pair, for host code that draws one number after another.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t next();                  ///< 32 random bits
  double uniform();                      ///< [0, 1), 53 bits
  double uniform(double lo, double hi);  ///< [lo, hi)
  std::int64_t below(std::int64_t n);    ///< uniform on [0, n) without bias; n >= 1
  double normal();                       ///< mean 0, standard deviation 1
  double gamma(double shape);            ///< scale 1; shape > 0
  double beta(double a, double b);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t stream() const { return stream_; }

 private:
  /// For a small shape the value may underflow; its logarithm does not.
  struct Gamma {
    double value, log;
  };
  Gamma draw_gamma(double shape);

  std::uint64_t seed_, stream_, block_ = 0;
  Philox4 words_{};
  int used_ = 4;
};

/// Identifies a tensor of random numbers: element i is a function of (seed, stream, i).
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// The finaliser of SplitMix64 (Steele et al. 2014).
[[nodiscard]] FOVEA_HD inline std::uint64_t split_mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/// Mixes values into one stream number, e.g. stream_of(epoch, index).
[[nodiscard]] FOVEA_HD inline std::uint64_t stream_of(std::uint64_t a, std::uint64_t b = 0,
                                                      std::uint64_t c = 0) {
  return split_mix(split_mix(split_mix(a) ^ b) ^ c);
}

/// A key in the form that kernels receive. With a step, a number in device memory, the stream is
/// stream_of(*step, stream), so a captured call draws new numbers whenever the step changes.
struct KernelKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  const std::uint64_t* step = nullptr;

  [[nodiscard]] FOVEA_HD RandomKey now() const {
    return {seed, step == nullptr ? stream : stream_of(*step, stream)};
  }
};

}  // namespace fovea
