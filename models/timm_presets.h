// The rows of the table of model names, and those with timm's further names.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fovea {

/// Model names that differ in patch and image, and in the number of a word or two. The first row
/// that fits a name except for its numbers also holds for numbers that no row has.
struct PresetRow {
  const char* family;
  const char* names;  ///< patterns separated by blanks; {a,b} expands to a and b
  /// Words: KEY=VALUE, WIDTHxDEPTHxHEADS, or a group of such words. `*` stands for the name's
  /// second word. Later words replace earlier ones.
  const char* settings;
  const char* unlisted = "";  ///< patterns that --list-models leaves out; `#` stands for any number
};

[[nodiscard]] const std::vector<PresetRow>& timm_rows();
[[nodiscard]] const std::vector<PresetRow>& eva_rows();  ///< of timm's class Eva
/// Settings that occur together in these rows. Most have the name of the paper or timm's word.
[[nodiscard]] const std::map<std::string, const char*>& timm_groups();
[[nodiscard]] const std::map<std::string, const char*>& eva_groups();

}  // namespace fovea
