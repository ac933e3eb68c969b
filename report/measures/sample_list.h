// samples.json: how the samples of a folder were made, and which ones the folder should have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// The name of a sample's file, "000012-class3-seed0.png".
[[nodiscard]] std::string sample_name(std::int64_t index, std::int64_t label, std::uint64_t seed);
/// The class in such a name; empty for other names.
[[nodiscard]] std::optional<std::int64_t> class_in_name(const std::filesystem::path& file);

struct ListedSample {
  std::int64_t label = 0;
  std::string file;  ///< its name
};

/// The samples of all calls that a samples.json lists, whether finished or not, in the order of
/// their index. Empty if the text lists none, as in files of other programs.
[[nodiscard]] std::optional<std::vector<ListedSample>> listed_samples(const std::string& json);

/// How the samples of two such texts were made differently, as "cfg_scale: 4.0 and 1.5"; "" if they
/// belong together: only their calls and the paths of equal weights may differ.
[[nodiscard]] std::string settings_difference(const std::string& a, const std::string& b);
/// The text of a call with the calls of an earlier text of the same settings: `calls` has all,
/// `count` the number of distinct samples, `first` the least index.
[[nodiscard]] std::string with_calls_of(const std::string& earlier, const std::string& call);

}  // namespace fovea
