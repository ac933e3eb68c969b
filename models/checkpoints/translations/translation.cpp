// The list of translations, and the changes of shape that several of them share.
#include "models/checkpoints/translations/translation.h"

#include <array>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

std::span<const Translation* const> translations() {
  static constexpr std::array kAll{&kDetector,           &kTransformersDinov2,
                                   &kTransformersDinov3, &kTransformersVit,
                                   &kTransformersClip,   &kTorchvision,
                                   &kOpenaiClip,         &kJax,
                                   &kDiffusersVae,       &kOlderDiffusersVae,
                                   &kCompvisVae,         &kDinov3,
                                   &kSapiens2,           &kTimm};
  return kAll;
}

void reshape_from_rank(TensorMap& tensors, std::string_view name, int rank, const Shape& shape) {
  const auto found = tensors.find(std::string(name));
  if (found == tensors.end() || found->second.rank() != rank) return;
  if (found->second.numel() != shape.numel()) return;
  found->second = ops::reshape(found->second.contiguous(), shape);
}

void move_class_position(TensorMap& tensors) {
  const auto token = tensors.find("cls_token"), positions = tensors.find("pos_embed");
  if (token == tensors.end() || positions == tensors.end()) return;
  const Tensor table = positions->second;
  const Shape& shape = table.shape();
  if (shape.rank() != 3 || shape[1] < 2 || token->second.shape() != Shape{1, 1, shape[2]}) return;
  const NoGrad no_grad;
  token->second = token->second + ops::slice(table, 1, 0, 1).contiguous();
  positions->second = ops::slice(table, 1, 1, shape[1]).contiguous();
}

void add_leading_axes(TensorMap& tensors) {
  if (const auto token = tensors.find("cls_token"); token != tensors.end())
    reshape_from_rank(tensors, "cls_token", 1, {1, 1, token->second.numel()});
  const auto positions = tensors.find("pos_embed");
  if (positions != tensors.end() && positions->second.rank() == 2) {
    positions->second = ops::unsqueeze(positions->second, 0);
  }
}

void add_head_bias(TensorMap& tensors) {
  const auto weight = tensors.find("head.weight");
  if (weight == tensors.end() || weight->second.rank() != 2) return;
  tensors.try_emplace("head.bias", zeros({weight->second.size(0)}, weight->second.options()));
}

}  // namespace fovea
