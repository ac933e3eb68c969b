// The keys of samples.json that list its calls.
#include "report/measures/sample_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using nlohmann::ordered_json;

// The limits of --count and --first.
constexpr std::int64_t kMaxCalled = 100'000'000, kMaxFirst = 1'000'000'000'000;

/// The samples [first, end) of a call.
struct Call {
  std::int64_t first = 0, end = 0;

  [[nodiscard]] std::int64_t count() const { return end - first; }
};

std::optional<Call> call_of(const ordered_json& j) {
  const auto number = [&](const char* key, std::int64_t most) -> std::optional<std::int64_t> {
    if (!j.is_object() || !j.contains(key) || !j[key].is_number_integer()) return {};
    const auto value = j[key].get<std::int64_t>();
    return value >= 0 && value <= most ? std::optional(value) : std::nullopt;
  };
  const auto first = number("first", kMaxFirst), count = number("count", kMaxCalled);
  if (!first || !count) return {};
  return Call{*first, *first + *count};
}

/// A file of an earlier version describes its last call only.
std::vector<Call> calls_of(const ordered_json& j) {
  std::vector<Call> calls;
  const bool has_list = j.contains("calls") && j["calls"].is_array();
  for (const ordered_json& entry : has_list ? j["calls"] : ordered_json::array({j})) {
    if (const auto call = call_of(entry)) calls.push_back(*call);
  }
  return calls;
}

/// The ranges that the calls cover together, in order and apart from each other.
std::vector<Call> merged(std::vector<Call> calls) {
  std::sort(calls.begin(), calls.end(),
            [](const Call& a, const Call& b) { return a.first < b.first; });
  std::vector<Call> ranges;
  for (const Call& call : calls) {
    if (ranges.empty() || ranges.back().end < call.first) {
      ranges.push_back(call);
    } else {
      ranges.back().end = std::max(ranges.back().end, call.end);
    }
  }
  return ranges;
}

/// A setting for a message; names alone say enough about long ones.
std::string shown(const ordered_json& value) {
  constexpr std::size_t kMost = 40;
  const std::string text = json_text(value);
  return text.size() <= kMost ? text : "...";
}

ordered_json object_of(const std::string& text) {
  const nlohmann::json parsed = parse_json(text);  // refuses deep nesting
  return parsed.is_object() ? ordered_json::parse(text) : ordered_json::object();
}

}  // namespace

std::string sample_name(std::int64_t index, std::int64_t label, std::uint64_t seed) {
  std::string digits = std::to_string(index);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return digits + "-class" + std::to_string(label) + "-seed" + std::to_string(seed) + ".png";
}

std::optional<std::int64_t> class_in_name(const std::filesystem::path& file) {
  static const std::regex pattern("[0-9]+-class([0-9]{1,9})-seed[0-9]+");
  const std::string stem = file.stem().string();
  std::smatch match;
  if (!std::regex_match(stem, match, pattern)) return {};
  return parse_integer(match[1].str());
}

std::optional<std::vector<ListedSample>> listed_samples(const std::string& json) {
  const ordered_json j = object_of(json);
  const std::vector<Call> ranges = merged(calls_of(j));
  const ordered_json classes = j.value("classes", ordered_json::array());
  const bool has_seed = j.contains("seed") && j["seed"].is_number_unsigned();
  const bool has_classes =
      classes.is_array() && !classes.empty() &&
      std::all_of(classes.begin(), classes.end(),
                  [](const ordered_json& label) { return label.is_number_unsigned(); });
  if (ranges.empty() || !has_seed || !has_classes) return {};
  const auto seed = j["seed"].get<std::uint64_t>();
  std::vector<ListedSample> samples;
  for (const Call& range : ranges) {
    for (std::int64_t index = range.first; index < range.end; ++index) {
      const auto label =
          classes[static_cast<std::size_t>(index) % classes.size()].get<std::int64_t>();
      samples.push_back({label, sample_name(index, label, seed)});
    }
  }
  return samples;
}

std::string settings_difference(const std::string& a, const std::string& b) {
  ordered_json left = object_of(a), right = object_of(b);
  for (ordered_json* json : {&left, &right}) {
    for (const char* key : {"count", "first", "calls", "weights", "vae"}) json->erase(key);
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : right.items()) {
    const ordered_json other = left.value(key, ordered_json());
    if (other != value) {
      parts.push_back(key + ": " + shown(other) + " and " + shown(value));
    }
  }
  for (const auto& [key, value] : left.items()) {
    if (!right.contains(key)) parts.push_back(key + ": " + shown(value) + " and null");
  }
  return visible_text(join(parts, ", "));
}

std::string with_calls_of(const std::string& earlier, const std::string& call) {
  ordered_json joined = object_of(call);
  std::vector<Call> calls = calls_of(object_of(earlier));
  for (const Call& own : calls_of(joined)) {
    const bool is_known = std::any_of(calls.begin(), calls.end(), [&](const Call& known) {
      return known.first <= own.first && own.end <= known.end;
    });
    if (!is_known) calls.push_back(own);
  }
  ordered_json list = ordered_json::array();
  for (const Call& known : calls)
    list.push_back({{"first", known.first}, {"count", known.count()}});
  std::int64_t count = 0;
  const std::vector<Call> ranges = merged(calls);
  for (const Call& range : ranges) count += range.count();
  joined["first"] = ranges.empty() ? 0 : ranges.front().first;
  joined["count"] = count;
  joined["calls"] = std::move(list);
  return json_text(joined, 2) + "\n";
}

}  // namespace fovea
