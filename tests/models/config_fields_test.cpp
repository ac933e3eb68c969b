// Every setting of every family, by the functions that visit them.
#include "models/config_fields.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/cpvt.h"
#include "models/deformable_detr.h"
#include "models/deit.h"
#include "models/depth_transformer.h"
#include "models/detr.h"
#include "models/dit.h"
#include "models/linear_model.h"
#include "models/mae.h"
#include "models/pervit.h"
#include "models/registry.h"
#include "models/vae.h"
#include "models/vit.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;

namespace {

/// Values to try in place of `usual`, until the family accepts one.
template <class T>
std::vector<json> others(const ConfigField& field, const Access<T>& target, const json& usual) {
  const double low = field.rule.low, high = field.rule.high;
  const T value = target.get();
  std::vector<json> values;
  if constexpr (std::is_same_v<T, bool>) {
    values = {!value};
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    values = {value * 2, value / 2, value + 1, value + 2, value - 1};
  } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
    values = {value.value_or(1) + 1};
  } else if constexpr (std::is_same_v<T, double>) {
    values = {value / 2, value * 2, (low + high) / 2, (low + 3 * high) / 4};
  } else if constexpr (std::is_same_v<T, std::string>) {
    values.assign(field.choices.begin(), field.choices.end());
    if (values.empty()) values = {"vit_small_patch4_32"};
  } else if constexpr (std::is_same_v<T, ConfigField::Size>) {
    values = {json::array({64, 96}), json::array({64, 64})};
  } else if constexpr (std::is_same_v<T, ConfigField::List>) {
    values = {json::array({-1}), json::array({1})};
    for (std::size_t i = 0; i < value.size(); ++i) {
      values.emplace_back(value);
      values.back()[i] = 2 * value[i];
    }
  } else {
    values = {json::object({{"depth", 3}})};
  }
  std::erase(values, usual);
  return values;
}

/// Values that no family accepts.
std::vector<json> wrong_values(const ConfigField& field) {
  const double low = field.rule.low, high = field.rule.high;
  if (std::holds_alternative<Access<std::string>>(field.target)) return {"no such name"};
  if (std::holds_alternative<Access<bool>>(field.target)) return {1, "true"};
  if (std::holds_alternative<Access<json>>(field.target)) return {1, json::array()};
  if (std::holds_alternative<Access<ConfigField::Size>>(field.target)) {
    return {json::array({0, 32}), json::array({32})};
  }
  if (std::holds_alternative<Access<ConfigField::List>>(field.target)) {
    return {1, json::array({0.5})};
  }
  return {low - 1, high * 2, "1"};
}

/// Changes each setting of a configuration alone. Returns the keys of which another value was
/// accepted.
template <class Config>
std::set<std::string> change_each(Config (*read)(const json&), const json& config) {
  std::set<std::string> changed;
  Config usual = read(config);
  const json written = write_config(usual);
  for (const ConfigField& field : config_fields(usual)) {
    if (field.applies && !field.applies()) continue;
    CAPTURE(field.key);
    const auto values_of = [&](const auto& target) {
      return others(field, target, written.value(field.key, json()));
    };
    for (const json& value : std::visit(values_of, field.target)) {
      json expected = written;
      expected[field.key] = value;
      if (!message_of([&] { static_cast<void>(read(expected)); }).empty()) continue;
      json now = write_config(read(expected));
      for (const ConfigField& other : config_fields(usual))  // written where it has a meaning
        if (other.rule.sparse && !expected.contains(other.key)) now.erase(other.key);
      const bool is_default = field.rule.sparse && !now.contains(field.key);
      if (is_default) expected.erase(field.key);
      CHECK(now == expected);
      if (!is_default) changed.insert(field.key);
    }
  }
  return changed;
}

/// Checks that values out of range, of other types and unknown names are refused.
template <class Config>
void refuse_each(Config (*read)(const json&), const json& config) {
  Config usual = read(config);
  for (const ConfigField& field : config_fields(usual)) {
    if (field.applies && !field.applies()) continue;
    for (const json& value : wrong_values(field)) {
      CAPTURE(field.key);
      CAPTURE(value.dump());
      json wrong = write_config(usual);
      wrong[field.key] = value;
      const std::string part = value == "no such name" ? "no such name" : field.key + ": got ";
      CHECK(contains(message_of([&] { static_cast<void>(read(wrong)); }), part));
    }
  }
}

/// Checks a family in one or more configurations, each of which may lack settings of the others.
template <class Config>
void check_family(Config (*read)(const json&), const std::vector<json>& configs) {
  std::set<std::string> changed;
  for (const json& config : configs) {
    changed.merge(change_each(read, config));
    refuse_each(read, config);
  }
  Config any;
  for (const ConfigField& field : config_fields(any)) {
    INFO("no other value is accepted for ", field.key);
    CHECK(changed.contains(field.key));
  }
}

const json kEncoder{{"img_size", {32, 32}}, {"patch_size", 4}, {"embed_dim", 64},
                    {"depth", 3},           {"num_heads", 4},  {"mlp_ratio", 2}};

json with(json config, const json& settings) {
  config.update(settings);
  return config;
}

json detector(const json& settings) {
  return with({{"img_size", {32, 32}}, {"d_model", 64}, {"enc_layers", 3}, {"peg_positions", {0}}},
              settings);
}

}  // namespace

TEST_CASE("every setting of every family is written as it was read, and changes no other") {
  const json gap{{"global_pool", "avg"}}, table{{"pos_embed", "learned"}};
  const json eva{
      {"block_fn", "eva"}, {"init_values", 0.5}, {"mlp_layer", "swiglu"}, {"rope", "axial"}};
  const json apart{{"block_fn", "eva"}, {"qkv_fused", false}, {"num_kv_heads", {4, 2, 1}}};
  const json rope{{"rope", "axial"}, {"rope_temperature", 50}};
  const json residual{{"backbone", "resnet"}, {"planes", {8, 16}}, {"blocks", {1, 1}}};
  const json backbone{{"backbone", "vit_tiny_patch4_32"}, {"backbone_args", {{"depth", 2}}}};
  const std::vector<json> vits{with(kEncoder, gap), with(kEncoder, rope), with(kEncoder, eva),
                               with(kEncoder, apart)};
  const std::map<std::string, std::function<void()>> checks{
      {"vit", [&] { check_family(read_vit_config, vits); }},
      {"pit", [&] { check_family(read_pit_config, vits); }},
      {"deit",
       [&] {
         check_family(read_deit_config, {kEncoder, with(kEncoder, rope)});
       }},
      {"cpvt",
       [&] {
         check_family(read_cpvt_config, {with(with(kEncoder, gap), table), with(kEncoder, rope)});
       }},
      {"pervit",
       [&] {
         check_family(read_pervit_config, {{{"img_size", {32, 32}},
                                            {"patch_size", 4},
                                            {"conv_stem", false},
                                            {"convstem_dims", {3, 24, 48}},
                                            {"emb_dims", {48, 48}},
                                            {"depths", {1, 1}},
                                            {"num_heads", 4}}});
       }},
      {"mae",
       [&] {
         check_family(read_mae_config, {kEncoder, with(kEncoder, rope)});
       }},
      {"dit", [&] { check_family(read_dit_config, {kEncoder}); }},
      {"vae",
       [&] {
         check_family(read_vae_config, {{{"img_size", {32, 32}}}});
       }},
      {"depth",
       [&] {
         check_family(read_depth_config, {kEncoder, with(kEncoder, rope)});
       }},
      {"detr",
       [&] {
         check_family(read_detr_config, {detector(residual), detector(backbone)});
       }},
      {"ddetr",
       [&] {
         check_family(read_deformable_detr_config, {detector(residual), detector(backbone)});
       }},
      {"linear", [&] {
         check_family(read_linear_config, {{{"img_size", {32, 32}}}});
       }}};
  for (const std::string& family : family_names()) {
    CAPTURE(family);
    REQUIRE(checks.contains(family));
    checks.at(family)();
  }
}

TEST_CASE("a missing key means the usual value, or what other settings imply") {
  const auto vit = [](const json& settings) { return read_vit_config(with(kEncoder, settings)); };
  CHECK_FALSE(vit(json::object()).fc_norm);
  CHECK(vit({{"global_pool", "avg"}}).fc_norm);
  CHECK(vit({{"global_pool", "avg"}, {"fc_norm", nullptr}}).fc_norm);
  CHECK_FALSE(vit({{"global_pool", "avg"}, {"fc_norm", false}}).fc_norm);
  CHECK(vit({{"init_values", nullptr}}).encoder.init_values == 0);
  CHECK(vit({{"pos_embed", "rpe2d"}}).encoder.relative == RelativePosition::rpe2d);
  CHECK(vit({{"dynamic_img_size", true}}).tokens.any_size);
  CHECK(vit(json::object()).permute.img_size == std::array<std::int64_t, 2>{32, 32});
  const json shuffled = with(kEncoder, {{"peg_positions", {1, -1}}});
  CHECK(read_cpvt_config(shuffled).pegs.positions == std::vector<std::int64_t>{-1, 1});
  json pit = kEncoder;
  pit.erase("patch_size");
  CHECK(read_pit_config(pit).image.patch_size == 1);
  CHECK(read_vit_config(pit).image.patch_size == 16);
}

TEST_CASE("the decoder of an MAE has the encoder's settings but for its size and dropout") {
  const MaeConfig c = read_mae_config(with(
      kEncoder,
      {{"act_layer", "silu"}, {"drop_path", 0.1}, {"proj_drop_rate", 0.2}, {"decoder_depth", 5}}));
  CHECK(c.decoder.act_layer == Activation::silu);
  CHECK(c.decoder.depth == 5);
  CHECK(c.decoder.embed_dim == 512);
  CHECK(c.decoder.drop_path == 0);
  CHECK(c.decoder.proj_drop_rate == 0);
  CHECK(c.encoder.depth == 3);
}

TEST_CASE("a task has the flags of its models, each once and described by the first") {
  const auto flag_of = [](std::optional<TaskKind> task, const std::string& key) {
    std::vector<ModelFlag> found = model_flags(task);
    std::erase_if(found, [&](const ModelFlag& flag) { return flag.key != key; });
    CHECK(found.size() <= 1);
    return found.empty() ? ModelFlag{} : found.front();
  };
  CHECK(flag_of(TaskKind::detection, "peg_positions").group == "Detector");
  CHECK(flag_of(TaskKind::classification, "peg_positions").group == "CPVT");
  CHECK(flag_of({}, "peg_positions").group == "CPVT");
  CHECK(flag_of(TaskKind::detection, "patch_size").key.empty());
  CHECK(flag_of({}, "eos_coef").kind == ModelFlag::Kind::value);
  CHECK(flag_of({}, "planes").kind == ModelFlag::Kind::list);
  CHECK(flag_of({}, "phi_p").kind == ModelFlag::Kind::yes_no);
  CHECK(flag_of({}, "img_size").kind == ModelFlag::Kind::size);
  CHECK(flag_of({}, "backbone_args").kind == ModelFlag::Kind::object);
  CHECK(flag_of({}, "peg_init").choices == std::vector<std::string>{"twins", "torch"});
}
