// The layers of the library's models, to compose others from.
#include <nanobind/stl/optional.h>

#include <new>

#include "models/layers/attention.h"
#include "models/layers/block.h"
#include "models/layers/linear.h"
#include "models/layers/mlp.h"
#include "models/layers/norm.h"
#include "python/bindings/ops.h"
#include "python/bindings/parameters.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

/// f(ctx) with the given context, or with that of an evaluation.
template <class F>
Tensor in_context(Context* given, const F& f) {
  Context evaluation;
  return f(given == nullptr ? evaluation : *given);
}

using At = const ParameterPlace&;

void bind_linear_and_norm(nb::module_& m) {
  nb::class_<Linear>(m, "Linear", "x weight^T + bias: [..., in] -> [..., out].")
      .def(
          "__init__",
          [](Linear* self, At at, std::int64_t in, std::int64_t out, bool bias) {
            new (self) Linear(at.scope, in, out, bias);
          },
          "at"_a, "in_features"_a, "out_features"_a, "bias"_a = true)
      .def("__call__", &Linear::operator(), "x"_a, in_op)
      .def_prop_ro("weight", &Linear::weight, "[out, in]");
  nb::class_<Norm>(m, "LayerNorm", "Layer normalisation over the last axis.")
      .def(
          "__init__",
          [](Norm* self, At at, std::int64_t dim, double eps) {
            new (self) Norm(at.scope, dim, eps);
          },
          "at"_a, "dim"_a, "eps"_a = 1e-6)
      .def(
          "__call__", [](const Norm& norm, const Tensor& x) { return norm(x); }, "x"_a, in_op);
}

void bind_branches(nb::module_& m) {
  const auto ctx = nb::arg("ctx").none() = nb::none();
  nb::class_<Attention>(m, "Attention", "Multi-head self-attention: [B, N, C] -> [B, N, C].")
      .def(
          "__init__",
          [](Attention* self, At at, std::int64_t dim, std::int64_t heads, bool bias) {
            new (self) Attention(
                at.scope, {.heads = {.dim = dim, .heads = heads},
                           .qkv = {.dim = dim, .heads = heads, .kv_heads = heads, .bias = bias}});
          },
          "at"_a, "dim"_a, "num_heads"_a, "qkv_bias"_a = true)
      .def(
          "__call__",
          [](const Attention& attention, const Tensor& x, Context* given) {
            return in_context(given, [&](Context& c) { return Tensor(attention(x, c)); });
          },
          "x"_a, ctx, between_ops);
  nb::class_<Mlp>(m, "Mlp", "Two linear layers with a GELU in between: [B, N, C] -> [B, N, C].")
      .def(
          "__init__",
          [](Mlp* self, At at, std::int64_t dim, std::int64_t hidden) {
            new (self) Mlp(at.scope, {.in = dim, .hidden = hidden, .out = dim});
          },
          "at"_a, "dim"_a, "hidden"_a)
      .def(
          "__call__",
          [](const Mlp& mlp, const Tensor& x, Context* given) {
            return in_context(given, [&](Context& c) { return Tensor(mlp(x, c)); });
          },
          "x"_a, ctx, between_ops);
}

void bind_block(nb::module_& m) {
  nb::class_<Block>(m, "Block", "A transformer block, pre-norm: [B, N, C] -> [B, N, C].")
      .def(
          "__init__",
          [](Block* self, At at, std::int64_t dim, std::int64_t heads, double ratio) {
            new (self)
                Block(at.scope,
                      {.embed_dim = dim, .depth = 1, .num_heads = heads, .mlp_ratio = ratio}, 0);
          },
          "at"_a, "dim"_a, "num_heads"_a, "mlp_ratio"_a = 4.0)
      .def(
          "__call__",
          [](const Block& block, const Tensor& x, Context* given) {
            return in_context(given, [&](Context& c) { return block(x, c); });
          },
          "x"_a, "ctx"_a.none() = nb::none(), between_ops);
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_linear_and_norm(m);
  bind_branches(m);
  bind_block(m);
}

}  // namespace fovea::python
