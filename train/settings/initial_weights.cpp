// Fields for weights loaded from files, head resets and frozen parameters.
#include "train/settings/initial_weights.h"

#include "engine/base/text.h"

namespace fovea {

void add_fields(Fields& fields, InitialWeights& options) {
  FieldGroup g(fields, "Run");
  g.add(
      "finetune", &options.finetune,
      "start from these weights (.safetensors, or PyTorch's .pth, .pt, .bin); head and image size "
      "may differ; a hub's folder with config.json also sets the model and its preprocessing");
  g.add("initial-checkpoint", &options.checkpoint, "start from exactly these weights");
  g.add("weights-key", &options.weights_key,
        "which weights to read from a file with several sets: model, model_ema, teacher.backbone, "
        "...");
  add_fields(g, options.positions);
}

void add_classifier_fields(Fields& fields, InitialWeights& options) {
  FieldGroup g(fields, "Model");
  g.choice("init", &options.values, "initial values: as in timm, or as in the original JAX ViT");
  g.number("head-init-scale", &options.head_scale, "factor on the initial values of the heads",
           {0, 1e6});
  g.number("head-init-bias", &options.head_bias, "initial value of the heads' biases", {-1e6, 1e6});
  FieldGroup(fields, "Run")
      .add("peg-load", &options.pegs, "start CPVT's PEGs from these weights; see peg-frozen");
}

void add_detector_fields(Fields& fields, InitialWeights& options) {
  FieldGroup(fields, "Run")
      .add("backbone-checkpoint", &options.backbone,
           "start the backbone from these weights: torchvision's ResNet, a DETR, or a run of this "
           "backbone");
}

void check_options(const InitialWeights& options) {
  check_usage(options.finetune.empty() || options.checkpoint.empty(),
              "--finetune and --initial-checkpoint: expected only one of them");
  const bool has_file = !options.finetune.empty() || !options.checkpoint.empty();
  const std::string needs = " needs --finetune FILE or --initial-checkpoint FILE";
  check_usage(options.weights_key.empty() || has_file, "--weights-key ", options.weights_key,
              needs);
  check_usage(options.positions.grid.empty() || has_file, "--pos-grid ", options.positions.grid,
              needs);
  LoadOptions how;  // only to check the grid
  apply(options.positions, how);
}

std::vector<std::regex> FrozenOptions::expressions() const {
  std::vector<std::regex> expressions;
  for (const std::string& word : split_words(patterns)) {
    try {
      expressions.emplace_back(word);
    } catch (const std::regex_error& error) {
      throw UsageError("--freeze: " + word + " is not a regular expression: " + error.what());
    }
  }
  return expressions;
}

void add_fields(Fields& fields, FrozenOptions& options) {
  FieldGroup(fields, "Optimizer")
      .add("freeze", &options.patterns,
           "regular expressions, separated by spaces: parameters with a matching name are not "
           "trained")
      .fixed = true;
}

void add_probe_fields(Fields& fields, FrozenOptions& options) {
  FieldGroup(fields, "Optimizer")
      .add("linear-probe", &options.all_but_heads, "train only the heads")
      .fixed = true;
}

void check_options(const FrozenOptions& options) {
  check_usage(options.patterns.empty() || !options.all_but_heads,
              "--freeze and --linear-probe: expected only one of them");
  static_cast<void>(options.expressions());
}

}  // namespace fovea
