// The attention inside a model, block by block. No model stores an N x N matrix: maps are computed
// from the tensors that a forward pass taps (attn/<i>/qkv, attn/<i>/bias, phi_p/<i>), for one image
// and one head at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/tensor.h"
#include "models/model.h"

namespace fovea {

/// Patch tokens as a grid. A model that shrinks its grid keeps the middle.
struct PatchGrid {
  std::int64_t height = 0, width = 0;
  std::int64_t inset = 0;  ///< cells removed on each side

  [[nodiscard]] std::int64_t size() const { return height * width; }
  [[nodiscard]] std::int64_t center() const { return height / 2 * width + width / 2; }
};

/// Layout of a model's tokens over the image.
struct TokenLayout {
  std::int64_t blocks = 0, heads = 1;
  std::int64_t prefix = 0;                       ///< tokens before the patches
  std::int64_t grid_height = 0, grid_width = 0;  ///< grid of the first block
  double cell_height = 1, cell_width = 1;        ///< size of a patch in pixels
  bool class_token = false;                      ///< token 0 is the class token
  /// sqrt(height width) of the image in pixels: the side of a square image.
  [[nodiscard]] double image_side() const;
  /// The grid of `tokens` tokens, prefix included. Throws if they form no (smaller) grid.
  [[nodiscard]] PatchGrid grid_of(std::int64_t tokens) const;
};
/// Throws, naming the model, if it has no attention.
[[nodiscard]] TokenLayout token_layout(const Model& model);

/// Attention of one head, queries by keys: [N, N], row-major.
struct SquareMap {
  std::int64_t size = 0;
  std::vector<float> values;

  [[nodiscard]] std::span<const float> row(std::int64_t q) const {
    return std::span(values).subspan(static_cast<std::size_t>(q * size),
                                     static_cast<std::size_t>(size));
  }
};

/// The attention of one block in one forward pass.
class BlockAttention {
 public:
  struct Shown {
    Tensor qkv;    ///< [B, L, 3 D] or undefined (attention without content)
    Tensor bias;   ///< broadcasts to [B, H, L, L] or undefined
    Tensor phi_p;  ///< [H, N, N] or undefined
  };
  BlockAttention(std::int64_t block, Shown shown, const TokenLayout& layout);

  [[nodiscard]] std::int64_t block() const { return block_; }  ///< from 0
  [[nodiscard]] std::int64_t images() const;
  [[nodiscard]] std::int64_t heads() const { return layout_.heads; }
  [[nodiscard]] std::int64_t tokens() const;  ///< L, prefix included
  [[nodiscard]] PatchGrid grid() const { return layout_.grid_of(tokens()); }
  [[nodiscard]] bool has_content() const { return shown_.qkv.defined(); }
  /// True if the logits have a positional term.
  [[nodiscard]] bool has_position() const { return shown_.bias.defined() || has_phi_p(); }
  [[nodiscard]] bool has_phi_p() const { return shown_.phi_p.defined(); }

  struct HeadIndex {
    std::int64_t image = 0, head = 0;
  };
  /// q k^T / sqrt(d), zeros without content; [L, L].
  [[nodiscard]] SquareMap content(const HeadIndex& index) const;
  /// The additive term: the bias, else log(phi_p), else zeros; [L, L].
  [[nodiscard]] SquareMap position(const HeadIndex& index) const;
  /// softmax(content + position) over all keys; [L, L].
  [[nodiscard]] SquareMap weights(const HeadIndex& index) const;
  /// Attention among patches alone: without the prefix's rows and columns, rows
  /// renormalised; [N, N].
  [[nodiscard]] SquareMap patch_weights(const HeadIndex& index) const;
  /// Positional attention as a gate: phi_p, else exp(bias) between patches; [N, N].
  [[nodiscard]] SquareMap gate(const HeadIndex& index) const;
  [[nodiscard]] const TokenLayout& layout() const { return layout_; }

 private:
  std::int64_t block_;
  Shown shown_;
  TokenLayout layout_;
};

/// The part of an [L, L] map between patches.
[[nodiscard]] SquareMap without_prefix(const SquareMap& map, std::int64_t prefix);

using BlockVisitor = std::function<void(const BlockAttention&)>;
/// Runs the model once, in evaluation mode, and calls `visit` for its blocks in order. Throws if
/// the model has no attention blocks.
void visit_blocks(Model& model, const Tensor& images, const BlockVisitor& visit);

}  // namespace fovea
