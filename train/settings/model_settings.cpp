// The models' flags, with the texts that follow them; the models check the values.
#include "train/settings/model_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/config_fields.h"
#include "models/config_reader.h"
#include "models/registry.h"

namespace fovea {
namespace {

using nlohmann::json;

constexpr const char* kModelArgs = "model_args";

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

/// The flags of the models of a task, or of all, and --model-args.
std::vector<ModelFlag> flags_of(std::optional<TaskKind> task = {}) {
  std::vector<ModelFlag> flags = model_flags(task);
  flags.push_back({.key = kModelArgs,
                   .kind = ModelFlag::Kind::object,
                   .group = "Model",
                   .help = "more model settings, as a JSON object",
                   .other_names = {"model-kwargs"}});
  return flags;
}

json parse(const ModelFlag& flag, const std::string& text) {
  const auto require = [&](bool ok, const char* expected) {
    check_usage(ok, "--", flag_of(flag.key), ": got ", text, ", expected ", expected);
  };
  if (flag.kind == ModelFlag::Kind::list) {
    const json list = parse_json("[" + text + "]");
    require(!list.is_discarded(), "integers separated by commas");
    return list.size() == 1 && list[0].is_array() ? list[0] : list;
  }
  const json value = parse_config_value(text);
  if (flag.kind == ModelFlag::Kind::size) {
    const bool pair = value.is_array() && value.size() == 2;
    require(pair || value.is_number(), "N or HxW");
    return pair ? value : json{value, value};
  }
  require(flag.kind != ModelFlag::Kind::object || value.is_object(),
          "a JSON object like {\"class_token\": false}");
  return value;
}

void add_field(Fields& fields, const ModelFlag& flag, std::string* text) {
  const std::string choices = flag.choices.empty() ? "" : ": " + join(flag.choices, ", ");
  Field& field = FieldGroup(fields, flag.group).add(flag_of(flag.key), text, flag.help + choices);
  field.other_names = flag.other_names;
  field.yes_no = flag.kind == ModelFlag::Kind::yes_no;
  field.fixed = true;
}

void add_dropout_fields(FieldGroup& g, ModelChoice& model) {
  constexpr FieldGroup::Range kRates{0, 0.99};
  g.number("drop", &model.drop, "dropout on the input of the head", kRates).other_names = {
      "drop-rate"};
  g.number("pos-drop-rate", &model.pos_drop_rate, "dropout on the tokens before the first block",
           kRates);
  g.number("proj-drop-rate", &model.proj_drop_rate,
           "dropout on the outputs of attention and MLP, and inside the MLP", kRates);
  g.number("attn-drop-rate", &model.attn_drop_rate,
           "dropout on the attention weights, which are then stored in memory", kRates);
}

}  // namespace

ModelSettings::ModelSettings() {
  for (const ModelFlag& flag : flags_of()) texts_[flag.key];
}

void ModelSettings::add_fields(Fields& fields, std::optional<TaskKind> task) {
  for (const ModelFlag& flag : flags_of(task)) add_field(fields, flag, &(*this)[flag.key]);
}

std::string& ModelSettings::operator[](std::string_view key) {
  const auto found = texts_.find(key);
  check(found != texts_.end(), "model settings: unknown setting ", key);
  return found->second;
}

json ModelSettings::overrides() const {
  std::vector<ModelFlag> flags = flags_of();
  // --model-args overrides the flags under "Model", which it is the last of, and the families' own
  // flags override it. Saved runs may have both, so they depend on this order.
  std::stable_partition(flags.begin(), flags.end(),
                        [](const ModelFlag& flag) { return flag.group == "Model"; });
  json result = json::object();
  for (const ModelFlag& flag : flags) {
    const std::string& text = texts_.at(flag.key);
    if (text.empty()) continue;
    const json value = parse(flag, text);
    result.update(flag.key == kModelArgs ? value : json::object({{flag.key, value}}));
  }
  for (const ModelFlag& flag : flags) {
    if (!flag.implies.empty() && result.contains(flag.key)) result[flag.implies] = true;
  }
  return result;
}

void add_fields(Fields& fields, ModelChoice& model, TaskKind task) {
  FieldGroup g(fields, "Model");
  g.add("model", &model.name, "model name; --list-models lists the common ones").fixed = true;
  g.number("drop-path", &model.drop_path, "drop rate of the last block's branches", {0, 0.99})
      .other_names = {"drop-path-rate", "drop-connect"};
  if (task == TaskKind::classification) add_dropout_fields(g, model);
  model.settings.add_fields(fields, task);
}

json ModelChoice::overrides() const {
  json overrides = settings.overrides();
  const bool has_blocks = name != "linear";  // the linear model ignores a recipe's drop path
  if (drop_path > 0 && has_blocks) overrides["drop_path"] = drop_path;
  if (drop > 0) overrides["drop_rate"] = drop;
  if (pos_drop_rate > 0) overrides["pos_drop_rate"] = pos_drop_rate;
  if (proj_drop_rate > 0) overrides["proj_drop_rate"] = proj_drop_rate;
  if (attn_drop_rate > 0) overrides["attn_drop_rate"] = attn_drop_rate;
  return overrides;
}

}  // namespace fovea
