// Softmax and differential attention of all heads.
#include "models/layers/attention_heads.h"

#include <cmath>
#include <optional>

#include "models/layers/attend.h"
#include "models/layers/dropout.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Normalises the queries and the keys over each head's channels.
class QkNorm {
 public:
  QkNorm(const Scope& s, std::int64_t head_dim, const HeadsConfig& c)
      : kind_(c.qk_norm),
        head_dim_(head_dim),
        q_(s.as(Role::norm) / "q_norm", head_dim, {c.norm_eps, c.qk_norm}),
        k_(s.as(Role::norm) / "k_norm", head_dim, {c.norm_eps, c.qk_norm}) {}

  /// [B, N, 3 C] -> [B, N, 3 C].
  [[nodiscard]] Tensor operator()(const Tensor& qkv) const {
    if (kind_ == NormKind::none) return qkv;
    const std::int64_t C = qkv.size(2) / 3;
    return ops::cat({queries(ops::slice(qkv, 2, 0, C)), keys(ops::slice(qkv, 2, C, 2 * C)),
                     ops::slice(qkv, 2, 2 * C, 3 * C)},
                    2);
  }
  /// [B, N, C] -> [B, N, C].
  [[nodiscard]] Tensor queries(const Tensor& q) const { return per_head(q_, q); }
  [[nodiscard]] Tensor keys(const Tensor& k) const { return per_head(k_, k); }

 private:
  [[nodiscard]] Tensor per_head(const Norm& norm, const Tensor& x) const {
    if (kind_ == NormKind::none) return x;
    const Tensor heads = ops::reshape(x, {x.size(0), x.size(1), -1, head_dim_});  // [B, N, H, D]
    return ops::reshape(norm(heads), x.shape());
  }

  NormKind kind_;
  std::int64_t head_dim_;
  Norm q_, k_;
};

/// Taps attn/<block>/qkv, rotated, and attn/<block>/bias if a bias is added to the logits. Analyses
/// compute from them the attention weights, which are never stored.
class SoftmaxHeads : public AttentionHeads {
 public:
  SoftmaxHeads(const Scope& s, const HeadsConfig& c)
      : config_(c), norm_(s, c.dim / c.heads, c), drop_(c.drop_rate) {
    if (c.relative != RelativePosition::none)
      relative_.emplace(s.as(Role::position_encoding), c.relative, c.dim / c.heads);
  }

  [[nodiscard]] Tensor operator()(const Tensor& projected, Context& ctx,
                                  const Positions& where) const override {
    const Tensor qkv = norm_(projected);
    const std::int64_t H = config_.heads;
    const ops::Rotation& rotation = where.rotation;
    if (ctx.tap) ctx.show(tap_name("qkv"), rotated_qkv(qkv, H, rotation));
    const Tensor bias =
        relative_ ? relative_->logits(heads_of(qkv, H, 0), where.grid) : Tensor();  // [B, H, N, N]
    if (ctx.tap && bias.defined()) ctx.show(tap_name("bias"), bias);
    if (drop_.drops(ctx)) {
      return join_heads(attend(rotated(heads_of(qkv, H, 0), rotation),
                               rotated(heads_of(qkv, H, 1), rotation), heads_of(qkv, H, 2), bias,
                               drop_, ctx));
    }
    return relative_ ? relative_->attend(qkv, H, bias, where.grid)
                     : ops::self_attention(qkv, H, {}, {.rotation = rotation});
  }

  [[nodiscard]] bool takes_few_queries(const Context& ctx) const override {
    return !relative_ && !drop_.drops(ctx);
  }

  [[nodiscard]] Tensor few_queries(const Tensor& q, const Tensor& kv,
                                   const Positions& where) const override {
    const std::int64_t C = q.size(2), H = config_.heads;
    const Tensor k = norm_.keys(ops::slice(kv, 2, 0, C)), v = ops::slice(kv, 2, C, 2 * C);
    return join_heads(ops::attention(split_heads(norm_.queries(q), H), split_heads(k, H),
                                     split_heads(v, H), {}, {.rotation = where.rotation}));
  }

 private:
  [[nodiscard]] std::string tap_name(const char* what) const {
    return "attn/" + std::to_string(config_.block) + "/" + what;
  }

  HeadsConfig config_;
  QkNorm norm_;
  Dropout drop_;
  std::optional<RelativeTables> relative_;
};

/// Each head has two pairs of queries and keys of half its width:
/// (1 - l) rms_norm((softmax(q1 k1^T / sqrt(d)) - lambda softmax(q2 k2^T / sqrt(d))) v), with
/// lambda = exp(lq1 lk1) - exp(lq2 lk2) + l and l = 0.8 - 0.6 exp(-0.3 block).
class DifferentialHeads : public AttentionHeads {
 public:
  DifferentialHeads(const Scope& s, const HeadsConfig& c)
      : heads_(c.heads),
        half_(c.dim / c.heads / 2),
        start_(0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(c.block))),
        norm_(s, half_, c),
        drop_(c.drop_rate),
        sub_norm_(s.as(Role::norm) / "sub_norm", 2 * half_, {1e-5, NormKind::rmsnorm}) {
    for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) {
      lambdas_.push_back(s.as(Role::other).param(name, {half_}, normal(0.1)));
    }
  }

  [[nodiscard]] Tensor operator()(const Tensor& projected, Context& ctx,
                                  const Positions& /*where*/) const override {
    const Tensor qkv = norm_(projected);
    const Tensor v = heads_of(qkv, heads_, 2);  // [B, H, N, 2 d]
    const Tensor x = attend(qkv, 0, v, ctx) - attend(qkv, 1, v, ctx) * lambda(qkv.dtype());
    return join_heads(sub_norm_(x) * (1 - start_));
  }

 private:
  /// Attention by the first or second pair, [B, H, N, 2 d].
  [[nodiscard]] Tensor attend(const Tensor& qkv, std::int64_t pair, const Tensor& v,
                              Context& ctx) const {
    const Tensor q = of_pair(qkv, 0, pair), k = of_pair(qkv, 1, pair);
    return fovea::attend(q, k, v, {}, drop_, ctx);
  }
  /// Queries (part 0) or keys (part 1) of a pair, [B, H, N, d].
  [[nodiscard]] Tensor of_pair(const Tensor& qkv, std::int64_t part, std::int64_t pair) const {
    const Tensor both = heads_of(qkv, heads_, part);  // [B, H, N, 2 d]
    return ops::slice(both, 3, pair * half_, (pair + 1) * half_);
  }
  [[nodiscard]] Tensor lambda(DType dtype) const {
    const Tensor first = ops::exp(ops::sum(lambdas_[0] * lambdas_[1]));
    const Tensor second = ops::exp(ops::sum(lambdas_[2] * lambdas_[3]));
    return (first - second + start_).to(dtype);
  }

  std::int64_t heads_, half_;
  double start_;
  QkNorm norm_;
  Dropout drop_;
  Norm sub_norm_;
  std::vector<Tensor> lambdas_;  ///< q1, k1, q2, k2
};

}  // namespace

Tensor AttentionHeads::few_queries(const Tensor& /*q*/, const Tensor& /*kv*/,
                                   const Positions& /*where*/) const {
  fail("attention: these heads need the queries of all tokens");
}

std::unique_ptr<AttentionHeads> make_heads(const Scope& s, const HeadsConfig& c) {
  if (c.kind == AttentionKind::diff) return std::make_unique<DifferentialHeads>(s, c);
  return std::make_unique<SoftmaxHeads>(s, c);
}

}  // namespace fovea
