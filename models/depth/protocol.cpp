// Reading, writing and describing protocols.
#include "models/depth/protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr const char* kWords =
    "full, eigen, filled, raw, median, least=METRES, most=METRES or most=none";
constexpr const char* kNoLimit = "most=none";

/// Sets least or most from "least=0.5"; false if the word is neither.
bool read_bound(DepthProtocol& protocol, const std::string& word) {
  if (word == kNoLimit) {
    protocol.most = std::numeric_limits<double>::infinity();
    return true;
  }
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) return false;
  const std::string name = word.substr(0, sign);
  const std::optional<double> metres = parse_real(word.substr(sign + 1));
  if ((name != "least" && name != "most") || !metres || !std::isfinite(*metres)) return false;
  (name == "least" ? protocol.least : protocol.most) = *metres;
  return true;
}

void read_word(DepthProtocol& protocol, const std::string& word) {
  if (const auto crop = find_named<DepthCrop>(word)) {
    protocol.crop = *crop;
  } else if (const auto source = find_named<DepthSource>(word)) {
    protocol.source = *source;
  } else if (word == "median") {
    protocol.median = true;
  } else if (!read_bound(protocol, word)) {
    fail("protocol: got ", word.empty() ? "an empty word" : word,
         ", expected words joined by +: ", kWords);
  }
}

/// The first index whose centre is at or after `share` of the side.
std::int64_t first_at(double share, std::int64_t side) {
  return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(side) - 0.5));
}

}  // namespace

DepthProtocol parse_protocol(std::string_view text, double most) {
  DepthProtocol protocol;
  protocol.most = most;
  for (const std::string& word : split_text(text, '+')) read_word(protocol, word);
  check(protocol.least > 0 && protocol.least < protocol.most, "protocol: ", text,
        ": got depths from ", protocol.least, " to ", protocol.most,
        " m, expected 0 < least < most");
  return protocol;
}

std::vector<DepthProtocol> parse_protocols(std::string_view text, double most) {
  std::vector<DepthProtocol> protocols;
  for (const std::string& part : split_text(text, ',')) {
    check(!part.empty(), "protocol: got ", text, ", expected protocols separated by commas, of ",
          kWords);
    const DepthProtocol protocol = parse_protocol(part, most);
    check(std::find(protocols.begin(), protocols.end(), protocol) == protocols.end(),
          "protocol: got ", to_text(protocol), " twice");
    protocols.push_back(protocol);
  }
  check(!protocols.empty(), "protocol: got none, expected words of ", kWords);
  return protocols;
}

std::string to_text(const DepthProtocol& protocol, double most) {
  const DepthProtocol usual;
  std::string text = name_of(protocol.crop);
  if (protocol.source != usual.source) text += "+" + name_of(protocol.source);
  if (protocol.median) text += "+median";
  if (protocol.least != usual.least) text += "+least=" + shortest_text(protocol.least);
  if (protocol.most == most) return text;
  return text + "+" +
         (std::isinf(protocol.most) ? kNoLimit : "most=" + shortest_text(protocol.most));
}

std::string description(const DepthProtocol& protocol) {
  const std::string limit =
      std::isinf(protocol.most) ? " m on" : " to " + shortest_text(protocol.most) + " m";
  return concat(protocol.crop == DepthCrop::none ? "all pixels" : "the crop of Eigen et al.",
                " with ", name_of(protocol.source), " depth from ", shortest_text(protocol.least),
                limit, protocol.median ? "; each prediction scaled to the picture's median" : "",
                "; predictions clipped to that range");
}

DepthWindow window_of(DepthCrop crop, std::int64_t height, std::int64_t width) {
  if (crop == DepthCrop::none) return {0, height, 0, width};
  return {first_at(45.0 / 480, height), first_at(471.0 / 480, height), first_at(41.0 / 640, width),
          first_at(601.0 / 640, width)};
}

}  // namespace fovea
