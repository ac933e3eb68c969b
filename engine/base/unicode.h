// Unicode normalisation, for texts that look equal but differ in bytes.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// Whether composed_text() composes: a build without utf8proc returns every text unchanged.
[[nodiscard]] bool composes_text();
/// The composed form (NFC) of UTF-8: "e" and a following accent become "é". File names occur in
/// either form, on macOS often decomposed. Invalid UTF-8 stays unchanged.
[[nodiscard]] std::string composed_text(std::string_view text);

}  // namespace fovea
