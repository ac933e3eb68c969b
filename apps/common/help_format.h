// The layout of --help, in 80 columns.
#pragma once

#include <string>

namespace fovea {

/// A flag with its value on the left, broken after commas, and its description on the right.
[[nodiscard]] std::string help_entry(const std::string& flag, const std::string& description);
/// A paragraph; the ends of its lines count as blanks.
[[nodiscard]] std::string help_lines(const std::string& text);

}  // namespace fovea
