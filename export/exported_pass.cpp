// One pass a task.
#include "export/exported_pass.h"

#include "engine/base/error.h"
#include "models/classifier.h"
#include "models/model_as.h"

namespace fovea {
namespace {

Tensor example_image(const Model& model) {
  const auto [height, width] = model.info().img_size;
  return zeros({1, model.info().in_chans, height, width});
}

ExportedPass classifier_pass(Model& model) {
  auto& classifier = model_as<Classifier>(model);
  const bool has_head = model.info().num_classes > 0;
  ExportedPass pass;
  pass.inputs = {{"pixels", "normalised images, [batch, channels, height, width]"}};
  pass.outputs = {has_head ? PassValue{"logits", "a logit for each class, [batch, classes]"}
                           : PassValue{"features", "pooled tokens, [batch, channels]"}};
  pass.examples = {example_image(model)};
  pass.forward = [&classifier](const std::vector<Tensor>& inputs) {
    Context ctx;
    return std::vector<Tensor>{classifier.forward(inputs[0], ctx).logits};
  };
  return pass;
}

}  // namespace

ExportedPass exported_pass(Model& model) {
  check(model.info().task == TaskKind::classification, model.info().name, " is ",
        noun_of(model.info().task), "; export writes classifiers");
  return classifier_pass(model);
}

}  // namespace fovea
