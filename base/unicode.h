// Texts of Unicode that look the same and are other bytes.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// Whether composed_text() composes: a build without utf8proc leaves every text as it is.
[[nodiscard]] bool composes_text();
/// The composed form (NFC) of UTF-8: "e" and the accent that follows become "é". Names of files
/// come in either form, Macs' often in the other. Bytes that are no UTF-8 stay as they are.
[[nodiscard]] std::string composed_text(std::string_view text);

}  // namespace fovea
