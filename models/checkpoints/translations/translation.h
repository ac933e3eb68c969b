// Other programs' names for the weights of a ViT or a VAE, and how they become ours: timm's, or for
// a VAE diffusers'.
#pragma once

#include <span>
#include <string_view>

#include "models/checkpoints/translations/rename.h"

namespace fovea {

struct Translation {
  std::string_view whose;            ///< "OpenAI CLIP", for messages
  std::string_view ours = "timm's";  ///< whose names they become; "" if they are already ours
  /// Tensors of every such encoder. Together they occur in no other one.
  std::string_view anchor, companion;
  RenameTable names{};
  RenameTable block_names{};  ///< for what follows "blocks.#." or "decoder_blocks.#."
  /// Beginnings of names that belong to the model but are not under the encoder's prefix: heads.
  std::span<const std::string_view> outside{};
  /// JSON object with the settings that these names imply.
  std::string_view settings = "{}";
  /// Changes shapes and joins parts, after the renaming.
  void (*complete)(TensorMap& tensors) = nullptr;
};

// One file each.
extern const Translation kTimm;  ///< timm itself, DINOv2, EVA and older repositories of ViTs
extern const Translation kDinov3;
extern const Translation kSapiens2;
extern const Translation kTorchvision;
extern const Translation kOpenaiClip;       ///< and Perception Encoders
extern const Translation kTransformersVit;  ///< ViT, DeiT and ViT-MAE
extern const Translation kTransformersDinov2;
extern const Translation kTransformersDinov3;
extern const Translation kTransformersClip;
extern const Translation kJax;  ///< Google's vision_transformer and big_vision
extern const Translation kDiffusersVae;
extern const Translation kOlderDiffusersVae;
extern const Translation kCompvisVae;
extern const Translation kDetector;  ///< DETR and Deformable DETR, whatever their backbone

/// All of them; the first one whose tensors are there counts.
[[nodiscard]] std::span<const Translation* const> translations();

/// Reshapes a tensor if it is there; `rank` is its rank in the file.
void reshape_from_rank(TensorMap& tensors, std::string_view name, int rank, const Shape& shape);
/// Gives the class token its own position, if a model with register tokens has positions for the
/// class token and the patches alone: then the position is part of the token.
void move_class_position(TensorMap& tensors);
/// Gives a class token [D] and positions [L, D], as CLIP stores them, the axes that ours have.
void add_leading_axes(TensorMap& tensors);
/// Adds a bias of zeros to a head that is a bare projection.
void add_head_bias(TensorMap& tensors);

}  // namespace fovea
