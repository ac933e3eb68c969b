// Weights under the official names (timm's): the one place that takes prefixes off, chooses an
// encoder and translates other programs' names. All code that asks for a tensor by name sees its
// result.
#pragma once

#include <string>
#include <vector>

#include "engine/formats/weights_file.h"

namespace fovea {

struct OfficialWeights {
  TensorMap tensors;
  std::vector<std::string> notes{};  ///< what was removed, translated and left out
  std::string settings = "{}";       ///< JSON object: settings that the names imply
};

/// A name without the parts that wrappers add: "module." at the front; "_orig_mod." and those of
/// FSDP and of activation checkpointing anywhere.
[[nodiscard]] std::string official_name(std::string name);

/// Renames tensors, in this order: wrappers' parts are removed; if `prefix` is not empty, only the
/// tensors under it count ("." are those that are not in another encoder); a prefix that all names
/// share, or the prefix of the only encoder, is removed; names of DINOv2, DINOv3, EVA, Perception
/// Encoder, Sapiens 2, torchvision, CLIP and Hugging Face's transformers become timm's. Throws
/// Error if there are several encoders, listing their prefixes, and if two tensors get the same
/// name. Weights with official names stay as they are.
[[nodiscard]] OfficialWeights official_weights(const TensorMap& tensors,
                                               const std::string& prefix = {});

/// True if some of the names lie under a prefix, given with or without wrappers' parts.
[[nodiscard]] bool has_prefix(const std::vector<std::string>& names, const std::string& prefix);

}  // namespace fovea
