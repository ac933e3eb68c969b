// Setting a new run's weights: initial values, then files, then the requested changes of the heads.
#include "train/start/initial_weights.h"

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "models/checkpoints/backbone.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/cpvt.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "train/run/weights_info.h"
#include "train/start/class_heads.h"
#include "train/start/jax_init.h"
#include "train/start/latent_training.h"
#include "train/start/weights_table.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

void load_weights_file(const InitialWeights& from, const NewRun& run, Model& model,
                       Notices& notices) {
  LoadOptions options;
  options.finetune = !from.finetune.empty();
  options.all_names = run.verbose;
  apply(from.positions, options);
  const std::string& file = options.finetune ? from.finetune : from.checkpoint;
  if (file.empty()) return;
  const fs::path path = weights_in(file);
  const Checkpoint weights = read_checkpoint(path, from.weights_key);
  const std::string colors = other_colors(weights.metadata, path, run.context.normalization);
  if (!colors.empty()) notices.add(path.string(), ": ", colors);
  if (run.latents) require_vae_of(weights.metadata, path.string(), *run.latents);
  const TensorMap heads = copies_of_heads(model);
  LoadReport report = load_checkpoint(model, weights, path, options);
  const HeadOrigin origin{
      path.string(), learned_classes(weights_info(weights.metadata, path), std::ssize(run.classes)),
      options.finetune};
  match_heads(origin, run.classes, heads, model, report, notices);
  notices.add(loading_table(path, weights.tensors, model, report));
  for (const std::string& note : report.notes) notices.add(path.string(), ": ", note);
}

void load_backbone_weights(const std::string& file, Model& model, Notices& notices) {
  const LoadReport report = load_backbone(model_as<Detector>(model), file);
  for (const std::string& note : report.notes) notices.add(file, ": ", note);
  if (!report.resized.empty()) notices.add(file, ": resized ", join(report.resized, ", "));
}

void change_heads(const InitialWeights& from, const Model& model) {
  const NoGrad no_grad;
  for (const Parameter& p : model.store().parameters()) {
    if (!is_head(p.role)) continue;
    if (from.head_scale) p.tensor.copy_(p.tensor * *from.head_scale);
    if (from.head_bias && p.tensor.rank() == 1) p.tensor.fill_(*from.head_bias);
  }
}

}  // namespace

void set_initial_weights(const InitialWeights& from, const NewRun& run, Model& model,
                         Notices& notices) {
  if (from.values == InitialValues::jax) initialise_as_jax(model, run.context.seed);
  load_weights_file(from, run, model, notices);
  if (!from.backbone.empty()) load_backbone_weights(from.backbone, model, notices);
  if (!from.pegs.empty()) load_pegs(model, from.pegs);
  change_heads(from, model);
}

}  // namespace fovea
