// The file itself: what is written is read back, and damage is named.
#include "export/onnx_file.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "engine/base/files.h"
#include "engine/base/temporary_folder.h"
#include "tests/support/errors.h"

using namespace fovea;
using namespace fovea::onnx;

namespace {

ModelProto sample() {
  ModelProto model;
  model.opset = 17;
  model.producer_version = "fovea 1";
  model.description = "about";
  model.metadata = {{"classes", "[\"cat\"]"}, {"mean", ""}};
  auto branch = std::make_shared<GraphProto>();
  branch->nodes = {{"inner", "Relu", {"x"}, {"z"}}};
  model.graph.name = "g";
  model.graph.nodes = {{"a/Conv",
                        "Conv",
                        {"x", "", "w"},
                        {"y", "y:1"},
                        {{"group", std::int64_t{-3}},
                         {"epsilon", 0.5F},
                         {"mode", std::string("linear")},
                         {"pads", std::vector<std::int64_t>{1, 0}},
                         {"axes", std::vector<std::int64_t>{}},
                         {"then_branch", std::shared_ptr<const GraphProto>(branch)}}}};
  model.graph.initializers = {
      {"w", from_values({2, 2}, {1, -2, 3, 0.5}), ElementType::f32},
      {"i", from_values({}, {-7}, {DType::i64, {}}), ElementType::i64},
      {"b", from_values({3}, {0, 1, 1}, {DType::u8, {}}), ElementType::boolean}};
  model.graph.inputs = {{"x", ElementType::u8, {std::string("batch"), std::int64_t{3}}, "pixels"}};
  model.graph.outputs = {{"y", ElementType::f64, {std::int64_t{300}}}};
  return model;
}

void write(const std::filesystem::path& path, const ModelProto& model) {
  NewFile file(path);
  write_model(file, model);
  file.finish();
}

}  // namespace

TEST_CASE("a model is read back as it was written") {
  const TemporaryFolder folder;
  write(folder / "m.onnx", sample());
  const ModelProto read = read_model(folder / "m.onnx"), expected = sample();
  CHECK(read.opset == 17);
  CHECK(read.producer_version == "fovea 1");
  CHECK(read.description == "about");
  CHECK(read.metadata == expected.metadata);
  CHECK(read.graph.name == "g");
  REQUIRE(read.graph.nodes.size() == 1);
  const NodeProto& node = read.graph.nodes[0];
  CHECK(node.name == "a/Conv");
  CHECK(node.op == "Conv");
  CHECK(node.inputs == expected.graph.nodes[0].inputs);
  CHECK(node.outputs == expected.graph.nodes[0].outputs);
  CHECK(*node.attribute<std::int64_t>("group") == -3);
  CHECK(*node.attribute<float>("epsilon") == 0.5F);
  CHECK(*node.attribute<std::string>("mode") == "linear");
  CHECK(*node.attribute<std::vector<std::int64_t>>("pads") == std::vector<std::int64_t>{1, 0});
  CHECK(node.attribute<std::vector<std::int64_t>>("axes")->empty());
  CHECK((*node.attribute<std::shared_ptr<const GraphProto>>("then_branch"))->nodes[0].op == "Relu");
  REQUIRE(read.graph.initializers.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorProto &a = read.graph.initializers[i], &b = expected.graph.initializers[i];
    CHECK(a.name == b.name);
    CHECK(a.type == b.type);
    CHECK(a.values.shape() == b.values.shape());
    CHECK(a.values.to_vector() == b.values.to_vector());
  }
  CHECK(read.graph.inputs[0].shape == expected.graph.inputs[0].shape);
  CHECK(read.graph.inputs[0].type == ElementType::u8);
  CHECK(read.graph.inputs[0].description == "pixels");
  CHECK(read.graph.outputs[0].shape == expected.graph.outputs[0].shape);
}

TEST_CASE("values in f16 are rounded to nearest even, subnormal ones too") {
  const TemporaryFolder folder;
  const std::vector<double> values{
      0,         -0.0,    1,           -2.5,          65504,       0x1p-14, 0x1p-24,
      0x1.8p-24, 0x1p-25, 1 + 0x1p-11, 1 + 0x1.8p-10, 0x1.ffep-15, 1 / 3.0};
  const std::vector<double> expected{0,       -0.0, 1, -2.5,       65504,   0x1p-14,   0x1p-24,
                                     0x1p-23, 0,    1, 1 + 0x1p-9, 0x1p-14, 0x1.554p-2};
  ModelProto model;
  const auto count = std::ssize(values);
  model.graph.initializers = {{"h", from_values({count}, values), ElementType::f16}};
  write(folder / "m.onnx", model);
  CHECK(read_model(folder / "m.onnx").graph.initializers[0].values.to_vector() == expected);
}

TEST_CASE("weights beside the model are found again, before and after the files are renamed") {
  const TemporaryFolder folder;
  ModelProto model = sample();
  model.graph.initializers.push_back({"large.1", arange(2000), ElementType::i64});
  model.graph.initializers.push_back({"large.2", arange(700).to(DType::f32), ElementType::f16});
  NewFile file(folder / "m.onnx"), weights(folder / "m.onnx.data");
  write_model(file, model, {weights, "m.onnx.data"});
  const auto check_read = [&](const ModelProto& read) {
    REQUIRE(read.graph.initializers.size() == model.graph.initializers.size());
    for (std::size_t i = 0; i < model.graph.initializers.size(); ++i) {
      const TensorProto &a = read.graph.initializers[i], &b = model.graph.initializers[i];
      CHECK(a.name == b.name);
      CHECK(a.values.to_vector() == b.values.to_vector());
    }
  };
  check_read(read_model(file.unfinished_path(), weights.unfinished_path()));
  weights.finish();
  file.finish();
  check_read(read_model(folder / "m.onnx"));
  CHECK(std::filesystem::file_size(folder / "m.onnx") < 1000);
}

TEST_CASE("weights in another folder are refused") {
  const TemporaryFolder folder;
  ModelProto model;
  model.graph.initializers = {{"large", arange(2000), ElementType::i64}};
  NewFile file(folder / "m.onnx"), weights(folder / "data");
  write_model(file, model, {weights, "../data"});
  file.finish();
  tests::check_error([&] { (void)read_model(folder / "m.onnx"); },
                     "m.onnx: its weights are in ../data, expected a file in the same folder");
}

TEST_CASE("the size of a file is known before it is written") {
  const TemporaryFolder folder;
  write(folder / "m.onnx", sample());
  CHECK(encoded_size(sample()) ==
        static_cast<std::int64_t>(std::filesystem::file_size(folder / "m.onnx")));
}

TEST_CASE("a damaged file is an error with its path") {
  const TemporaryFolder folder;
  write(folder / "m.onnx", sample());
  const std::string whole = read_file(folder / "m.onnx");
  write_file_atomically(folder / "cut.onnx", whole.substr(0, whole.size() - 3));
  tests::check_error([&] { (void)read_model(folder / "cut.onnx"); }, "cut.onnx: is cut off");
  tests::check_error([&] { (void)read_model(folder / "none.onnx"); }, "none.onnx");
}
