// A parser callback receives the depth of each value and stops where it is too large.
#include "engine/base/json.h"

#include <nlohmann/json.hpp>

namespace fovea {

using nlohmann::json;

json parse_json(std::string_view text) {
  bool deep = false;
  const auto keep = [&deep](int depth, json::parse_event_t, const json&) {
    deep = deep || depth > kMaxNesting;
    return !deep;
  };
  json value = json::parse(text, keep, /*allow_exceptions=*/false);
  return deep ? json(json::value_t::discarded) : value;
}

std::string json_text(const json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  const std::string escaped =
      json(std::string(text.substr(0, kLongest)))
          .dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= kLongest && escaped.size() <= kLongest
             ? escaped
             : escaped.substr(0, kLongest) + "...\"";
}

}  // namespace fovea
