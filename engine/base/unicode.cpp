// Composition by utf8proc.
#include "engine/base/unicode.h"

#include <algorithm>

#if FOVEA_HAS_UTF8PROC
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#endif

namespace fovea {

bool composes_text() { return FOVEA_HAS_UTF8PROC != 0; }

std::string composed_text(std::string_view text) {
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; });
  std::string composed(text);
  if (is_ascii) return composed;
#if FOVEA_HAS_UTF8PROC
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(bytes, &std::free);
  if (size >= 0) composed.assign(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
#endif
  return composed;
}

}  // namespace fovea
