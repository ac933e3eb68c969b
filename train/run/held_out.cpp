// The held-out images of a run as JSON in the metadata of weights.
#include "train/run/held_out.h"

#include <nlohmann/json.hpp>

#include "data/image_list.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/sha256.h"
#include "train/run/image_lists.h"

namespace fovea {
namespace {

constexpr const char* kKey = "held_out";

}  // namespace

std::string list_digest(const Dataset& dataset) {
  Sha256 sha;
  sha.add(format_image_list(image_list(dataset)));
  return sha.finish();
}

void add_held_out(Metadata& metadata, const HeldOut& held_out) {
  metadata[kKey] = json_text(nlohmann::json{{"fraction", held_out.how.fraction},
                                            {"rule", name_of(held_out.how.rule)},
                                            {"seed", held_out.how.seed},
                                            {"list", held_out.list}});
}

std::optional<HeldOut> held_out(const Metadata& metadata, const std::string& context) {
  const auto found = metadata.find(kKey);
  if (found == metadata.end()) return {};
  try {
    const nlohmann::json json = parse_json(found->second);
    HeldOut held;
    json.at("fraction").get_to(held.how.fraction);
    json.at("seed").get_to(held.how.seed);
    json.at("list").get_to(held.list);
    held.how.rule = parse_name<HoldOutRule>("rule", json.at("rule").get<std::string>());
    check(held.how.fraction > 0 && held.how.fraction < 1, "fraction: got ", held.how.fraction);
    return held;
  } catch (const std::exception& error) {
    fail(context, ": its ", kKey, " cannot be read: ", error.what());
  }
}

}  // namespace fovea
