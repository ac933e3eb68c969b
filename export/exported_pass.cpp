// One pass a task.
#include "export/exported_pass.h"

#include <array>
#include <utility>

#include "engine/base/error.h"
#include "models/classifier.h"
#include "models/depth_transformer.h"
#include "models/detector.h"
#include "models/dit.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/vae.h"
#include "ops/activation.h"
#include "ops/box.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Makes height and width of the first input variable. They grow by different numbers of cells of a
/// model's smallest map, which tells the two apart.
ExportedPass of_any_size(ExportedPass pass, std::int64_t cell) {
  pass.resized = pass.examples;
  Shape shape = pass.examples[0].shape();
  shape[2] += 2 * cell;
  shape[3] += 5 * cell;
  pass.resized[0] = zeros(shape);
  return pass;
}

/// A pass of images alone; run(model, images, ctx) gives the outputs.
template <class M, class Run>
ExportedPass pass_of_images(Model& model, std::vector<PassValue> outputs, const Run& run) {
  const auto [height, width] = model.info().img_size;
  ExportedPass pass;
  pass.inputs = {{"pixels", "normalised images, [batch, channels, height, width]"}};
  pass.outputs = std::move(outputs);
  pass.examples = {zeros({1, model.info().in_chans, height, width})};
  pass.forward = [&typed = model_as<M>(model), run](const std::vector<Tensor>& inputs) {
    Context ctx;
    return std::vector<Tensor>(run(typed, inputs.at(0), ctx));
  };
  return pass;
}

ExportedPass classifier_pass(Model& model) {
  const bool has_head = model.info().num_classes > 0;
  return pass_of_images<Classifier>(
      model,
      {has_head ? PassValue{"logits", "a logit for each class, [batch, classes]"}
                : PassValue{"features", "pooled tokens, [batch, channels]"}},
      [](Classifier& classifier, const Tensor& images, Context& ctx) {
        return std::vector<Tensor>{classifier.forward(images, ctx).logits};
      });
}

ExportedPass encoder_pass(Model& model) {
  return pass_of_images<Mae>(
      model, {{"features", "the class token and the patches', [batch, tokens, channels]"}},
      [](const Mae& mae, const Tensor& images, Context& ctx) {
        return std::vector<Tensor>{mae.features(images, ctx)};
      });
}

ExportedPass depth_pass(Model& model) {
  ExportedPass pass = pass_of_images<DepthTransformer>(
      model, {{"depth", "metres, [batch, height, width]"}},
      [](DepthTransformer& depth, const Tensor& images, Context& ctx) {
        return std::vector<Tensor>{depth.forward(images, ctx)};
      });
  const auto& depth = model_as<DepthTransformer>(model);
  if (!depth.takes_any_size()) return pass;
  pass.unit = depth.tokens().cell;
  return of_any_size(std::move(pass), pass.unit);
}

/// The last layer's boxes, and the probabilities of all classes but "no object".
std::vector<Tensor> detections(Detector& detector, const Tensor& images, Context& ctx) {
  const DetectorOutput out = detector.forward(images, {}, ctx);
  const auto last = [](const Tensor& x) { return ops::select(x, 0, x.size(0) - 1); };
  const Tensor logits = last(out.logits);
  const bool is_softmax = detector.loss_options().class_loss == ClassLoss::softmax;
  const Tensor all = is_softmax ? ops::softmax(logits) : ops::sigmoid(logits);
  const Tensor probabilities = ops::slice(all, 2, 0, detector.info().num_classes);
  return {ops::box_corners(last(out.boxes)), ops::amax(probabilities, {2}),
          ops::argmax(probabilities, 2), probabilities};
}

ExportedPass detector_pass(Model& model) {
  ExportedPass pass = pass_of_images<Detector>(
      model,
      {{"boxes", "x0, y0, x1, y1 of each query, relative to the image, [batch, queries, 4]"},
       {"scores", "probability of the likeliest class, [batch, queries]"},
       {"classes", "the likeliest class, [batch, queries]"},
       {"probabilities", "of each class, [batch, queries, classes]"}},
      detections);
  // Transformers as backbones pad images to whole patches.
  constexpr std::int64_t kCell = 32;  // pixels that a residual network makes one
  const bool is_residual = model_as<Detector>(model).backbone_model() == nullptr;
  return is_residual ? of_any_size(std::move(pass), kCell) : pass;
}

/// Without guidance, which combines two calls.
ExportedPass denoiser_pass(Model& model) {
  const auto& dit = model_as<Dit>(model);
  const auto [height, width] = model.info().img_size;
  const std::int64_t channels = model.info().in_chans;
  const std::int64_t labels = model.info().num_classes + (dit.config().has_null_class() ? 1 : 0);
  ExportedPass pass;
  pass.inputs = {{"latents", "noisy latents or images, [batch, channels, height, width]"},
                 {"step", "step of the noise schedule, [batch]", 300},
                 {"class", "class of each; the number of classes stands for none, [batch]",
                  static_cast<double>(labels)}};
  pass.outputs = {{"noise", "the noise in them, like latents"}};
  if (dit.config().learn_sigma) {
    pass.outputs.push_back({"sigma", "its variance between the schedule's bounds, like latents"});
  }
  pass.examples = {zeros({1, channels, height, width}), zeros({1}), zeros({1}, {DType::i64, {}})};
  pass.forward = [&dit, channels](const std::vector<Tensor>& inputs) {
    Context ctx;
    const Tensor all = dit.denoise(inputs.at(0), inputs.at(1), inputs.at(2), ctx);
    if (!dit.config().learn_sigma) return std::vector<Tensor>{all};
    return std::vector<Tensor>{ops::slice(all, 1, 0, channels),
                               ops::slice(all, 1, channels, 2 * channels)};
  };
  return pass;
}

ExportedPass decoder_pass(Model& model) {
  const auto& vae = model_as<Vae>(model);
  const auto [height, width] = model.info().img_size;
  const std::int64_t f = vae.config().factor();
  ExportedPass pass;
  pass.inputs = {{"latents", "not scaled, [batch, channels, height, width]"}};
  pass.outputs = {{"image", "-1 to 1, [batch, 3, height, width]"}};
  pass.examples = {zeros({1, vae.config().latent_channels, height / f, width / f})};
  pass.forward = [&vae](const std::vector<Tensor>& inputs) {
    const Context ctx;
    return std::vector<Tensor>{vae.decode(inputs.at(0), ctx)};
  };
  return of_any_size(std::move(pass), 1);
}

struct TaskPass {
  TaskKind task;
  ExportedPass (*pass)(Model& model);
};
constexpr auto kPasses = std::to_array<TaskPass>({
    {TaskKind::classification, classifier_pass},
    {TaskKind::masked_autoencoding, encoder_pass},
    {TaskKind::depth, depth_pass},
    {TaskKind::detection, detector_pass},
    {TaskKind::diffusion, denoiser_pass},
    {TaskKind::autoencoding, decoder_pass},
});

}  // namespace

ExportedPass exported_pass(Model& model) {
  for (const auto& [task, pass] : kPasses) {
    if (task == model.info().task) return pass(model);
  }
  fail("export: ", noun_of(model.info().task), " cannot be exported");
}

ExportedPass with_likeliest(ExportedPass pass, std::int64_t count) {
  pass.outputs.push_back({"probabilities", "of the likeliest classes, [batch, K]"});
  pass.outputs.push_back({"classes", "these classes, the likeliest first, [batch, K]"});
  pass.forward = [logits = std::move(pass.forward), count](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs = logits(inputs);
    const auto [probabilities, classes] = ops::topk(ops::softmax(outputs.front()), count);
    outputs.insert(outputs.end(), {probabilities, classes});
    return outputs;
  };
  return pass;
}

}  // namespace fovea
