// JAX's names of the ViT, in the .npz files of Google's vision_transformer and big_vision (SigLIP).
// Kernels there are [in, out] and keep the attention heads as an axis; ours are [out, in].
#include <array>

#include "engine/autograd.h"
#include "models/checkpoints/translations/translation.h"
#include "ops/view.h"

namespace fovea {
namespace {

// Vision_transformer counts the parts of a block as 0, 1, 2, 3; big_vision counts each kind.
constexpr auto kJaxNames = std::to_array<Rename>({
    {"cls", "cls_token"},
    {"embedding/kernel", "patch_embed.proj.weight"},
    {"embedding/bias", "patch_embed.proj.bias"},
    {"Transformer/posembed_input/pos_embedding", "pos_embed"},
    {"pos_embedding", "pos_embed"},
    {"Transformer/encoder_norm/scale", "norm.weight"},
    {"Transformer/encoder_norm/bias", "norm.bias"},
    {"pre_logits/kernel", "pre_logits.fc.weight"},
    {"pre_logits/bias", "pre_logits.fc.bias"},
    {"head/kernel", "head.weight"},
    {"head/bias", "head.bias"},
    {"MAPHead_0/probe", "attn_pool.latent"},
    {"MAPHead_0/LayerNorm_0/scale", "attn_pool.norm.weight"},
    {"MAPHead_0/LayerNorm_0/bias", "attn_pool.norm.bias"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/query/kernel", "attn_pool.q.weight"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/query/bias", "attn_pool.q.bias"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/key/kernel", "attn_pool.kv[0].weight"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/key/bias", "attn_pool.kv[0].bias"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/value/kernel", "attn_pool.kv[1].weight"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/value/bias", "attn_pool.kv[1].bias"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/out/kernel", "attn_pool.proj.weight"},
    {"MAPHead_0/MultiHeadDotProductAttention_0/out/bias", "attn_pool.proj.bias"},
    {"MAPHead_0/MlpBlock_0/Dense_0/kernel", "attn_pool.mlp.fc1.weight"},
    {"MAPHead_0/MlpBlock_0/Dense_0/bias", "attn_pool.mlp.fc1.bias"},
    {"MAPHead_0/MlpBlock_0/Dense_1/kernel", "attn_pool.mlp.fc2.weight"},
    {"MAPHead_0/MlpBlock_0/Dense_1/bias", "attn_pool.mlp.fc2.bias"},
    {"Transformer/encoderblock_#/LayerNorm_0/scale", "blocks.#.norm1.weight"},
    {"Transformer/encoderblock_#/LayerNorm_0/bias", "blocks.#.norm1.bias"},
    {"Transformer/encoderblock_#/LayerNorm_*/scale", "blocks.#.norm2.weight"},
    {"Transformer/encoderblock_#/LayerNorm_*/bias", "blocks.#.norm2.bias"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/query/kernel",
     "blocks.#.attn.qkv[0].weight"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/query/bias",
     "blocks.#.attn.qkv[0].bias"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/key/kernel",
     "blocks.#.attn.qkv[1].weight"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/key/bias",
     "blocks.#.attn.qkv[1].bias"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/value/kernel",
     "blocks.#.attn.qkv[2].weight"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/value/bias",
     "blocks.#.attn.qkv[2].bias"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/out/kernel",
     "blocks.#.attn.proj.weight"},
    {"Transformer/encoderblock_#/MultiHeadDotProductAttention_*/out/bias",
     "blocks.#.attn.proj.bias"},
    {"Transformer/encoderblock_#/MlpBlock_*/Dense_0/kernel", "blocks.#.mlp.fc1.weight"},
    {"Transformer/encoderblock_#/MlpBlock_*/Dense_0/bias", "blocks.#.mlp.fc1.bias"},
    {"Transformer/encoderblock_#/MlpBlock_*/Dense_1/kernel", "blocks.#.mlp.fc2.weight"},
    {"Transformer/encoderblock_#/MlpBlock_*/Dense_1/bias", "blocks.#.mlp.fc2.bias"},
});

/// [in, out] to [out, in]; heads are axes of their own: [in, heads, size] to query, key and value,
/// [heads, size, out] after them.
Tensor weight_of_kernel(std::string_view name, const Tensor& kernel) {
  if (kernel.rank() == 4) return ops::permute(kernel, {3, 2, 0, 1});  // [height, width, in, out]
  if (kernel.rank() == 3) {
    const bool merges = name.ends_with(".proj.weight");
    const std::int64_t in = merges ? kernel.size(0) * kernel.size(1) : kernel.size(0);
    const std::int64_t out = merges ? kernel.size(2) : kernel.size(1) * kernel.size(2);
    return ops::transpose(ops::reshape(kernel, {in, out}), 0, 1);
  }
  return kernel.rank() == 2 ? ops::transpose(kernel, 0, 1) : kernel;
}

void complete_jax(TensorMap& tensors) {
  const NoGrad no_grad;
  for (auto& [name, tensor] : tensors) {
    if (name.find('/') != std::string::npos) continue;  // of no row in the table
    if (name.ends_with(".weight")) tensor = weight_of_kernel(name, tensor).contiguous();
    if (name.ends_with(".bias")) tensor = ops::reshape(tensor, {tensor.numel()});
  }
  join_parts(tensors);
}

}  // namespace

const Translation kJax{.whose = "JAX",
                       .anchor = "embedding/kernel",
                       .companion = "embedding/bias",
                       .names = kJaxNames,
                       .settings = R"({"norm_eps": 1e-6})",
                       .complete = complete_jax};

}  // namespace fovea
