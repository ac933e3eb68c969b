// Texts from parts.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace fovea {

/// The parts streamed one after another; the same under every locale: "1234.5", never "1.234,5".
template <class... Parts>
[[nodiscard]] std::string streamed(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

}  // namespace fovea
