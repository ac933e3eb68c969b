// Scaled dot-product attention: shapes, strides, and the tensors saved for the derivative. The
// kernels are in cpu_*.cpp and *.cu.
#include "ops/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/late_sums.h"
#include "ops/attention/rotation.h"
#include "ops/common/checks.h"
#include "ops/kernels.h"

namespace fovea::ops {
namespace {

/// q, k or v, and their gradients, as [B, H, rows, columns].
struct Heads {
  Tensor q, k, v;
};

/// Part `index` (0 q, 1 k, 2 v) of x [B, N, parts H D] as [B, H, N, D]. Shares the storage.
Tensor part_of(const Tensor& x, std::int64_t heads, int parts, int index) {
  const std::int64_t width = x.size(2) / (parts * heads), column = x.strides()[2];
  return x.alias({x.size(0), heads, x.size(1), width},
                 {x.strides()[0], width * column, x.strides()[1], column},
                 index * heads * width * column);
}

Heads split_heads(const Tensor& qkv, std::int64_t heads) {
  return {part_of(qkv, heads, 3, 0), part_of(qkv, heads, 3, 1), part_of(qkv, heads, 3, 2)};
}

/// The bias as the kernels read it: in the accumulation type, broadcast by strides of 0.
Tensor expand_bias(const Tensor& bias, const Heads& in) {
  if (!bias.defined()) return {};
  const Shape scores{in.q.size(0), in.q.size(1), in.q.size(2), in.k.size(2)};
  const Tensor b = bias.detach().to(acc_dtype(in.q.dtype()));
  return b.alias(scores, broadcast_strides(b.shape(), b.strides(), scores));
}

/// What the scores are made of besides q and k.
struct ScoreTerms {
  Tensor bias;        ///< as the kernels read it
  Rotation rotation;  ///< checked
  double scale = 1;

  /// The same with the tensors that the tape keeps; a derivative holds none itself.
  [[nodiscard]] ScoreTerms with(const Tensor& b, const Tensor& table, const Tensor& places) const {
    return {b, {table, rotation.prefix, places, rotation.halves}, scale};
  }
};

AttentionCall make_call(const Heads& in, const ScoreTerms& terms, const Tensor& out) {
  return {.dtype = in.q.dtype(),
          .batch = in.q.size(0),
          .heads = in.q.size(1),
          .queries = in.q.size(2),
          .keys = in.k.size(2),
          .width = in.q.size(3),
          .value_width = in.v.size(3),
          .scale = terms.scale,
          .q = view_of(in.q),
          .k = view_of(in.k),
          .v = view_of(in.v),
          .bias = view_of(terms.bias),
          .out = view_of(out),
          .rotation = view_of(terms.rotation)};
}

/// Accumulators for the bias gradient: [B', H', groups, N', M'], where a primed size is 1 if the
/// bias is repeated along that axis.
Tensor make_bias_sums(const Tensor& bias, AttentionGradCall& call) {
  const AttentionCall& c = call.forward;
  Shape own{1, 1, 1, 1};
  for (int axis = 1; axis <= bias.rank(); ++axis) own[4 - axis] = bias.size(-axis);
  call.share_batch = c.batch / own[0];
  call.share_heads = c.heads / own[1];
  // An N x M buffer is large: use just enough to occupy the threads. Smaller buffers: one per
  // head.
  constexpr std::int64_t kTasks = 16;
  const std::int64_t shared = call.share_batch * call.share_heads, slices = own[0] * own[1];
  const bool large = own[2] > 1 && own[3] > 1;
  call.groups = large ? std::min(shared, (kTasks + slices - 1) / slices) : shared;
  call.dbias_size = own[2] * own[3];

  const Tensor sums =
      zeros({own[0], own[1], call.groups, own[2], own[3]}, {acc_dtype(c.dtype), bias.device()});
  call.dbias = {.data = sums.raw(), .row = own[2] > 1 ? own[3] : 0, .column = own[3] > 1 ? 1 : 0};
  return sums;
}

Tensor finish_bias_gradient(const Tensor& sums, const Tensor& bias) {
  Shape one_group = sums.shape();
  one_group[2] = 1;
  const Tensor total = sum_to(sums, one_group);
  return total.alias(bias.shape(), contiguous_strides(bias.shape())).to(bias.dtype());
}

/// The tensors that the derivative reads, as the tape keeps them.
struct Saved {
  Heads in;
  Tensor bias, out, statistics;
  ScoreTerms terms;
};

/// What a derivative computes: undefined tensors are not wanted.
struct Wanted {
  Heads grads{};
  Heads sums{};  ///< of their rows, [B, H, runs, D]
  bool bias = false;
};

AttentionGradCall make_grad_call(const Saved& saved, const Tensor& dy, const Wanted& wanted) {
  AttentionGradCall call;
  call.forward = make_call(saved.in, saved.terms, saved.out);
  call.forward.statistics = saved.statistics.raw();
  call.dy = view_of(dy);
  call.dq = view_of(wanted.grads.q);
  call.dk = view_of(wanted.grads.k);
  call.dv = view_of(wanted.grads.v);
  call.dq_sums = view_of(wanted.sums.q);
  call.dk_sums = view_of(wanted.sums.k);
  call.dv_sums = view_of(wanted.sums.v);
  return call;
}

/// Fills the wanted tensors; returns the bias gradient if it is wanted.
Tensor differentiate(const Saved& saved, const Tensor& dy, const Wanted& wanted) {
  AttentionGradCall call = make_grad_call(saved, dy, wanted);
  if (wanted.bias && saved.terms.bias.numel() > 0) {
    const Tensor sums = make_bias_sums(saved.bias, call);
    kernels(dy.device()).attention.backward(call);
    return finish_bias_gradient(sums, saved.bias);
  }
  kernels(dy.device()).attention.backward(call);
  return wanted.bias ? zeros(saved.bias.shape(), saved.bias.options()) : Tensor();
}

/// For the sums of the rows of dx [B, N, columns] that a derivative writes with them, [B, runs,
/// columns]. Undefined where it does not.
Tensor make_row_sums(const Saved& saved, const Tensor& dx) {
  const AttentionCall call = make_call(saved.in, saved.terms, saved.out);
  const auto sums_rows = kernels(dx.device()).attention.sums_rows;
  if (!sums_late(dx.device()) || sums_rows == nullptr || dx.numel() == 0 || !sums_rows(call)) {
    return {};
  }
  return empty({dx.size(0), sums_of_rows(dx.size(1)), dx.size(2)},
               {acc_dtype(dx.dtype()), dx.device()});
}

/// The same sums as the rows of a matrix.
Tensor as_parts(const Tensor& sums) {
  const std::int64_t columns = sums.size(2);
  return sums.alias({sums.size(0) * sums.size(1), columns}, {columns, 1});
}

/// The gradient of the rotation's table from those of q and k.
Tensor differentiate_table(const Saved& saved, const Heads& grads, DType dtype) {
  return table_gradient(saved.terms.rotation, {{saved.in.q, grads.q}, {saved.in.k, grads.k}})
      .to(dtype);
}

/// Writes the output to `out`; returns the row statistics, undefined when no tape needs them.
Tensor compute(const Heads& in, const ScoreTerms& terms, const Tensor& out, bool keep) {
  AttentionCall call = make_call(in, terms, out);
  Tensor statistics;
  if (keep) {
    statistics =
        empty({2, call.batch, call.heads, call.queries}, {acc_dtype(call.dtype), out.device()});
    call.statistics = statistics.raw();
  }
  kernels(out.device()).attention.forward(call);
  return statistics;
}

double scale_of(std::string_view op, const AttentionOptions& options, std::int64_t width) {
  check(std::isfinite(options.scale), op, ": scale is ", options.scale,
        ", expected a finite number");
  if (options.scale != 0 || width == 0) return options.scale;
  return 1 / std::sqrt(static_cast<double>(width));
}

/// Checks the options and labels the op with them. `sequence` is the shape of the keys.
ScoreTerms make_terms(OpLabel& op, const Heads& in, const Tensor& bias,
                      const AttentionOptions& options) {
  const Rotation& rotation = options.rotation;
  ScoreTerms terms{expand_bias(bias, in),
                   checked_rotation(op.name(), rotation, in.k.shape(), in.k.dtype()),
                   scale_of(op, options, in.q.size(3))};
  op.set({"scale", terms.scale});
  if (!rotation.defined()) return terms;
  check(in.q.size(2) <= in.k.size(2), op, ": got ", in.q.size(2), " queries and ", in.k.size(2),
        " keys, expected at most as many queries with a rotation");
  op.set({{"prefix", rotation.prefix}, {"halves", rotation.halves}});
  return terms;
}

DType dtype_of(const Tensor& t) { return t.defined() ? t.dtype() : DType::f32; }

void check_bias(std::string_view op, const Tensor& bias, const Shape& scores) {
  if (!bias.defined()) return;
  detail::require_float(op, bias);
  bool fits = bias.rank() <= 4;
  for (int axis = 1; fits && axis <= bias.rank(); ++axis)
    fits = bias.size(-axis) == 1 || bias.size(-axis) == scores[4 - axis];
  check(fits, op, ": bias ", bias.shape(), " does not broadcast to the scores ", scores);
}

void check_inputs(std::string_view op, const Tensor& q, const Tensor& k, const Tensor& v) {
  for (const Tensor& t : {q, k, v}) check(t.defined(), op, ": q, k or v is undefined");
  detail::require_float(op, q);
  check(k.dtype() == q.dtype() && v.dtype() == q.dtype(), op, ": q, k, v are ",
        to_string(q.dtype()), ", ", to_string(k.dtype()), ", ", to_string(v.dtype()),
        ", expected one dtype");
  const bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  check(ranks && q.size(0) == k.size(0) && q.size(0) == v.size(0) && q.size(1) == k.size(1) &&
            q.size(1) == v.size(1) && k.size(2) == v.size(2) && q.size(3) == k.size(3),
        op, ": got q ", q.shape(), ", k ", k.shape(), ", v ", v.shape(),
        ", expected [B, H, N, D], [B, H, M, D], [B, H, M, E]");
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                 const AttentionOptions& options) {
  OpLabel op("attention");
  const Rotation& r = options.rotation;
  check_inputs(op, q, k, v);
  detail::require_one_device(op, {q, k, v, bias, r.table, r.places});
  check_bias(op, bias, {q.size(0), q.size(1), q.size(2), k.size(2)});
  const Heads in{q.detach(), k.detach(), v.detach()};
  const ScoreTerms terms = make_terms(op, in, bias, options);
  const Tensor out = empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
  const Tensor statistics = compute(in, terms, out, needs_tape({q, k, v, bias, r.table}));

  op.multiply_adds = 2 * out.numel() * k.size(2);
  return record(
      op, out, {q, k, v, bias, r.table, r.places},
      {q, k, v, bias, terms.bias, out, statistics, terms.rotation.table, terms.rotation.places},
      [plain = terms.with({}, {}, {}),
       table_dtype = dtype_of(r.table)](const GradArgs& g) -> Grads {
        const auto s = g.saved;
        const Saved saved{{s[0], s[1], s[2]}, s[3], s[5], s[6], plain.with(s[4], s[7], s[8])};
        const bool turns = g.needs(4);
        Heads grads;
        if (g.needs(0) || turns) grads.q = empty(s[0].shape(), s[0].options());
        if (g.needs(1) || turns) grads.k = empty(s[1].shape(), s[1].options());
        if (g.needs(2)) grads.v = empty(s[2].shape(), s[2].options());
        const Tensor dbias = differentiate(saved, g.dy, {grads, {}, g.needs(3)});
        const Tensor dtable = turns ? differentiate_table(saved, grads, table_dtype) : Tensor();
        return {grads.q, grads.k, grads.v, dbias, dtable, {}};
      });
}

Tensor self_attention(const Tensor& qkv, std::int64_t heads, const Tensor& bias,
                      const AttentionOptions& options) {
  OpLabel op("self_attention", {{"heads", heads}});
  const Rotation& r = options.rotation;
  detail::require_float(op, qkv);
  detail::require_one_device(op, {qkv, bias, r.table, r.places});
  check(qkv.rank() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0, op, ": got qkv ",
        qkv.shape(), " and ", heads, " heads, expected [B, N, 3 H D]");
  const std::int64_t batch = qkv.size(0), tokens = qkv.size(1);
  check_bias(op, bias, {batch, heads, tokens, tokens});
  const Heads in = split_heads(qkv.detach(), heads);
  const ScoreTerms terms = make_terms(op, in, bias, options);
  const Tensor out = empty({batch, tokens, qkv.size(2) / 3}, qkv.options());
  const bool keep = needs_tape({qkv, bias, r.table});
  const Tensor statistics = compute(in, terms, part_of(out, heads, 1, 0), keep);

  op.multiply_adds = 2 * out.numel() * tokens;
  return record(
      op, out, {qkv, bias, r.table, r.places},
      {qkv, bias, terms.bias, out, statistics, terms.rotation.table, terms.rotation.places},
      [heads, plain = terms.with({}, {}, {}),
       table_dtype = dtype_of(r.table)](const GradArgs& g) -> Grads {
        const auto s = g.saved;
        const Saved saved{split_heads(s[0], heads), s[1], part_of(s[3], heads, 1, 0), s[4],
                          plain.with(s[2], s[5], s[6])};
        const bool turns = g.needs(2);
        Wanted wanted{.bias = g.needs(1)};
        Tensor dqkv, sums;
        if (g.needs(0) || turns) {
          dqkv = empty(s[0].shape(), s[0].options());
          wanted.grads = split_heads(dqkv, heads);
          sums = make_row_sums(saved, dqkv);
          if (sums.defined()) wanted.sums = split_heads(sums, heads);
        }
        const Tensor dbias = differentiate(saved, part_of(g.dy, heads, 1, 0), wanted);
        if (sums.defined()) keep_parts(dqkv, as_parts(sums));
        const Tensor dtable =
            turns ? differentiate_table(saved, wanted.grads, table_dtype) : Tensor();
        return {dqkv, dbias, dtable, {}};
      });
}

}  // namespace fovea::ops
