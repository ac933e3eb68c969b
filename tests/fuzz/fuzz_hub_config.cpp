// Fuzzes the reader of timm's config.json: any text gives a model's settings or an Error.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "models/checkpoints/hub_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const fovea::HubConfig hub = fovea::parse_hub_config(text, "input");
    if (!(hub.crop_pct > 0 && hub.crop_pct <= 1) || hub.config.empty()) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
