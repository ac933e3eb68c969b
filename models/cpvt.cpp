// CPVT: from images to logits.
#include "models/cpvt.h"

#include "engine/autograd.h"
#include "formats/weights_file.h"
#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

std::vector<Peg> make_pegs(const Scope& s, const CPVTConfig& c) {
  std::vector<Peg> pegs;
  const std::int64_t count = std::ssize(c.peg_positions) * c.peg_stack;
  for (std::int64_t j = 0; j < count; ++j) pegs.emplace_back(s / j, c.peg, c.encoder.embed_dim);
  return pegs;
}

}  // namespace

CPVT::CPVT(ModelInfo info, const CPVTConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      cls_token_(c.class_token ? Scope(store())
                                     .as(Role::token)
                                     .param("cls_token", {1, 1, c.encoder.embed_dim},
                                            trunc_normal(0.02), Decay::no)
                               : Tensor()),
      pos_embed_(make_pos_embed(Scope(store()), c.pos_embed, c.token_grid(), c.encoder.embed_dim)),
      patch_embed_(Scope(store()).as(Role::patches) / "patch_embed", c.image, c.encoder.embed_dim),
      pegs_(make_pegs(Scope(store()).as(Role::position_encoding) / "pos_block", c)),
      blocks_(make_blocks(Scope(store()) / "blocks", c.encoder)),
      norm_(Scope(store()).as(Role::norm) / "norm", c.encoder.embed_dim, c.encoder.norm_eps) {
  if (c.num_classes > 0)
    head_.emplace(Scope(store()).as(Role::head) / "head", c.encoder.embed_dim, c.num_classes);
}

/// images [B, C, H, W] -> class logits [B, K].
ModelOutput CPVT::forward(const Tensor& images, Context& ctx) {
  TokenGrid grid{config_.image.grid_of(images), config_.token_grid().prefix};
  const PositionTable table{pos_embed_, config_.pos_embed, config_.token_grid()};
  Tensor added = table.at(grid, ctx), to_first;  // [1, L, D]
  if (config_.pos_embed_qk_first) std::swap(added, to_first);
  Tensor x = embed(images, added, ctx);    // [B, L, D]
  x = encode_positions(-1, x, grid, ctx);  // [B, L, D]
  ctx.show("feat/embed", x);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Positions where{grid, i == 0 ? to_first : Tensor()};
    x = run_block(x, ctx, [&block, where](const Tensor& in, Context& c) {
      return block(in, c, where);
    });                                                                // [B, L, D]
    x = encode_positions(static_cast<std::int64_t>(i), x, grid, ctx);  // [B, L', D]
  }
  const bool token = config_.global_pool == Pooling::token;
  const Tensor pooled = token ? norm_(ops::select(x, 1, 0))  // [B, D]
                              : ops::mean(norm_(ops::slice(x, 1, grid.prefix, x.size(1))), {1});
  return {head_ ? (*head_)(pooled) : pooled, {}};  // [B, K]
}

/// images [B, C, H, W] -> [B, L, D]: patches, the class token before them, pos_embed added where
/// there is one.
Tensor CPVT::embed(const Tensor& images, const Tensor& pos_embed, const Context& ctx) const {
  Tensor x = patch_embed_.any_size(images, ctx);  // [B, N, D]
  if (cls_token_.defined()) {
    const Tensor cls = ops::expand(cls_token_.to(x.dtype()), {x.size(0), 1, x.size(2)});
    x = ops::cat({cls, x}, 1);  // [B, 1 + N, D]
  }
  return pos_embed.defined() ? x + pos_embed.to(x.dtype()) : x;  // [B, L, D]
}

/// The PEGs that stand after block `after`: [B, L, D] -> [B, L', D]; `grid` becomes theirs.
Tensor CPVT::encode_positions(std::int64_t after, Tensor x, TokenGrid& grid,
                              const Context& ctx) const {
  for (std::size_t j = 0; j < pegs_.size(); ++j) {
    if (config_.peg_positions[j / static_cast<std::size_t>(config_.peg_stack)] != after) continue;
    x = pegs_[j](x, grid);
    grid = config_.peg.output(grid);
    if (ctx.tap) ctx.show("peg/" + std::to_string(j), x);
  }
  return x;
}

TokenInfo CPVT::tokens() const {
  return {config_.token_grid(), config_.image.patch_size, config_.encoder.depth,
          config_.encoder.num_heads};
}

Tensor peg_weight(const Model& model, std::int64_t peg) {
  return model.store().find("pos_block." + std::to_string(peg) + ".proj.0.weight");
}

void load_pegs(Model& model, const std::filesystem::path& path) {
  const WeightsFile file = read_weights(path);
  const std::string where = path.string() + ": ";
  std::int64_t copied = 0;
  const NoGrad no_grad;
  for (const Parameter& p : model.store().parameters()) {
    if (!p.name.starts_with("pos_block.")) continue;
    const auto found = file.tensors.find(p.name);
    check(found != file.tensors.end(), where, p.name, " is missing");
    check(found->second.shape() == p.tensor.shape(), where, p.name, " is ", found->second.shape(),
          " and should be ", p.tensor.shape());
    p.tensor.copy_(found->second);
    ++copied;
  }
  check(copied > 0, where, "nothing to load, ", model.info().name, " has no PEG");
}

}  // namespace fovea
