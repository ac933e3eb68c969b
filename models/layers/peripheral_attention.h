// Multi-head peripheral attention (Min et al. 2022, equations 4 and 5): content times position.
//   Phi_c = exp(s - max_k s), s = q k^T / sqrt(d);   Phi_p from positions alone
//   attention = Phi_c Phi_p / sum_k Phi_c Phi_p = softmax(s + log Phi_p)
// Position thus enters ops::self_attention as a bias shared by all images (PerViT eq. 4 and 5).
#pragma once

#include <optional>

#include "models/context.h"
#include "models/layers/attend.h"
#include "models/layers/linear.h"
#include "models/layers/position_attention.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {

/// Attention branch of a block, [B, N, D] -> [B, N, D], with heads of width d = D / H. Either
/// content or position may be switched off (phi_c, phi_p), but not both. Parameter names: `to_qkv`
/// (or `to_v`), `proj`, and `activation` for Phi_p.
class PeripheralAttention {
 public:
  PeripheralAttention(const Scope& s, std::int64_t dim, std::int64_t heads, bool content,
                      std::optional<PositionAttention> position)
      : heads_(heads),
        content_(content),
        position_(std::move(position)),
        in_(s / (content ? "to_qkv" : "to_v"), dim, content ? 3 * dim : dim, false),
        proj_(s / "proj", dim, dim) {
    check(dim % heads == 0, "PeripheralAttention: width ", dim, " is not divisible by num_heads ",
          heads);
    check(content || position_, "PeripheralAttention: neither content nor position attention");
  }

  /// Taps phi_p/<block>, attn/<block>/qkv and attn/<block>/bias.
  [[nodiscard]] Branch operator()(const Tensor& x, const Context& ctx, std::int64_t block) {
    const Tensor log_phi_p = position_ ? (*position_)() : Tensor();  // [H, N, N]
    if (ctx.tap && position_) show_position(ctx, block, log_phi_p);
    const Tensor in = in_(x);  // [B, N, 3 D]: q, k, v side by side; or v alone
    if (!content_) return proj_.branch(attend_by_position(log_phi_p, in));
    if (ctx.tap) ctx.show("attn/" + std::to_string(block) + "/qkv", in);
    return proj_.branch(ops::self_attention(in, heads_, log_phi_p));  // [B, N, D]
  }

  /// Computes the image-independent part, with its tape.
  void prepare() {
    if (position_) static_cast<void>((*position_)());
  }
  void finish_backward() {
    if (position_) position_->finish_backward();
  }
  void abandon_step() {
    if (position_) position_->abandon_step();
  }

 private:
  /// v [B, N, D] -> Phi_p v / sum_k Phi_p; all images share the weights.
  [[nodiscard]] Tensor attend_by_position(const Tensor& log_phi_p, const Tensor& v) const {
    const std::int64_t N = v.size(1);
    const Tensor weights =
        ops::expand(ops::softmax(log_phi_p).to(v.dtype()), {heads_, N, N});  // rows sum to one
    return join_heads(ops::matmul(weights, split_heads(v, heads_)));
  }

  void show_position(const Context& ctx, std::int64_t block, const Tensor& log_phi_p) const {
    const std::int64_t N = log_phi_p.size(2);
    const std::string index = std::to_string(block);
    ctx.show("attn/" + index + "/bias", log_phi_p);
    ctx.show("phi_p/" + index, ops::exp(ops::expand(log_phi_p.detach(), {heads_, N, N})));
  }

  std::int64_t heads_;
  bool content_;
  std::optional<PositionAttention> position_;
  Linear in_, proj_;
};

}  // namespace fovea
