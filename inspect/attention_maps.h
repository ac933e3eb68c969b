// The attention inside a model, block by block. No model stores an N x N matrix: what is shown is
// computed from the values a forward pass taps (attn/<i>/qkv, attn/<i>/bias, phi_p/<i>), for one
// image and one head at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"
#include "models/model.h"

namespace fovea {

/// Patch tokens as a picture. A model that shrinks its grid on the way keeps the middle.
struct PatchGrid {
  std::int64_t height = 0, width = 0;
  std::int64_t inset = 0;  ///< cells lost on each side

  [[nodiscard]] std::int64_t size() const { return height * width; }
  [[nodiscard]] std::int64_t center() const { return height / 2 * width + width / 2; }
};

/// A model's tokens as pictures show them.
struct TokenLayout {
  std::int64_t blocks = 0, heads = 1;
  std::int64_t prefix = 0;                       ///< tokens before the patches
  std::int64_t grid_height = 0, grid_width = 0;  ///< of the first block
  double cell_height = 1, cell_width = 1;        ///< of a patch, in pixels
  /// sqrt(height width) of the image in pixels: its side where it is square.
  [[nodiscard]] double image_side() const;
  /// The grid of `tokens` tokens, prefix included. Throws when they are no (smaller) grid.
  [[nodiscard]] PatchGrid grid_of(std::int64_t tokens) const;
};
/// Throws for a model without attention, naming it.
[[nodiscard]] TokenLayout token_layout(const Model& model);

/// Rows and columns of one head: [N, N], row-major.
struct SquareMap {
  std::int64_t size = 0;
  std::vector<float> values;

  [[nodiscard]] std::span<const float> row(std::int64_t q) const {
    return std::span(values).subspan(static_cast<std::size_t>(q * size),
                                     static_cast<std::size_t>(size));
  }
};

/// One block during one forward pass.
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
  /// A term of the logits that comes from positions.
  [[nodiscard]] bool has_position() const { return shown_.bias.defined() || has_phi_p(); }
  [[nodiscard]] bool has_phi_p() const { return shown_.phi_p.defined(); }

  struct Place {
    std::int64_t image = 0, head = 0;
  };
  /// q k^T / sqrt(d), zeros without content; [L, L].
  [[nodiscard]] SquareMap content(const Place& at) const;
  /// The additive term: the bias, else log(phi_p), else zeros; [L, L].
  [[nodiscard]] SquareMap position(const Place& at) const;
  /// softmax(content + position) over all keys; [L, L].
  [[nodiscard]] SquareMap weights(const Place& at) const;
  /// The same among patches alone: without the prefix's rows and columns, rows renormalised;
  /// [N, N].
  [[nodiscard]] SquareMap patch_weights(const Place& at) const;
  /// Position attention as a gate: phi_p, else exp(bias) between patches; [N, N].
  [[nodiscard]] SquareMap gate(const Place& at) const;
  [[nodiscard]] const TokenLayout& layout() const { return layout_; }

 private:
  std::int64_t block_;
  Shown shown_;
  TokenLayout layout_;
};

/// The part of an [L, L] map between patches.
[[nodiscard]] SquareMap without_prefix(const SquareMap& map, std::int64_t prefix);

using BlockVisitor = std::function<void(const BlockAttention&)>;
/// Runs the model once, in evaluation, and shows its blocks in order. Throws when it has none that
/// can be looked into.
void visit_blocks(Model& model, const Tensor& images, const BlockVisitor& visit);

}  // namespace fovea
