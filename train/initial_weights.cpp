// Values, files, heads.
#include "train/initial_weights.h"

#include <optional>
#include <sstream>

#include "engine/autograd.h"
#include "models/cpvt.h"
#include "models/hub_config.h"
#include "models/pretrained.h"
#include "ops/arithmetic.h"
#include "settings/pipeline.h"
#include "train/jax_init.h"
#include "train/weights_table.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Weights from a hub expect colours as they were trained with; here those are settings of the run.
void note_other_colors(const TrainConfig& config, const fs::path& weights,
                       std::vector<std::string>& notices) {
  const std::optional<HubConfig> hub = find_hub_config(weights);
  const Normalization own = normalization_of(config);
  if (!hub || (own.mean == hub->mean && own.deviation == hub->deviation)) return;
  std::ostringstream text;
  const auto list = [&text](const char* flag, const std::array<float, 3>& v) {
    text << " --" << flag << ' ' << v[0] << ',' << v[1] << ',' << v[2];
  };
  text << weights.string() << ": was trained with";
  list("mean", hub->mean);
  list("std", hub->deviation);
  text << ", and this run has others";
  notices.push_back(text.str());
}

void load_weights_file(const TrainConfig& config, Model& model, std::vector<std::string>& notices) {
  LoadOptions options;
  options.finetune = !config.finetune.empty();
  const std::string& given = options.finetune ? config.finetune : config.initial_checkpoint;
  if (given.empty()) return;
  const fs::path path = weights_in(given);
  note_other_colors(config, path, notices);
  const LoadReport report = load_weights(model, path, options);
  notices.push_back(loading_table(path, model, report));
}

void change_heads(const TrainConfig& config, const Model& model) {
  const NoGrad no_grad;
  for (const Parameter& p : model.store().parameters()) {
    if (!is_head(p.role)) continue;
    if (config.head_init_scale) p.tensor.copy_(p.tensor * *config.head_init_scale);
    if (config.head_init_bias && p.tensor.rank() == 1) p.tensor.fill_(*config.head_init_bias);
  }
}

}  // namespace

void set_initial_weights(const TrainConfig& config, Model& model,
                         std::vector<std::string>& notices) {
  if (config.init == InitialValues::jax)
    initialise_as_jax(model, static_cast<std::uint64_t>(config.seed));
  load_weights_file(config, model, notices);
  if (!config.peg_load.empty()) load_pegs(model, config.peg_load);
  change_heads(config, model);
}

}  // namespace fovea
