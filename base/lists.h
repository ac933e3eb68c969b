// Lists of names, as people write them and as other programs do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Without the byte-order mark that other systems put before UTF-8.
[[nodiscard]] std::string_view without_mark(std::string_view text);

/// The entries of a list: its lines as in lines_of(), those of old Macs ("\r") too; or, where it
/// holds a NUL, what stands before each NUL, as `find -print0` writes it. Empty ones are left out.
/// Throws Error, beginning with `where`, on UTF-16.
[[nodiscard]] std::vector<std::string> list_entries(std::string_view text,
                                                    const std::string& where);

/// Without the blanks and tabs at its ends.
[[nodiscard]] std::string trimmed(std::string_view text);
/// What stands between the quotes of a text that begins and ends with the same one, " or '; of two
/// in a row there one stays, as in CSV. Another text comes back as it is.
[[nodiscard]] std::string unquoted(std::string_view text);

/// The entries of a list of names: each trimmed and unquoted, without empty ones.
[[nodiscard]] std::vector<std::string> listed_names(std::string_view text,
                                                    const std::string& where);

/// The parts between commas, each trimmed and unquoted; a comma in quotes that a part begins with
/// separates nothing.
[[nodiscard]] std::vector<std::string> comma_parts(std::string_view text);

/// "apple, leaf, sea and 9 more".
[[nodiscard]] std::string first_few(const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace fovea
