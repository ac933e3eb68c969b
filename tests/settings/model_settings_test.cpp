// The models' flags, and what they ask of a model.
#include "train/settings/model_settings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using nlohmann::json;

json overrides(std::string_view key, const std::string& text) {
  ModelSettings settings;
  settings[key] = text;
  return settings.overrides();
}

}  // namespace

TEST_CASE("a flag's text becomes the value of its setting") {
  CHECK(ModelSettings().overrides() == json::object());
  CHECK(overrides("img_size", "32") == json{{"img_size", {32, 32}}});
  CHECK(overrides("img_size", "32x48") == json{{"img_size", {32, 48}}});
  CHECK(overrides("peg_positions", "-1,0") == json{{"peg_positions", {-1, 0}}});
  CHECK(overrides("peg_positions", "[3]") == json{{"peg_positions", {3}}});
  CHECK(overrides("mlp_ratio", "2.5") == json{{"mlp_ratio", 2.5}});
  CHECK(overrides("class_token", "false") == json{{"class_token", false}});
  CHECK(overrides("model_args", R"({"qkv_bias": false})") == json{{"qkv_bias", false}});
}

TEST_CASE("a text that no value can be made of is refused with the flag") {
  const auto refusal = [](std::string_view key, const std::string& text) {
    return message_of([&] { static_cast<void>(overrides(key, text)); });
  };
  CHECK(refusal("img_size", "large") == "--img-size: got large, expected N or HxW");
  CHECK(refusal("planes", "8,a") == "--planes: got 8,a, expected integers separated by commas");
  CHECK(contains(refusal("model_args", "1"), "--model-args: got 1, expected a JSON object"));
  CHECK(contains(refusal("backbone_args", "x"), "--backbone-args: got x, expected a JSON object"));
  CHECK_THROWS_AS(static_cast<void>(overrides("no_such_key", "1")), Error);
}

TEST_CASE("pixel swaps switch the permutation on, also as --model-args") {
  CHECK(overrides("permute_T", "5") == json{{"permute_T", 5}, {"permutation", true}});
  CHECK(overrides("model_args", R"({"permute_T": 5})")["permutation"] == true);
  CHECK_FALSE(overrides("permute_seed", "5").contains("permutation"));
}

TEST_CASE("--model-args overrides the flags of all models; the flags of a family override it") {
  ModelSettings settings;
  settings["depth"] = "5";
  settings["peg_kernel"] = "5";
  settings["model_args"] = R"({"depth": 3, "peg_kernel": 3})";
  CHECK(settings.overrides() == json{{"depth", 3}, {"peg_kernel", 5}});
}

TEST_CASE("a task has a field for each flag of its models, bound to the setting's text") {
  ModelSettings settings;
  Fields all, detectors;
  settings.add_fields(all);
  settings.add_fields(detectors, TaskKind::detection);
  set_field(find_field(detectors, "num-queries", ""), "7");
  CHECK(settings["num_queries"] == "7");
  CHECK(lookup_field(detectors, "patch-size") == nullptr);
  CHECK(lookup_field(all, "model-kwargs") == lookup_field(all, "model-args"));
  CHECK(lookup_field(all, "gp")->name == "global-pool");
  CHECK(lookup_field(all, "class-token")->yes_no);
  CHECK(lookup_field(all, "peg-init")->help == "initial values: twins, torch");
  std::set<std::string> names;
  for (const Field& field : all) CHECK(names.insert(field.name).second);
}

}  // namespace fovea
