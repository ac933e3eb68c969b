// Every classifier as an ONNX graph: written, read back, run, and compared with the model.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "export/export_model.h"
#include "export/interpreter.h"
#include "models/registry.h"
#include "ops/matmul.h"
#include "ops/order.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "tests/export/exported.h"
#include "tests/support/errors.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

/// How far what the model's file computes is from the model, relative to it.
double difference(Model& model, std::int64_t opset = 20) {
  disturb(model);
  const ExportedPass pass = exported_pass(model);
  return difference_of(file_of(model, opset), pass, random_trials(pass, 3)).relative;
}

std::set<std::string> operators_in(const onnx::ModelProto& model) {
  std::set<std::string> all;
  for (const onnx::NodeProto& node : model.graph.nodes) all.insert(node.op);
  return all;
}

std::unique_ptr<Model> small_vit() {
  return make_model("vit_tiny_patch4_32",
                    {{"depth", 2}, {"embed_dim", 24}, {"img_size", {8, 12}}, {"num_classes", 5}},
                    1);
}

}  // namespace

TEST_CASE("the files of classifiers with each setting of their families compute their logits") {
  int count = 0;
  for (const auto& golden : models_of_goldens({"vit", "pit", "deit", "cpvt", "pervit"})) {
    CAPTURE(golden.name);
    CHECK(difference(*golden.model) < 1e-5);
    ++count;
  }
  CHECK(count > 40);
}

TEST_CASE("rotary positions are constants of a file") {
  for (const nlohmann::json& more : std::vector<nlohmann::json>{
           {{"rope", "axial"}},
           {{"rope", "mixed"}, {"global_pool", "avg"}},
           {{"rope", "axial"}, {"rope_rotate_half", true}, {"reg_tokens", 2}},
           {{"rope", "axial"}, {"attn_type", "eva"}, {"block_fn", "eva"}, {"qkv_fused", false}}}) {
    CAPTURE(more.dump());
    nlohmann::json config{{"depth", 2},
                          {"embed_dim", 24},
                          {"img_size", {8, 12}},
                          {"num_classes", 5},
                          {"num_heads", 3}};
    config.update(more);
    const auto model = make_model("vit_tiny_patch4_32", config, 1);
    CHECK(difference(*model) < 1e-5);
    CHECK(operators_in(file_of(*model)).contains("Gather"));
  }
}

TEST_CASE("opsets before 20 write GELU and the axes of reductions as they had them") {
  for (const char* const form : {"gelu", "gelu_tanh"}) {
    CAPTURE(std::string(form));
    const auto model = make_model("vit_tiny_patch4_32", {{"depth", 1},
                                                         {"act_layer", form},
                                                         {"norm_layer", "rmsnorm"},
                                                         {"embed_dim", 24},
                                                         {"global_pool", "avg"},
                                                         {"num_classes", 5}});
    CHECK(difference(*model, 17) < 1e-5);
    CHECK(!operators_in(file_of(*model, 17)).contains("Gelu"));
    CHECK(operators_in(file_of(*model, 20)).contains("Gelu"));
  }
}

TEST_CASE("nodes are named by their modules, in the order in which these run") {
  const auto model = small_vit();
  const onnx::ModelProto file = file_of(*model);
  std::vector<std::string> modules, expected;
  for (const onnx::NodeProto& node : file.graph.nodes) {
    const std::string module = node.name.substr(0, node.name.rfind('/'));
    const bool is_layer = model->store().find(module + ".weight").defined();
    if (is_layer && (modules.empty() || modules.back() != module)) modules.push_back(module);
  }
  for (const ModuleCost& cost : model->costs()) {
    if (model->store().find(cost.path + ".weight").defined()) expected.push_back(cost.path);
  }
  CHECK(modules == expected);
  CHECK(modules.size() == 2 + 2 * 6 + 1);
}

TEST_CASE("initializers have the parameters' names, and weights of layers are transposed") {
  const auto model = make_model("vit_tiny_patch4_32", {{"depth", 1}, {"global_pool", "avg"}});
  const onnx::ModelProto file = file_of(*model);
  std::map<std::string, Tensor> written;
  for (const onnx::TensorProto& one : file.graph.initializers) written[one.name] = one.values;
  for (const Parameter& p : model->store().parameters()) {
    CAPTURE(p.name);
    REQUIRE(written.contains(p.name));
    const bool is_layer = p.tensor.rank() == 2 && p.name.ends_with(".weight");
    const Tensor expected = is_layer ? ops::transpose(p.tensor, 0, 1) : p.tensor;
    CHECK(written[p.name].to_vector() == expected.to_vector());
  }
}

TEST_CASE("the batch is any, and other sizes are the model's") {
  const onnx::ModelProto file = file_of(*small_vit());
  REQUIRE(file.graph.inputs.size() == 1);
  CHECK(file.graph.inputs[0].name == "pixels");
  CHECK(file.graph.inputs[0].shape == std::vector<onnx::Dimension>{std::string("batch"),
                                                                   std::int64_t{3}, std::int64_t{8},
                                                                   std::int64_t{12}});
  CHECK(file.graph.outputs[0].shape ==
        std::vector<onnx::Dimension>{std::string("batch"), std::int64_t{5}});
  for (const std::int64_t batch : {1, 4}) {
    const auto y = run_model(file, {{"pixels", ones({batch, 3, 8, 12})}});
    CHECK(y.at(0).shape() == Shape{batch, 5});
  }
}

TEST_CASE("attention by position, which no image changes, is stored") {
  const auto model = make_model("pervit_tiny_32", {{"num_classes", 5}});
  const auto operators = operators_in(file_of(*model));
  CHECK(!operators.contains("InstanceNormalization"));
  CHECK(!operators.contains("Log"));
}

TEST_CASE("a file that prepares images gives the model's logits for pictures of any size") {
  const auto model = small_vit();
  disturb(*model);
  const ExportedPass pass = exported_pass(*model);
  const EvaluationTransform images{{8, 12}, kImageNetNormalization, {.filter = Filter::lanczos}};
  const onnx::ModelProto file =
      read_back(export_pass(pass, "x", {.opset = 20, .version = "1", .images = images}));
  CHECK(file.graph.inputs.at(0).name == "image");
  CHECK(difference_of(file, pass, picture_trials(images, 16)).relative < 1e-5);
}

TEST_CASE("the likeliest classes are those of the largest logits, with their probabilities") {
  const auto model = small_vit();
  const ExportedPass pass = with_likeliest(exported_pass(*model), 2);
  const onnx::ModelProto file = export_pass(pass, "x", {.opset = 20, .version = "1"});
  const ExportTrial trial = random_trials(pass, 3).front();
  const std::vector<Tensor> outputs = run_model(file, trial.given);
  REQUIRE(outputs.size() == 3);
  const auto [values, classes] = ops::topk(ops::softmax(outputs[0]), 2);
  CHECK(outputs[1].to_vector() == values.to_vector());
  CHECK(outputs[2].to_vector() == classes.to_vector());
}

TEST_CASE("halves are the weights rounded to f16, and what does not fit is named") {
  const auto model = small_vit();
  disturb(*model);
  const ExportedPass pass = exported_pass(*model);
  const ExportSettings settings{.opset = 20, .version = "1", .half = true};
  const onnx::ModelProto file = read_back(export_pass(pass, "x", settings));
  const double off = difference_of(file, pass, random_trials(pass, 3)).relative;
  CHECK(off < 1e-2);
  CHECK(off > 1e-5);
  for (const onnx::TensorProto& one : file.graph.initializers) {
    CAPTURE(one.name);
    const bool is_matrix = one.name.ends_with("qkv.weight") || one.name == "pos_embed";
    const bool is_vector = one.name.ends_with(".bias") || one.name.ends_with("norm1.weight");
    if (is_matrix) CHECK(one.type == onnx::ElementType::f16);
    if (is_vector) CHECK(one.type == onnx::ElementType::f32);
  }
  const NoGrad no_grad;
  model->store().find("blocks.1.mlp.fc1.weight").fill_(7e4);
  check_error([&] { (void)export_pass(pass, "x", settings); },
              "--half: blocks.1.mlp.fc1.weight has the value 70000, but f16 ends at 65504");
}

TEST_CASE("images that a graph cannot prepare are refused") {
  const auto model = small_vit();
  for (const CropMode mode : {CropMode::adm, CropMode::keep, CropMode::detr}) {
    const EvaluationTransform images{{8, 12}, kImageNetNormalization, {.mode = mode}};
    check_error(
        [&] {
          (void)export_pass(exported_pass(*model), "x",
                            {.opset = 20, .version = "1", .images = images});
        },
        "--input tensor");
  }
}

TEST_CASE("an op without a counterpart is an error that names layer and op") {
  const ExportedPass pass{
      {{"x", ""}}, {{"y", ""}}, {zeros({1, 3})}, [](const auto& inputs) {
        const Tensor weight = ones({3, 3}).set_name("blocks.0.fc1.weight");
        return std::vector<Tensor>{ops::flip(ops::linear(inputs[0], weight), 1)};
      }};
  check_error(
      [&] {
        (void)export_pass(pass, "x", {20, "1"});
      },
      "export: blocks.0: the op flip has no counterpart in ONNX");
}

TEST_CASE("a value with an axis per pair of images is refused") {
  const ExportedPass pass{
      {{"x", ""}}, {{"y", ""}}, {zeros({1, 3})}, [](const auto& inputs) {
        return std::vector<Tensor>{ops::matmul(inputs[0], inputs[0], {.b = true})};
      }};
  check_error(
      [&] {
        (void)export_pass(pass, "x", {20, "1"});
      },
      "more than one axis that grows with the batch");
}
