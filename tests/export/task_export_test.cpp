// The models of all tasks as ONNX graphs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/export_model.h"
#include "export/interpreter.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "tests/export/exported.h"
#include "tests/support/errors.h"

using namespace fovea;

TEST_CASE("the files of encoders, depth models, detectors and denoisers compute their outputs") {
  struct Family {
    std::string name;
    std::vector<std::string> outputs;
  };
  const std::vector<Family> families{{"mae", {"features"}},
                                     {"depth", {"depth"}},
                                     {"detr", {"boxes", "scores", "classes", "probabilities"}},
                                     {"ddetr", {"boxes", "scores", "classes", "probabilities"}},
                                     {"dit", {"noise"}},
                                     {"vae", {"image"}}};
  for (const Family& family : families) {
    int count = 0;
    for (const auto& golden : tests::models_of_goldens({family.name})) {
      CAPTURE(golden.name);
      tests::disturb(*golden.model);
      const ExportedPass pass = exported_pass(*golden.model);
      const onnx::ModelProto file = tests::file_of(*golden.model);
      std::vector<std::string> names;
      for (const onnx::ValueInfoProto& output : file.graph.outputs) names.push_back(output.name);
      if (names.back() == "sigma") names.pop_back();
      CHECK(names == family.outputs);
      CHECK(difference_of(file, pass, random_trials(pass, 3)).relative < 2e-5);
      ++count;
    }
    CAPTURE(family.name);
    CHECK(count >= 2);
  }
}

TEST_CASE(
    "detectors with a residual network take images of any size, kept or resized by DETR's rule") {
  for (const auto& golden : tests::models_of_goldens({"detr", "ddetr"})) {
    CAPTURE(golden.name);
    const ExportedPass pass = exported_pass(*golden.model);
    if (pass.resized.empty()) continue;  // a transformer as its backbone
    for (const CropMode mode : {CropMode::keep, CropMode::detr}) {
      const EvaluationTransform images{{40, 56}, kImageNetNormalization, {.mode = mode}};
      const onnx::ModelProto file =
          tests::read_back(export_pass(pass, "x", {.opset = 20, .version = "1", .images = images}));
      CHECK(difference_of(file, pass, picture_trials(images, 4)).relative < 2e-5);
    }
  }
}

TEST_CASE("sizes that depend on the image's are named after its height and width") {
  const auto model = make_model("vae_f8", {{"block_out_channels", {8, 8}},
                                           {"norm_num_groups", 4},
                                           {"layers_per_block", 1},
                                           {"img_size", {16, 24}}});
  const onnx::ModelProto file = tests::file_of(*model);
  using Dimensions = std::vector<onnx::Dimension>;
  CHECK(file.graph.inputs.at(0).shape == Dimensions{"batch", std::int64_t{4}, "height", "width"});
  CHECK(file.graph.outputs.at(0).shape ==
        Dimensions{"batch", std::int64_t{3}, "2*height", "2*width"});
}

TEST_CASE("a constant that no graph computes from the image's size is an error") {
  ExportedPass pass{
      {{"x", ""}}, {{"y", ""}}, {zeros({1, 1, 2, 3})}, [](const auto& inputs) {
        std::vector<double> squares;
        for (int i = 0; i < inputs[0].size(3); ++i) squares.push_back(i * i);
        return std::vector<Tensor>{ops::add(inputs[0], from_values({inputs[0].size(3)}, squares))};
      }};
  pass.resized = {zeros({1, 1, 4, 8})};
  tests::check_error(
      [&] {
        (void)export_pass(pass, "x", {20, "1"});
      },
      "depends on the image's size in a way that no graph expresses");
}
