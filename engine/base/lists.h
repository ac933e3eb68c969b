// Lists of names, written by hand or by other programs.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The text without the byte-order mark that other systems put before UTF-8.
[[nodiscard]] std::string_view without_bom(std::string_view text);

/// The entries of a list, without empty ones: its lines as in lines_of(), also with the "\r" of
/// old Macs; or, if the text contains a NUL, the parts ended by NULs, as `find -print0` writes
/// them. Throws Error, starting with `context`, on UTF-16.
[[nodiscard]] std::vector<std::string> list_entries(std::string_view text,
                                                    const std::string& context);

/// The text without leading and trailing blanks and tabs.
[[nodiscard]] std::string trimmed(std::string_view text);
/// The content of a text enclosed in matching quotes, " or '; a doubled quote stands for one, as
/// in CSV. Any other text is returned unchanged.
[[nodiscard]] std::string unquoted(std::string_view text);

/// The entries of a list of names: trimmed, unquoted, without empty ones.
[[nodiscard]] std::vector<std::string> listed_names(std::string_view text,
                                                    const std::string& context);

/// The parts between commas, trimmed and unquoted. A comma inside a part that starts with a quote
/// does not separate.
[[nodiscard]] std::vector<std::string> comma_parts(std::string_view text);

/// `wanted`, or if it is among the names `taken`, the first of "wanted-2", "wanted-3", ... that is
/// not. Adds it to them.
[[nodiscard]] std::string distinct_name(const std::string& wanted, std::set<std::string>& taken);

/// "apple, leaf, sea and 9 more".
[[nodiscard]] std::string first_few(const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace fovea
