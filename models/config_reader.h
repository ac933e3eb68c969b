// Strict reader for JSON configurations: every value is checked, and unknown keys are errors.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/names.h"

namespace fovea {

/// Reads an object key by key. A missing key leaves the value unchanged; an invalid value throws
/// "<context>: key: got ..., expected ...". The object must outlive the reader.
class ConfigReader {
 public:
  ConfigReader(std::string context, const nlohmann::json& object);

  [[nodiscard]] bool contains(std::string_view key) { return find(key) != nullptr; }
  /// Throws if the key is missing.
  void require(std::string_view key) const;

  void read(std::string_view key, bool& value);
  void read(std::string_view key, std::int64_t& value, std::int64_t least,
            std::int64_t most = 1 << 24);
  /// A finite number in [least, most].
  void read(std::string_view key, double& value, double least, double most);
  /// A text that is not empty.
  void read_text(std::string_view key, std::string& value);
  void read_object(std::string_view key, nlohmann::json& value);
  /// One of `names`; `otherwise` if the key is missing.
  std::string read_name(std::string_view key, const std::vector<std::string>& names,
                        const std::string& otherwise);
  /// An enumeration value by its name (kNames).
  template <class Enum>
  void read_choice(std::string_view key, Enum& value) {
    value = parse_name<Enum>(key, read_name(key, names_of<Enum>(), name_of(value)));
  }
  /// [height, width], or one number for both; each at least `least`.
  void read_size(std::string_view key, std::array<std::int64_t, 2>& value, std::int64_t least = 1);
  /// Two numbers, each in [least, bound).
  void read_pair(std::string_view key, std::array<double, 2>& value, double least, double bound);
  /// A list of integers in [least, most].
  void read(std::string_view key, std::vector<std::int64_t>& value, std::int64_t least = -(1 << 24),
            std::int64_t most = 1 << 24);
  /// True if the key exists and is null. A key that is not null must still be read.
  [[nodiscard]] bool is_null(std::string_view key);

  /// Throws if the object has a key that was never read; the error names the nearest known key.
  void finish() const;

 private:
  const nlohmann::json* find(std::string_view key);
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& got,
                           const std::string& expected) const;

  std::string context_;
  const nlohmann::json& object_;
  std::vector<std::string> known_;
};

/// Parses a value from the command line: JSON, "HxW" as [h, w], or else a string.
[[nodiscard]] nlohmann::json parse_config_value(const std::string& text);

}  // namespace fovea
