// Fuzzes the parser of augmentation strings ("rand-m9-mstd0.5-inc1"): any text gives a policy that
// changes a picture without changing its size, or an Error.
#include <cstdint>
#include <string_view>

#include "data/augment/policy.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const fovea::AugmentPolicy policy = fovea::parse_augment_policy(text, {});
    fovea::Rng rng(1);
    const fovea::Image image = fovea::apply(policy, {fovea::Image(6, 5)}, rng).image;
    if (image.height != 6 || image.width != 5) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
