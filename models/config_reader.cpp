// Strict reading of JSON configurations.
#include "models/config_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {

using nlohmann::json;

namespace {

/// A value as shown in a message: on one line, truncated to one line's length.
std::string shown(const json& value) {
  constexpr std::size_t kMaxLength = 120;
  std::string text = json_text(value);
  if (text.size() > kMaxLength) text.replace(kMaxLength, std::string::npos, "...");
  return text;
}

/// A key as shown in a message, quoted only if it needs quotes.
std::string shown_key(const std::string& key) {
  const bool plain = key.size() < 100 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
                       return c > ' ' && c < 127;
                     });
  return plain && !key.empty() ? key : shown(key);
}

/// An integer, also if written as 16.0.
std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return {};
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  constexpr double kExact = 1LL << 53;
  const double real = value.is_number_float() ? value.get<double>() : NAN;
  if (!(std::abs(real) <= kExact) || real != std::trunc(real)) return {};
  return static_cast<std::int64_t>(real);
}

}  // namespace

ConfigReader::ConfigReader(std::string context, const json& object)
    : context_(std::move(context)), object_(object) {
  if (!object.is_object()) fail(context_, ": got ", shown(object), ", expected a JSON object");
}

void ConfigReader::require(std::string_view key) const {
  check(object_.contains(std::string(key)), context_, ": key ", key, " is missing");
}

const json* ConfigReader::find(std::string_view key) {
  known_.emplace_back(key);
  const auto it = object_.find(std::string(key));
  return it == object_.end() ? nullptr : &*it;
}

void ConfigReader::refuse(std::string_view key, const json& got,
                          const std::string& expected) const {
  fail(context_, ": ", key, ": got ", shown(got), ", expected ", expected);
}

void ConfigReader::read(std::string_view key, bool& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) refuse(key, *found, "true or false");
  value = found->get<bool>();
}

void ConfigReader::read(std::string_view key, std::int64_t& value, std::int64_t least,
                        std::int64_t most) {
  const json* found = find(key);
  if (found == nullptr) return;
  const std::optional<std::int64_t> number = whole_number(*found);
  if (!number || *number < least || *number > most) {
    refuse(key, *found, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
  }
  value = *number;
}

void ConfigReader::read(std::string_view key, double& value, double least, double most) {
  const json* found = find(key);
  if (found == nullptr) return;
  const bool ok = found->is_number() && std::isfinite(found->get<double>()) &&
                  found->get<double>() >= least && found->get<double>() <= most;
  if (!ok)
    refuse(key, *found, "a number from " + json_text(json(least)) + " to " + json_text(json(most)));
  value = found->get<double>();
}

void ConfigReader::read_text(std::string_view key, std::string& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_string() || found->get<std::string>().empty()) refuse(key, *found, "a text");
  value = found->get<std::string>();
}

void ConfigReader::read_object(std::string_view key, json& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_object()) refuse(key, *found, "a JSON object");
  value = *found;
}

std::string ConfigReader::read_name(std::string_view key, const std::vector<std::string>& names,
                                    const std::string& otherwise) {
  const json* found = find(key);
  if (found == nullptr) return otherwise;
  const bool known = found->is_string() && std::find(names.begin(), names.end(),
                                                     found->get<std::string>()) != names.end();
  if (!known) refuse(key, *found, "one of " + join(names, " "));
  return found->get<std::string>();
}

void ConfigReader::read_size(std::string_view key, std::array<std::int64_t, 2>& value,
                             std::int64_t least) {
  const json* found = find(key);
  if (found == nullptr) return;
  const json pair = found->is_number() ? json::array({*found, *found}) : *found;
  const auto fits = [least](const json& size) {
    const std::optional<std::int64_t> number = whole_number(size);
    return number && *number >= least && *number <= 65536;
  };
  if (!pair.is_array() || pair.size() != 2 || !fits(pair[0]) || !fits(pair[1])) {
    refuse(key, *found, "[height, width], each from " + std::to_string(least) + " to 65536");
  }
  value = {*whole_number(pair[0]), *whole_number(pair[1])};
}

void ConfigReader::read_pair(std::string_view key, std::array<double, 2>& value, double least,
                             double bound) {
  const json* found = find(key);
  if (found == nullptr) return;
  const auto fits = [&](const json& v) {
    return v.is_number() && v.get<double>() >= least && v.get<double>() < bound;
  };
  if (!found->is_array() || found->size() != 2 || !fits((*found)[0]) || !fits((*found)[1])) {
    refuse(key, *found,
           "two numbers from " + json_text(json(least)) + " to below " + json_text(json(bound)));
  }
  value = {(*found)[0].get<double>(), (*found)[1].get<double>()};
}

void ConfigReader::read(std::string_view key, std::vector<std::int64_t>& value, std::int64_t least,
                        std::int64_t most) {
  const json* found = find(key);
  if (found == nullptr) return;
  const std::string expected =
      "integers from " + std::to_string(least) + " to " + std::to_string(most);
  if (!found->is_array()) refuse(key, *found, "a list of " + expected);
  value.clear();
  for (const json& item : *found) {
    const std::optional<std::int64_t> number = whole_number(item);
    if (!number || *number < least || *number > most) refuse(key, item, expected);
    value.push_back(*number);
  }
}

bool ConfigReader::is_null(std::string_view key) {
  const json* found = find(key);
  return found != nullptr && found->is_null();
}

void ConfigReader::finish() const {
  for (const auto& item : object_.items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
    fail(context_, ": key ", shown_key(item.key()), " is unknown",
         did_you_mean(item.key(), known_));
  }
}

json parse_config_value(const std::string& text) {
  if (const std::vector<std::string> sides = split_text(text, 'x'); sides.size() == 2) {
    const auto height = parse_integer(sides[0]), width = parse_integer(sides[1]);
    if (height && width && *height >= 0 && *width >= 0) return {*height, *width};
  }
  const json value = parse_json(text);
  return value.is_discarded() ? json(text) : value;
}

}  // namespace fovea
