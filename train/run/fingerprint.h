// Fingerprints: hashes of a run's weights and of the images that led to them.
//
// Two runs with the same fingerprint at a step have had the same weights at each fingerprint
// before, and have seen the same images in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fovea {

class ParameterStore;

inline constexpr std::size_t kDigestDigits = 64;  ///< hexadecimal digits of SHA-256

/// The state of a run's fingerprints, saved with the run: each contains the one before.
struct FingerprintChain {
  std::string last;    ///< the newest fingerprint; "" before the first
  std::string images;  ///< digest of the images since then; "" if there are none
  friend bool operator==(const FingerprintChain&, const FingerprintChain&) = default;
};

/// Adds the images of a step, by their indices in the data set:
/// images = SHA-256(images, epoch, indices), numbers as 64-bit integers in the machine's order.
void add_images(FingerprintChain& chain, std::int64_t epoch, std::span<const std::int64_t> indices);
/// Adds the weights of a model and ends the interval: last = SHA-256(last, images, and the name and
/// bytes of each parameter and buffer); images = "".
void add_weights(FingerprintChain& chain, const ParameterStore& store);
/// The fingerprint at a step: that which add_weights() has just made, or else the one that it would
/// make, which does not enter the chain.
[[nodiscard]] std::string fingerprint_at(FingerprintChain chain, const ParameterStore& store);

}  // namespace fovea
