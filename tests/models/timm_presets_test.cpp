// The plain ViTs, DeiTs and Evas of timm: settings and parameter counts.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/files.h"
#include "engine/base/text.h"
#include "models/registry.h"
#include "tests/support/shapes.h"

using namespace fovea;
using nlohmann::json;

namespace {

struct Published {
  std::string name;
  std::int64_t parameters = 0;
  json settings;
};

/// What tests/interop/timm_presets.py wrote: a name, a count and settings per line.
std::vector<Published> published() {
  std::vector<Published> all;
  for (const std::string& line : lines_of(read_file(FOVEA_TESTS "/models/timm_presets.txt"))) {
    Published one;
    std::istringstream text(line);
    text >> one.name >> one.parameters >> one.settings;
    all.push_back(one);
  }
  return all;
}

}  // namespace

TEST_CASE("the settings of timm's names are timm's") {
  const std::vector<Published> all = published();
  CHECK(all.size() == 244);
  const std::vector<std::string> listed = all_model_names();
  for (const Published& one : all) {
    CAPTURE(one.name);
    json settings = preset(one.name);
    settings.erase("family");
    CHECK(settings == one.settings);
    CHECK(std::count(listed.begin(), listed.end(), one.name) == 1);
  }
  const std::vector<std::string> common = model_names();
  for (const std::string& name : listed) {
    CAPTURE(name);
    const bool is_ours = std::count(common.begin(), common.end(), name) > 0 ||
                         task_of(name) != TaskKind::classification;
    const auto is_it = [&](const Published& one) { return one.name == name; };
    CHECK((is_ours || std::any_of(all.begin(), all.end(), is_it)));
  }
}

TEST_CASE("models of timm's names have as many parameters as timm's") {
  for (const Published& one : published()) {
    CAPTURE(one.name);
    CHECK(tests::model_of_shapes(one.name)->store().parameter_count() == one.parameters);
  }
}

TEST_CASE("timm's names hold for other patches and images") {
  const json small = preset("vit_base_patch4_clip_32");
  CHECK(small["patch_size"] == 4);
  CHECK(small["img_size"] == 32);
  CHECK(small["pre_norm"] == true);
  CHECK(preset("deit3_small_patch16_192x256")["img_size"] == json{192, 256});
  // These two differ in more than the image.
  CHECK_FALSE(preset("vit_large_patch16_siglip_384").contains("act_layer"));
  CHECK(preset("vit_large_patch16_siglip_512")["act_layer"] == "gelu_tanh");
  CHECK(preset("aimv2_1b_patch14_224")["embed_dim"] == 2048);  // 1b is not a number
  for (const char* name :
       {"vit_base_patch#_clip_#", "vit_base_patch16_clip", "aimv2_1b", "vit_base_patch14_dinov2_",
        "deit3_small_patch16_224_384", "test_vit5", "vit_base_patch16_36x1_224"}) {
    CAPTURE(std::string(name));
    CHECK_THROWS_AS(static_cast<void>(preset(name)), Error);
  }
}
