// Backbones of detectors: vision transformers, and weights from files.
#include "models/detector_backbone.h"

#include <doctest/doctest.h>

#include "engine/autograd.h"
#include "engine/base/temporary_folder.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/backbone.h"
#include "ops/ops.h"
#include "tests/models/in_f64.h"
#include "tests/models/tiny_detector.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

/// Weights under torchvision's names that fit the backbone of `model`.
TensorMap torchvision_weights(const Model& model) {
  TensorMap weights{{"fc.weight", drawn({5, 8}, 1)}, {"fc.bias", drawn({5}, 2)}};
  std::uint64_t stream = 10;
  for (const auto* list : {&model.store().parameters(), &model.store().buffers()}) {
    for (const Parameter& p : *list) {
      const std::string prefix = "backbone.0.body.";
      if (!p.name.starts_with(prefix)) continue;
      weights[p.name.substr(prefix.size())] = drawn(p.tensor.shape(), ++stream);
    }
  }
  weights["bn1.num_batches_tracked"] = from_values({}, {3}, {DType::i64, {}});
  return weights;
}

}  // namespace

TEST_CASE("a vision transformer's patch tokens are the map, for images of any size") {
  const json vit{{"depth", 1}, {"embed_dim", 8}, {"num_heads", 2}, {"patch_size", 4}};
  json turned = vit;
  turned.update({{"rope", "mixed"}, {"pos_embed", "none"}});
  json pervit{
      {"depths", {1, 1}}, {"emb_dims", {4, 6}}, {"convstem_dims", {3, 4, 4}}, {"num_heads", 1}};
  for (const auto& [name, args] :
       std::vector<std::pair<const char*, json>>{{"vit_tiny_patch4_32", vit},
                                                 {"vit_tiny_patch4_32", turned},
                                                 {"pit_tiny_32", vit},
                                                 {"cpvt_tiny_peg0_gap_patch4_32", vit},
                                                 {"pervit_tiny_32", pervit}}) {
    const std::string model_name = name;
    CAPTURE(model_name);
    json config = kTinyDetector;
    for (const char* key : {"stem", "planes", "blocks"}) config.erase(key);
    config.update(
        {{"family", "detr"}, {"img_size", {16, 16}}, {"backbone", name}, {"backbone_args", args}});
    const auto model = model_as<Detector>(make_model_from_config(config, 3, kF64));
    CHECK(model->store().find("backbone.0.body.norm.weight").defined() !=
          model->store().find("backbone.0.body.fc_norm.weight").defined());
    Context ctx = in_f64();
    ctx.training = true;
    const DetectorOutput out = model->forward(drawn({2, 3, 16, 16}, 1), {}, ctx);
    backward(ops::sum(out.boxes * drawn(out.boxes.shape(), 2)));
    model->finish_backward();
    const auto norm = model->backbone_model()->store().parameters().back();
    CHECK(norm.name.starts_with("backbone.0.body.") == false);
    CHECK(norm.tensor.grad().defined());
    if (std::string(name) == "pervit_tiny_32") {
      CHECK(model->map_size({11, 14}) == model->map_size({16, 16}));
      CHECK_THROWS_AS(static_cast<void>(model->forward(drawn({1, 3, 20, 16}, 1), {}, ctx)), Error);
    } else {
      CHECK(model->map_size({13, 22}) == std::array<std::int64_t, 2>{4, 6});
      CHECK(model->forward(drawn({1, 3, 13, 22}, 1), {}, ctx).boxes.shape() == Shape{2, 1, 4, 4});
    }
    const auto again = make_model_like(*model);
    CHECK(again->info().config == model->info().config);
  }
}

TEST_CASE("a ResNet's weights load under torchvision's names, and all mismatches are reported") {
  const TemporaryFolder folder;
  const auto path = folder / "resnet.safetensors";
  const auto model = tiny_detector("detr");
  TensorMap weights = torchvision_weights(*model);
  write_safetensors(path, weights, {});
  static_cast<void>(load_backbone(*model, path));
  for (const char* name : {"conv1.weight", "bn1.running_var", "layer2.0.conv3.weight"}) {
    const Tensor own = model->store().find("backbone.0.body." + std::string(name));
    CHECK(own.to_vector() == weights[name].to_vector());
  }

  weights.erase("conv1.weight");
  weights["bn1.weight"] = drawn({7}, 1);
  weights["layer9.weight"] = drawn({7}, 1);
  write_safetensors(path, weights, {});
  std::string message;
  try {
    static_cast<void>(load_backbone(*model, path));
  } catch (const Error& error) {
    message = error.what();
  }
  for (const char* part : {"conv1.weight", "bn1.weight is [7], expected [2]", "layer9.weight"}) {
    CAPTURE(part);
    CHECK(contains(message, part));
  }
}

TEST_CASE("a backbone loads from another detector's file, and a ViT's by its own names") {
  const NoGrad no_grad;
  const TemporaryFolder folder;
  const auto path = folder / "weights.safetensors";
  const auto from = tiny_detector("detr"), to = tiny_detector("ddetr");
  from->store().find("backbone.0.body.layer2.0.conv2.weight").fill_(0.5);
  save_model(path, *from);
  static_cast<void>(load_backbone(*to, path));
  CHECK(to->store().find("backbone.0.body.layer2.0.conv2.weight").at(0) == 0.5);

  const json args{{"depth", 1}, {"embed_dim", 8}, {"num_heads", 2}};
  const auto vit = make_model("vit_tiny_patch4_32", args);
  vit->store().find("norm.bias").fill_(0.25);
  save_model(path, *vit);
  json config = kTinyDetector;
  for (const char* key : {"stem", "planes", "blocks"}) config.erase(key);
  config.update({{"family", "detr"}, {"backbone", "vit_tiny_patch4_32"}, {"backbone_args", args}});
  const auto detector = model_as<Detector>(make_model_from_config(config, 3));
  const LoadReport report = load_backbone(*detector, path);
  CHECK(report.resized == std::vector<std::string>{"pos_embed"});
  CHECK(detector->store().find("backbone.0.body.norm.bias").at(3) == 0.25);

  // A detector's own file keeps all of its names, though an encoder lies in it.
  save_model(path, *detector);
  const auto again = model_as<Detector>(load_model(path));
  CHECK(again->store().find("backbone.0.body.norm.bias").at(3) == 0.25);
  CHECK(again->store().find("query_embed.weight").to_vector() ==
        detector->store().find("query_embed.weight").to_vector());
}

TEST_CASE("published files of Deformable DETR hold the shared heads once per layer") {
  const auto model = tiny_detector("ddetr");
  TensorMap weights = state_of(*model);
  for (const auto& [name, tensor] : TensorMap(weights)) {
    for (const std::string head : {"class_embed.", "bbox_embed."}) {
      if (name.starts_with(head)) weights[head + "1" + name.substr(head.size() + 1)] = tensor;
    }
  }
  CHECK(weights.contains("class_embed.1.weight"));
  static_cast<void>(load_state(*model, weights));
  weights["class_embed.1.weight"] = weights["class_embed.1.weight"] + 1.0;
  CHECK_THROWS_AS(static_cast<void>(load_state(*model, weights)), Error);
}

TEST_CASE("a detector fine-tuned for other classes keeps its initial class head") {
  const auto from = tiny_detector("detr", {{"num_classes", 7}}), to = tiny_detector("detr");
  const LoadReport report = load_state(*to, state_of(*from), {}, {.finetune = true});
  CHECK(report.kept == std::vector<std::string>{"class_embed.weight", "class_embed.bias"});
}
