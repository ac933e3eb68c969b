// Reading a JSON configuration strictly: every value is checked, every key must be known.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Reads an object key by key. An absent key leaves the value as it is; a wrong one throws
/// "<where>: key: got ..., expected ...". The object must outlive the reader.
class ConfigReader {
 public:
  ConfigReader(std::string where, const nlohmann::json& object);

  /// Throws unless the key is there.
  void require(std::string_view key) const;

  void read(std::string_view key, bool& value);
  void read(std::string_view key, std::int64_t& value, std::int64_t least,
            std::int64_t most = 1 << 24);
  /// A finite number in [least, most].
  void read(std::string_view key, double& value, double least, double most);
  /// One of `choices`; `value` becomes its position.
  void read_choice(std::string_view key, int& value, const std::vector<std::string>& choices);
  /// The same for an enumeration whose members stand in the order of `choices`.
  template <class Choice>
  void read_choice(std::string_view key, Choice& value, const std::vector<std::string>& choices) {
    int position = static_cast<int>(value);
    read_choice(key, position, choices);
    value = static_cast<Choice>(position);
  }
  /// [height, width], or one number for both; each at least `least`.
  void read_size(std::string_view key, std::array<std::int64_t, 2>& value, std::int64_t least = 1);
  /// Two numbers, each from `least` to just below `bound`.
  void read_pair(std::string_view key, std::array<double, 2>& value, double least, double bound);
  /// A list of integers in [-2^24, 2^24].
  void read(std::string_view key, std::vector<std::int64_t>& value);
  /// Whether the key is there and null. A key that is not null is still to be read.
  [[nodiscard]] bool is_null(std::string_view key);

  /// Throws when the object holds a key that nobody asked for, naming the nearest known one.
  void finish() const;

 private:
  const nlohmann::json* find(std::string_view key);
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& got,
                           const std::string& expected) const;

  std::string where_;
  const nlohmann::json& object_;
  std::vector<std::string> known_;
};

/// The inverse of read_choice.
template <class Choice>
[[nodiscard]] const std::string& name_of(Choice value, const std::vector<std::string>& choices) {
  return choices[static_cast<std::size_t>(value)];
}

/// The value that a command line means: a JSON value, [h, w] for "HxW", else a string.
[[nodiscard]] nlohmann::json parse_config_value(const std::string& text);

}  // namespace fovea
