// The checker of image files against spoiled ones: what differs is named, what is unknown fails.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/formats/safetensors.h"
#include "tests/parity/golden.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
namespace fs = std::filesystem;

namespace {

using nlohmann::json;

/// Checks a copy of a golden file after `spoil` changed its tensors and its cases.
template <class Spoil>
std::string report_of(const char* name, const Spoil& spoil) {
  const char* folder = std::getenv("FOVEA_GOLDEN");
  const fs::path golden = folder != nullptr ? folder : "tests/golden";
  SafetensorsFile file = read_safetensors(golden / (std::string(name) + ".safetensors"));
  json config = json::parse(file.metadata.at("config"));
  spoil(file, config);
  file.metadata["config"] = config.dump();
  file.metadata["format"] = "fovea-golden-1";
  const TemporaryFolder scratch;
  write_safetensors(scratch / "spoiled.safetensors", file.tensors, file.metadata);
  std::ostringstream out;
  golden::print(out, golden::check_file(scratch / "spoiled.safetensors", {}));
  return out.str();
}

}  // namespace

TEST_CASE("images: one byte, one number and one NaN are found and named") {
  const std::string byte = report_of("image_png", [](SafetensorsFile& file, json&) {
    ++file.tensors.at("output/gray8").data<std::uint8_t>()[100];
  });
  CHECK(byte == "FAIL spoiled 1 tensor\n  output/gray8 1.0e+00 > 0.0e+00\n");
  const std::string number = report_of("image_mix_mixup", [](SafetensorsFile& file, json&) {
    file.tensors.at("soft_target/mixup_0.3").data<float>()[3] += 2e-6F;
  });
  CHECK(contains(number, "FAIL spoiled 1 tensor\n  soft_target/mixup_0.3 2.0e-06"));
  const std::string nan = report_of("image_mix_mixup", [](SafetensorsFile& file, json&) {
    *file.tensors.at("input").data<float>() = std::numeric_limits<float>::quiet_NaN();
  });
  CHECK(contains(nan, "FAIL spoiled 4 tensors"));
  const std::string draw = report_of("image_mix_cutmix", [](SafetensorsFile&, json& config) {
    config["cases"]["cutmix_0"]["center_y"] = 15;
  });
  CHECK(contains(draw, "cutmix_0/yl 1.0e+00 > 0.0e+00"));
  const std::string level = report_of("image_augment_32_lut", [](SafetensorsFile&, json& config) {
    config["cases"]["Solarize_m3"]["level"] = 4;
  });
  CHECK(contains(level, "FAIL spoiled 1 tensor\n  Solarize_m3/args"));
}

TEST_CASE("images: what the checker does not know is a failure with the reason") {
  const auto spoiled = [](const char* key, const json& value) {
    return report_of("image_augment_32_nearest", [&](SafetensorsFile&, json& config) {
      config["cases"]["Rotate_m3_nearest"][key] = value;
    });
  };
  CHECK(
      contains(spoiled("op", "Rotat"), "FAIL spoiled case Rotate_m3_nearest: op Rotat is unknown"));
  CHECK(contains(spoiled("angel", 3), "argument angel is unknown"));
  CHECK(contains(spoiled("interpolation", "bicubik"), "did you mean bicubic?"));
  CHECK(contains(spoiled("args", "27"), "args: got \"27\", expected a list of numbers"));
  CHECK(contains(spoiled("args", json::array({1, 2})), "got 2 args"));
  CHECK(contains(spoiled("fill", json::array({1, 2, 300})), "expected levels of 0 to 255"));
  CHECK(contains(spoiled("args", json::array({1e8})), "FAIL"));
  CHECK(contains(
      report_of("image_png", [](SafetensorsFile&, json& config) { config["filter"] = "x"; }),
      "config: key filter is unknown"));
  CHECK(contains(report_of("image_png",
                           [](SafetensorsFile&, json& config) { config["cases"].erase("gray8"); }),
                 "tensors without a check: output/gray8, png/gray8"));
  CHECK(contains(report_of("image_mix_cutmix",
                           [](SafetensorsFile&, json& config) {
                             config["cases"]["elem"]["boxes_yl_yh_xl_xh"]["1"][1] = 99;
                           }),
                 "boxes: got 1: [4,99,10,32]"));
}
