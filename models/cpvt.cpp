// Forward pass of CPVT, from images to logits.
#include "models/cpvt.h"

#include "engine/autograd.h"
#include "models/checkpoints/checkpoint.h"

namespace fovea {

CPVT::CPVT(ModelInfo info, const CPVTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      embed_(top(), c.tokens, c.image.grid(), c.encoder.embed_dim),
      rope_(at("rope"), c.encoder.rotary()),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim),
      pegs_(at("pos_block", Role::position_encoding), c.pegs, c.encoder.embed_dim),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim, c.encoder.norm_eps),
      // Every pooling but `token` is the mean here.
      pool_(top(), c.encoder,
            {.kind = c.global_pool == Pooling::token ? Pooling::token : Pooling::avg,
             .prefix = c.tokens.prefix()}),
      head_(at("head", Role::head), c.encoder.embed_dim, {c.num_classes}) {}

/// images [B, C, H, W] -> class logits [B, K].
ClassifierOutput CPVT::forward(const Tensor& images, Context& ctx) {
  const Tensor x = encode(images, pool_.needs(), ctx).x;  // [B, L or 1, D]
  const Tensor y = pool_(norm_(pool_.choose(x)), ctx);    // [B, D]
  return {head_(y, ctx), {}};                             // [B, K]
}

/// At least the first `count` tokens after the last block and its PEGs, with their grid.
EmbeddedTokens CPVT::encode(const Tensor& images, std::int64_t count, Context& ctx) const {
  const Tensor patches = patch_embed_.any_size(images, ctx);              // [B, N, D]
  auto [x, where] = embed_(patches, config_.image.grid_of(images), ctx);  // [B, L, D]
  where = rope_(where, ctx);
  x = pegs_(-1, x, where.grid, ctx);  // [B, L, D]
  ctx.show("feat/embed", x);
  for (std::int64_t i = 0; i < std::ssize(blocks_); ++i) {
    const Block& block = blocks_[static_cast<std::size_t>(i)];
    const bool is_end = i + 1 == std::ssize(blocks_) && !pegs_.follow(i);
    x = is_end ? block.first(x, count, ctx, where) : block(x, ctx, where);  // [B, L or count, D]
    x = pegs_(i, x, where.grid, ctx);                                       // [B, L', D]
  }
  return {x, where};
}

PatchTokens CPVT::patch_tokens(const Tensor& images, Context& ctx) {
  const auto [x, where] = encode(images, kAllTokens, ctx);
  return {norm_(without_prefix(x, where.grid.prefix)), where.grid.size};
}

TokenInfo CPVT::tokens() const {
  return {{config_.image.grid(), config_.tokens.prefix()},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads};
}

Tensor peg_weight(const Model& model, std::int64_t peg) {
  return model.store().find("pos_block." + std::to_string(peg) + ".proj.0.weight");
}

void load_pegs(Model& model, const std::filesystem::path& path) {
  const Checkpoint file = read_checkpoint(path);
  const std::string where = path.string() + ": ";
  std::int64_t copied = 0;
  const NoGrad no_grad;
  for (const Parameter& p : model.store().parameters()) {
    if (!p.name.starts_with("pos_block.")) continue;
    const auto found = file.tensors.find(p.name);
    check(found != file.tensors.end(), where, p.name, " is missing");
    check(found->second.shape() == p.tensor.shape(), where, p.name, " is ", found->second.shape(),
          ", expected ", p.tensor.shape());
    p.tensor.copy_(found->second);
    ++copied;
  }
  check(copied > 0, where, "nothing to load, ", model.info().name, " has no PEG");
}

}  // namespace fovea
