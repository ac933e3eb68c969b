// Detectors keep their official names. Deformable DETR's files hold the heads once per decoder
// layer, though all layers share them.
#include <string>

#include "engine/base/text.h"
#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

bool same_values(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.to_vector() == b.to_vector();
}

/// Drops class_embed.1.weight and so on if they are equal to class_embed.0.weight. Heads that
/// differ belong to a model that refines boxes; they stay, and are then reported as unexpected.
void drop_copies(TensorMap& tensors) {
  std::erase_if(tensors, [&](const auto& entry) {
    for (const std::string head : {"class_embed.", "bbox_embed."}) {
      if (!entry.first.starts_with(head)) continue;
      const std::size_t dot = entry.first.find('.', head.size());
      if (dot == std::string::npos) continue;
      const auto layer = parse_integer(entry.first.substr(head.size(), dot - head.size()));
      const auto first = tensors.find(head + "0" + entry.first.substr(dot));
      if (!layer || *layer == 0 || first == tensors.end()) continue;
      return same_values(entry.second, first->second);
    }
    return false;
  });
}

}  // namespace

const Translation kDetector{.whose = "DETR",
                            .ours = "",
                            .anchor = "transformer.decoder.layers.0.linear1.weight",
                            .companion = "query_embed.weight",
                            .complete = drop_copies};

}  // namespace fovea
