// Copying of tensors under the names of a detector's backbone.
#include "train/start/backbone_weights.h"

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/detector_backbone.h"

namespace fovea {
namespace {

using nlohmann::json;

const std::string kPrefix = "backbone.0.body.";

/// The weights of the vision transformer `config` in a file, fitted to its settings.
TensorMap token_weights(const json& config, const std::filesystem::path& path,
                        const Checkpoint& file, Notices& notices) {
  const std::unique_ptr<Model> backbone = make_model_from_config(config, 0);
  LoadOptions options;
  options.finetune = true;
  const LoadReport report = load_checkpoint(*backbone, file, path, options);
  for (const std::string& note : report.notes) notices.add(path.string(), ": ", note);
  for (const std::string& table : report.resized)
    notices.add(path.string(), ": ", table, " was resized to the detector's grid");
  return state_of(*backbone);
}

}  // namespace

void load_backbone(Model& detector, const std::string& file, Notices& notices) {
  const NoGrad no_grad;
  const std::filesystem::path path = weights_in(file);
  const Checkpoint weights = read_checkpoint(path, "");
  const json config = token_backbone_config(json::parse(detector.info().config));
  const TensorMap tensors =
      config.is_null() ? weights.tensors : token_weights(config, path, weights, notices);
  std::int64_t copied = 0;
  for (const auto& [name, own] : state_of(detector)) {
    if (!name.starts_with(kPrefix)) continue;
    const auto found = tensors.find(name.substr(kPrefix.size()));
    check(found != tensors.end(), path.string(), ": ", name.substr(kPrefix.size()),
          " is missing; is it the backbone of ", detector.info().name, "?");
    check(found->second.shape() == own.shape(), path.string(), ": ", found->first, ": got ",
          found->second.shape(), ", expected ", own.shape());
    Tensor target = own;
    target.copy_(found->second.to(own.dtype()).to(own.device()));
    ++copied;
  }
  notices.add("backbone: ", copied, " tensors from ", path.string());
}

}  // namespace fovea
