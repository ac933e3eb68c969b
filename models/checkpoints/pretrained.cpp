// Loading and saving weights by name.
#include "models/checkpoints/pretrained.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "engine/autograd.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/copy.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/channel_fit.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/eva_names.h"
#include "models/checkpoints/grid_fit.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/mismatch.h"
#include "models/checkpoints/official_names.h"
#include "models/checkpoints/weights_folder.h"
#include "models/registry.h"

namespace fovea {
namespace {

using nlohmann::json;

GridFitOptions fit_options(const TensorMap& tensors, const LoadOptions& options) {
  std::int64_t prefix = 0;
  for (const char* name : {"cls_token", "dist_token", "reg_token"}) {
    const auto found = tensors.find(name);
    if (found != tensors.end() && found->second.rank() == 3) prefix += found->second.size(1);
  }
  return {options.pos_resize, options.pos_grid, prefix, options.finetune};
}

/// True if a file's tensor belongs to a classification head.
bool names_head(std::string_view name) {
  return name.starts_with("head.") || name.starts_with("head_dist.");
}

/// Weights of old ViTs have a layer between the pooled token and the head, which is of no use
/// without it. Fine-tuning starts a new head and leaves out both; returns a note that says so.
std::string leave_out_representation(TensorMap& tensors, const Model& model) {
  constexpr std::string_view kLayer = "pre_logits.";
  const auto is_layer = [&](const auto& entry) { return entry.first.starts_with(kLayer); };
  const bool has_layer = std::any_of(tensors.begin(), tensors.end(), is_layer);
  if (!has_layer || model.store().find("pre_logits.fc.weight").defined()) return "";
  std::erase_if(tensors,
                [&](const auto& entry) { return is_layer(entry) || names_head(entry.first); });
  return "its head stands on a representation layer (pre_logits), which models here lack: both are "
         "left out";
}

/// Sorts the tensors of a file into those that fit and those that do not. Changes nothing until
/// apply().
class Loader {
 public:
  Loader(const Model& model, TensorMap tensors, const WeightsOrigin& origin,
         const LoadOptions& options)
      : model_(model),
        tensors_(with_names_of(model, std::move(tensors))),
        options_(options),
        grids_(origin, fit_options(tensors_, options)) {
    if (options.finetune) {
      const std::string left_out = leave_out_representation(tensors_, model);
      if (!left_out.empty()) report_.notes.push_back(left_out);
    }
    for (const auto* list : {&model.store().parameters(), &model.store().buffers()}) {
      for (const Parameter& p : *list) match(p);
    }
    for (const auto& [name, tensor] : tensors_) {
      if (is_counter(tensor) || model.store().find(name).defined()) continue;
      if (!(options_.finetune && is_left_out(name))) mismatch_.unexpected.push_back(name);
    }
  }

  /// Copies all tensors, or throws one Error that lists everything that is wrong.
  LoadReport apply() {
    mismatch_.fitting = copies_.size();
    if (!mismatch_.empty()) complain();
    for (const auto& [destination, source] : copies_) {
      check(all_finite(source), "its ", destination.name(),
            " contains a NaN or an infinity, so the weights are unusable");
    }
    const NoGrad no_grad;
    for (const auto& [destination, source] : copies_) destination.copy_(source);
    return std::move(report_);
  }

 private:
  void match(const Parameter& p) {
    const auto found = tensors_.find(p.name);
    const bool keep_head =
        options_.finetune && (has_class_rows(p.role) || p.role == Role::pooled_norm);
    if (found == tensors_.end()) {
      // No computation uses this counter; PyTorch does not require it either.
      const bool optional = keep_head || p.name.ends_with(".num_batches_tracked");
      (optional ? report_.kept : mismatch_.missing).push_back(p.name);
    } else if (is_float(found->second.dtype()) != is_float(p.tensor.dtype())) {
      mismatch_.misshaped.push_back(p.name + " is " +
                                    std::string(to_string(found->second.dtype())) + ", expected " +
                                    std::string(to_string(p.tensor.dtype())));
    } else {
      take(p, fit(p, found->second), keep_head);
    }
  }

  Fitted fit(const Parameter& p, const Tensor& file) const {
    if (p.grid != TokenGrid{}) return grids_.fit(p, file);
    if (file.shape() == p.tensor.shape()) return {file};
    if (p.role == Role::patches) {
      if (Fitted fitted = fit_channels(p, file); fitted.values.defined()) return fitted;
    }
    return {.mismatch = concat(p.name, " is ", file.shape(), ", expected ", p.tensor.shape())};
  }

  void take(const Parameter& p, const Fitted& fitted, bool keep_head) {
    for (const std::string& note : fitted.notes) {
      const bool is_new = std::ranges::find(report_.notes, note) == report_.notes.end();
      if (is_new) report_.notes.push_back(note);
    }
    if (fitted.resized) report_.resized.push_back(p.name);
    if (fitted.values.defined()) {
      copies_.emplace_back(p.tensor, fitted.values);
    } else if (fitted.mismatch.empty() || keep_head) {
      report_.kept.push_back(p.name);
    } else {
      mismatch_.misshaped.push_back(fitted.mismatch);
    }
  }

  /// True for tensors of the file that fine-tuning ignores when the model lacks them.
  bool is_left_out(std::string_view name) const {
    const bool is_decoder = name == "mask_token" || name.starts_with("decoder_");
    const bool is_token_norm = name == "norm.weight" || name == "norm.bias";
    const bool norms_pooled = model_.store().find("fc_norm.weight").defined();
    return names_head(name) || is_decoder || (is_token_norm && norms_pooled);
  }

  [[noreturn]] void complain() const {
    fail("weights do not fit ", model_.info().name, ": ",
         mismatch_text(mismatch_, tensors_, model_, options_.all_names));
  }

  const Model& model_;
  TensorMap tensors_;
  LoadOptions options_;
  GridFit grids_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  Mismatch mismatch_;
  LoadReport report_;
};

}  // namespace

TensorMap state_of(const Model& model) {
  TensorMap tensors;
  for (const auto* list : {&model.store().parameters(), &model.store().buffers()}) {
    for (const Parameter& p : *list) tensors[p.name] = p.tensor.detach();
  }
  return tensors;
}

Metadata metadata_of(const Model& model) {
  return {{"model", model.info().name}, {"config", model.info().config}};
}

LoadReport load_state(Model& model, const TensorMap& tensors, const WeightsOrigin& origin,
                      const LoadOptions& options) {
  OfficialWeights weights = official_weights(tensors);
  LoadReport report = Loader(model, std::move(weights.tensors), origin, options).apply();
  report.notes.insert(report.notes.begin(), weights.notes.begin(), weights.notes.end());
  return report;
}

LoadReport load_checkpoint(Model& model, const Checkpoint& file, const std::filesystem::path& path,
                           const LoadOptions& options) {
  const WeightsOrigin origin = origin_of(file.metadata, path, options.model);
  LoadReport report =
      with_context(path.string(), [&] { return load_state(model, file.tensors, origin, options); });
  report.notes.insert(report.notes.begin(), file.notes.begin(), file.notes.end());
  return report;
}

LoadReport load_weights(Model& model, const std::filesystem::path& given,
                        const LoadOptions& options) {
  const std::filesystem::path path = weights_in(given);
  return load_checkpoint(model, read_checkpoint(path, options.weights_key), path, options);
}

void save_model(const std::filesystem::path& path, const Model& model, const Metadata& extra) {
  Metadata metadata = metadata_of(model);
  metadata.insert(extra.begin(), extra.end());
  write_safetensors(path, state_of(model), metadata);
}

std::unique_ptr<Model> make_model_of(const Metadata& metadata, const std::filesystem::path& path,
                                     const ModelRequest& request) {
  json config;
  std::string name = request.name;
  const auto own = metadata.find("config"), shown = metadata.find("model");
  if (!name.empty()) {
    config = preset(name);
    if (request.norms_pooled && config["family"] == "vit") config["global_pool"] = "avg";
  } else if (own != metadata.end()) {
    config = parse_json(own->second);
    check(config.is_object(), path.string(), ": the model in its metadata is not a JSON object");
    if (shown != metadata.end()) name = visible_text(shown->second);
  } else {
    const std::optional<HubConfig> hub = find_hub_config(path);
    check(hub.has_value(), path.string(),
          ": neither its metadata nor a config.json of timm or transformers next to it ",
          "names its model; add --model and --num-classes");
    config = json::parse(hub->config);
    name = hub->architecture;
  }
  if (request.num_classes > 0) config["num_classes"] = request.num_classes;
  if (!request.settings.empty()) config.update(parse_json(request.settings));
  return with_context(path.string(),
                      [&] { return make_model_from_config(config, 0, request.options, name); });
}

std::unique_ptr<Model> load_model(const std::filesystem::path& given, TensorOptions options,
                                  const std::string& weights_key) {
  const std::filesystem::path path = weights_in(given);
  const Checkpoint file = read_checkpoint(path, weights_key);
  return with_context(path.string(), [&] {
    ModelRequest request;
    request.options = options;
    std::unique_ptr<Model> model = make_model_of(file.metadata, path, request);
    load_state(*model, file.tensors, origin_of(file.metadata, path));
    return model;
  });
}

}  // namespace fovea
