// The fine-tuning command, with flags that give the classifier the encoder's blocks.
#include "train/tasks/finetune_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"

namespace fovea {
namespace {

constexpr std::size_t kLineWidth = kTerminalWidth - 4;  // the screen indents it

/// "mae_vit_base_patch16" and "mae_pit_tiny_32" without "mae_", and with an image size.
std::string encoder_of(const std::string& model) {
  std::string encoder = model.substr(model.find('_') + 1);
  const std::size_t image = encoder.find_last_of('_') + 1;
  const bool has_size = encoder.find_first_not_of("0123456789x", image) == std::string::npos;
  return has_size ? encoder : encoder + "_224";
}

/// The --model-args that an encoder accepts.
std::string encoder_args(const std::string& text) {
  if (text.empty()) return "";
  nlohmann::json args = parse_json(text);
  for (const char* const own : {"mask_ratio", "norm_pix_loss", "pos_embed", "decoder_embed_dim",
                                "decoder_depth", "decoder_num_heads"}) {
    args.erase(own);
  }
  return args.empty() ? "" : json_text(args);
}

}  // namespace

std::string finetune_command(const TrainConfig& config) {
  std::vector<std::string> flags;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) flags.push_back("--" + name + " " + shell_word(value));
  };
  const DatasetOptions& data = config.data;
  add("dataset", data.name);
  add("data-dir", data.data_dir.string());
  add("train-split", data.train_split);
  add("val-split", data.val_split);
  add("val-fraction", data.val_fraction == 0 ? "" : shortest_text(data.val_fraction));
  if (data.val_fraction > 0 && data.name == "folder") {
    const bool by_name = data.val_rule == HoldOutRule::name;
    add("val-fraction-rule", by_name ? "" : "number");  // that of earlier runs
    const std::uint64_t seed = config.run.seed;
    add("seed", by_name && seed != RunContext().seed ? std::to_string(seed) : "");
  }
  add("val-labels", data.val_labels.string());
  add("class-map", data.class_map.string());
  add("finetune", "RUN");
  add("model", encoder_of(config.model.name));
  ModelSettings settings = config.model.settings;
  for (const std::string name :
       {"img-size", "patch-size", "embed-dim", "depth", "num-heads", "mlp-ratio"}) {
    std::string key = name;
    std::replace(key.begin(), key.end(), '-', '_');
    add(name, settings[key]);
  }
  add("model-args", encoder_args(settings["model_args"]));
  add("global-pool", "avg");
  add("layer-decay", "0.75");

  const bool small = data.name == "builtin" || data.name.starts_with("cifar");
  std::string text = program_call(small ? "train_cifar" : "train_imagenet");
  std::size_t line = text.size();
  for (const std::string& flag : flags) {
    const bool fits = line + 1 + flag.size() + 2 <= kLineWidth;  // two for the end of the line
    text += (fits ? " " : " \\\n    ") + flag;
    line = (fits ? line + 1 : 4) + flag.size();
  }
  return text;
}

}  // namespace fovea
