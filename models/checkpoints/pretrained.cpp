// Loading and saving weights by name.
#include "models/checkpoints/pretrained.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "engine/autograd.h"
#include "engine/copy.h"
#include "formats/safetensors.h"
#include "models/checkpoints/hub_config.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "ops/resize.h"

namespace fovea {
namespace {

using nlohmann::json;
using Grid = std::array<std::int64_t, 2>;

std::int64_t prefix_tokens(const TensorMap& tensors) {
  return static_cast<std::int64_t>(tensors.count("cls_token") + tensors.count("dist_token"));
}

/// The token grid that a file's own configuration states, if it does.
std::optional<Grid> stated_grid(const Metadata& metadata) {
  const auto text = metadata.find("config");
  if (text == metadata.end()) return {};
  const json config = parse_json(text->second);
  if (!config.is_object() || !config.contains("img_size")) return {};
  Grid image{};
  std::int64_t patch = 16;
  ConfigReader r("metadata config", config);
  r.read_size("img_size", image);
  r.read("patch_size", patch, 1);
  return Grid{image[0] / patch, image[1] / patch};
}

/// The grid of `tokens` patches: what the file says where that fits, else a square.
std::optional<Grid> grid_of(std::int64_t tokens, const Metadata& metadata) {
  const std::optional<Grid> stated = stated_grid(metadata);
  if (stated && (*stated)[0] * (*stated)[1] == tokens) return stated;
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(tokens))));
  if (side < 1 || side * side != tokens) return {};
  return Grid{side, side};
}

/// Whether a file's tensor belongs to a classification head.
bool names_head(std::string_view name) {
  return name.starts_with("head.") || name.starts_with("head_dist.");
}

/// Sorts the tensors of a file into what fits and what does not; changes nothing until apply().
class Loader {
 public:
  Loader(const Model& model, TensorMap tensors, const Metadata& metadata,
         const LoadOptions& options)
      : model_(model), tensors_(std::move(tensors)), metadata_(metadata), options_(options) {
    for (const auto* list : {&model.store().parameters(), &model.store().buffers()}) {
      for (const Parameter& p : *list) match(p);
    }
    for (const auto& [name, tensor] : tensors_) {
      if (model.store().find(name).defined()) continue;
      if (!(options_.finetune && is_left_out(name))) unexpected_.push_back(name);
    }
  }

  /// Copies everything, or throws the list of all that is wrong.
  LoadReport apply() {
    if (!missing_.empty() || !unexpected_.empty() || !misshaped_.empty()) complain();
    for (const auto& [destination, source] : copies_) {
      check(all_finite(source), "its ", destination.name(),
            " holds a NaN or an infinity: nothing can be done with such weights");
    }
    const NoGrad no_grad;
    for (const auto& [destination, source] : copies_) destination.copy_(source);
    return std::move(report_);
  }

 private:
  void match(const Parameter& p) {
    const auto found = tensors_.find(p.name);
    const bool keep_head = options_.finetune && (is_head(p.role) || p.role == Role::pooled_norm);
    if (found == tensors_.end()) {
      // A count that nothing is computed from; PyTorch does without it as well.
      const bool optional = keep_head || p.name.ends_with(".num_batches_tracked");
      (optional ? report_.kept : missing_).push_back(p.name);
    } else if (is_float(found->second.dtype()) != is_float(p.tensor.dtype())) {
      misshaped_.push_back(p.name + " is of " + std::string(to_string(found->second.dtype())) +
                           " and should be of " + std::string(to_string(p.tensor.dtype())));
    } else if (found->second.shape() == p.tensor.shape()) {
      copies_.emplace_back(p.tensor, found->second);
    } else if (keep_head) {
      report_.kept.push_back(p.name);
    } else if (p.role != Role::position_table || !resize_pos_embed(p, found->second)) {
      std::ostringstream text;
      text << p.name << " is " << found->second.shape() << " and should be " << p.tensor.shape();
      misshaped_.push_back(text.str());
    }
  }

  /// Of a file's tensor that the model lacks, when fine-tuning.
  bool is_left_out(std::string_view name) const {
    const bool is_decoder = name == "mask_token" || name.starts_with("decoder_");
    const bool is_token_norm = name == "norm.weight" || name == "norm.bias";
    const bool norms_pooled = model_.store().find("fc_norm.weight").defined();
    return names_head(name) || is_decoder || (is_token_norm && norms_pooled);
  }

  bool resize_pos_embed(const Parameter& p, const Tensor& file) {
    if (file.rank() != 3 || file.size(0) != 1 || file.size(2) != p.tensor.size(2)) return false;
    if (p.is_fixed && !options_.finetune) {  // computed: ours is right
      report_.kept.push_back(p.name);
      return true;
    }
    const Grid target = model_.tokens().grid.size;
    const std::int64_t own_prefix = p.tensor.size(1) - target[0] * target[1];
    // The prefix is known by name; an embedding that covers patches only has none.
    const std::int64_t prefix = own_prefix == 0 ? 0 : prefix_tokens(tensors_);
    const std::optional<Grid> grid = grid_of(file.size(1) - prefix, metadata_);
    if (!grid || prefix != own_prefix) return false;
    const ops::ResizeOptions how{ops::ResizeMode::bicubic,
                                 options_.pos_resize == PosResize::bicubic_aa};
    const NoGrad no_grad;
    copies_.emplace_back(
        p.tensor, ops::resample_pos_embed(file.to(p.tensor.dtype()), prefix, *grid, target, how));
    report_.resized.push_back(p.name);
    return true;
  }

  [[noreturn]] void complain() const {
    std::ostringstream text;
    const auto list = [&text](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      if (text.tellp() > 0) text << "; ";
      constexpr std::size_t kMaxNames = 1000;  // of each kind
      text << names.size() << ' ' << what << ": ";
      for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
        text << (i > 0 ? ", " : "") << names[i];
      if (names.size() > kMaxNames) text << " and " << names.size() - kMaxNames << " more";
    };
    list("missing", missing_);
    list("unexpected", unexpected_);
    list("mis-shaped", misshaped_);
    const std::string parts = foreign_parts(unexpected_);
    if (!parts.empty()) text << "; " << parts;
    fail("weights do not fit ", model_.info().name, ": ", text.str());
  }

  const Model& model_;
  TensorMap tensors_;
  const Metadata& metadata_;
  LoadOptions options_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  std::vector<std::string> missing_, unexpected_, misshaped_;
  LoadReport report_;
};

template <class F>
auto with_path(const std::filesystem::path& path, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(path.string())) throw;
    fail(path.string(), ": ", message);
  }
}

}  // namespace

std::string official_name(std::string name) {
  for (bool again = true; again;) {
    again = false;
    for (const char* prefix : {"module.", "_orig_mod."}) {
      if (!name.starts_with(prefix)) continue;
      name.erase(0, std::string_view(prefix).size());
      again = true;
    }
  }
  return name;
}

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

LoadReport load_state(Model& model, const TensorMap& tensors, const Metadata& metadata,
                      const LoadOptions& options) {
  TensorMap renamed;
  for (const auto& [name, tensor] : tensors) {
    check(renamed.emplace(official_name(name), tensor).second, "weights: ", official_name(name),
          " is there twice, with and without a prefix");
  }
  return Loader(model, std::move(renamed), metadata, options).apply();
}

LoadReport load_weights(Model& model, const std::filesystem::path& given,
                        const LoadOptions& options) {
  const std::filesystem::path path = weights_in(given);
  const WeightsFile file = read_weights(path, options.weights_key);
  return with_path(path, [&] { return load_state(model, file.tensors, file.metadata, options); });
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
    check(hub.has_value(), path.string(), ": neither its metadata nor a config.json of timm's ",
          "beside it says which model it is of; give --model, and --num-classes");
    config = json::parse(hub->config);
    name = hub->architecture;
  }
  if (request.num_classes > 0) config["num_classes"] = request.num_classes;
  if (!request.settings.empty()) config.update(parse_json(request.settings));
  return make_model_from_config(config, 0, request.options, name);
}

std::unique_ptr<Model> load_model(const std::filesystem::path& given, TensorOptions options,
                                  const std::string& weights_key) {
  const std::filesystem::path path = weights_in(given);
  const WeightsFile file = read_weights(path, weights_key);
  return with_path(path, [&] {
    ModelRequest request;
    request.options = options;
    std::unique_ptr<Model> model = make_model_of(file.metadata, path, request);
    load_state(*model, file.tensors, file.metadata, {});
    return model;
  });
}

}  // namespace fovea
