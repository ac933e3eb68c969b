// The parser is told each value's depth and stops where it is too large.
#include "base/json.h"

#include <nlohmann/json.hpp>

namespace fovea {

using nlohmann::json;

json parse_json(std::string_view text) {
  bool deep = false;
  const auto keep = [&deep](int depth, json::parse_event_t, const json&) {
    deep = deep || depth > kMostNesting;
    return !deep;
  };
  json value = json::parse(text, keep, /*allow_exceptions=*/false);
  return deep ? json(json::value_t::discarded) : value;
}

}  // namespace fovea
