// Loading a backbone by the names of its own.
#include "models/checkpoints/backbone.h"

#include <string_view>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/copy.h"
#include "models/checkpoints/mismatch.h"
#include "models/checkpoints/official_names.h"
#include "models/checkpoints/weights_folder.h"

namespace fovea {
namespace {

constexpr std::string_view kBody = "backbone.0.body.";

/// The residual network's tensors in a file, without a detector's prefix and without the
/// classifier.
TensorMap body_of(const TensorMap& file) {
  TensorMap all;
  bool is_detector = false;
  for (const auto& [name, tensor] : file) {
    const std::string official = official_name(name);
    is_detector = is_detector || official.starts_with(kBody);
    all.emplace(official, tensor);
  }
  TensorMap body;
  for (const auto& [name, tensor] : all) {
    if (is_detector && !name.starts_with(kBody)) continue;
    const std::string own = is_detector ? name.substr(kBody.size()) : name;
    if (!own.starts_with("fc.") && !own.ends_with("num_batches_tracked")) body.emplace(own, tensor);
  }
  return body;
}

/// Sorts a file's tensors into copies and mismatches.
struct Sorted {
  std::vector<std::pair<Tensor, Tensor>> copies;  ///< destination, source
  Mismatch mismatch;
};

Sorted sort_tensors(const Detector& detector, const TensorMap& body) {
  Sorted sorted;
  for (const auto* list : {&detector.store().parameters(), &detector.store().buffers()}) {
    for (const Parameter& p : *list) {
      if (!p.name.starts_with(kBody) || p.name.ends_with("num_batches_tracked")) continue;
      const auto found = body.find(p.name.substr(kBody.size()));
      if (found == body.end()) {
        sorted.mismatch.missing.push_back(p.name);
      } else if (found->second.shape() != p.tensor.shape()) {
        sorted.mismatch.misshaped.push_back(
            concat(p.name, " is ", found->second.shape(), ", expected ", p.tensor.shape()));
      } else {
        sorted.copies.emplace_back(p.tensor, found->second);
      }
    }
  }
  for (const auto& entry : body) {
    const bool known = detector.store().find(std::string(kBody) + entry.first).defined();
    if (!known) sorted.mismatch.unexpected.push_back(entry.first);
  }
  sorted.mismatch.fitting = sorted.copies.size();
  return sorted;
}

}  // namespace

LoadReport load_backbone(Detector& detector, const std::filesystem::path& given) {
  if (Model* const model = detector.backbone_model(); model != nullptr) {
    return load_weights(*model, given, {.finetune = true});
  }
  const std::filesystem::path path = weights_in(given);
  const TensorMap body = body_of(read_checkpoint(path).tensors);
  const Sorted sorted = sort_tensors(detector, body);
  check(sorted.mismatch.empty(), path.string(), ": weights do not fit the backbone of ",
        detector.info().name, ": ", mismatch_text(sorted.mismatch, body, detector, false));
  const NoGrad no_grad;
  for (const auto& [destination, source] : sorted.copies) {
    check(all_finite(source), path.string(), ": ", destination.name(),
          " contains a NaN or an infinity, so the weights are unusable");
    destination.copy_(source);
  }
  return {};
}

}  // namespace fovea
