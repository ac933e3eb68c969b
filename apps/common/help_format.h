// The layout of --help, in 80 columns.
#pragma once

#include <string>

namespace fovea {

/// A flag with its value on the left, broken after commas, and its description on the right.
[[nodiscard]] std::string help_entry(const std::string& flag, const std::string& description);
/// A paragraph, whose ends of lines count as blanks; lines that begin with a blank are
/// rows of a table, whose second column stays one.
[[nodiscard]] std::string help_lines(const std::string& text);

}  // namespace fovea
