// Breaking long lines for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

inline constexpr std::size_t kTerminalWidth = 80;

/// The pieces one after another, on lines of at most kTerminalWidth columns. A piece that does not
/// fit begins a line, indented by `indent` and without its leading blanks. `used` columns of the
/// first line are taken.
[[nodiscard]] std::string wrapped(std::span<const std::string> pieces, std::size_t indent,
                                  std::size_t used = 0);

/// Where a text may be broken: before its blanks and after its commas.
[[nodiscard]] std::vector<std::string> pieces_of(std::string_view text);

/// "note: " and the text, for standard output or another descriptor. It is broken() for a terminal:
/// in files, a note is a line of its own, which can be searched for.
[[nodiscard]] std::string note_of(std::string_view text, int descriptor = 1);

/// The lines of a text, wrapped; all but the first are indented by `indent`.
[[nodiscard]] std::string broken(std::string_view text, std::size_t indent);

}  // namespace fovea
