// Reasons why weights do not fit: another size, or parts that only the file or the model has.
#include "models/checkpoints/mismatch.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/text.h"

namespace fovea {
namespace {

/// A part of a model, by a text that occurs in the names of its tensors.
struct NamedPart {
  const char *in_name, *meaning;
};
constexpr std::array kNamedParts{
    NamedPart{"reg_token", "register tokens"},
    NamedPart{".ls1.", "layer scale"},
    NamedPart{".gamma_1", "layer scale"},
    NamedPart{"norm_pre.", "a norm before the blocks, as in CLIP"},
    NamedPart{".q_norm.", "norms of queries and keys"},
    NamedPart{".attn.gate.", "gated attention"},
    NamedPart{"attn_pool.", "attention pooling, as in SigLIP"},
    NamedPart{".fc1_g.", "a gated MLP"},
    NamedPart{".mlp.w12.", "a gated MLP"},
    NamedPart{"rel_pos", "relative positions"},
    NamedPart{"relative_position", "relative positions"},
    NamedPart{"pre_logits.", "a representation layer before the head"},
    NamedPart{"fc_norm.", "a norm after average pooling: global_pool avg"},
    NamedPart{"head_dist.", "the head of a distilled model: deit_..._distilled"},
    NamedPart{"dist_token", "the token of a distilled model: deit_..._distilled"},
    NamedPart{"decoder_blocks.", "a decoder, as masked autoencoders have: --finetune ignores it"},
    NamedPart{"text_model.", "a text tower"},
    NamedPart{"token_embedding.", "a text tower"},
    NamedPart{"head.mlp.", "a projection head of self-supervised training"},
    NamedPart{"head.0.", "a head of several layers"},
    NamedPart{"layer1.0.conv1.", "the layers of a ResNet"},
    NamedPart{"downsample.", "stages with downsampling, as in Swin"},
    NamedPart{".attention.", "the names of a program whose names are not translated"},
    NamedPart{"Transformer/", "the names of JAX"},
};

/// "the file has layer scale: blocks.0.ls1.gamma", for the parts that the names belong to.
std::vector<std::string> parts_in(const std::vector<std::string>& names, const char* owner) {
  std::vector<std::string> parts;
  std::set<std::string> told;
  for (const NamedPart& part : kNamedParts) {
    const auto found = std::ranges::find_if(names, [&](const std::string& name) {
      return name.find(part.in_name) != std::string::npos;
    });
    if (found == names.end() || !told.insert(part.meaning).second) continue;
    parts.push_back(concat(owner, " has ", part.meaning, ": ", *found));
  }
  return parts;
}

/// Number of blocks, one more than the largest index.
template <class Names>
std::int64_t depth_of(const Names& names) {
  constexpr std::string_view kBlocks = "blocks.";
  std::int64_t depth = 0;
  for (const std::string& name : names) {
    if (!name.starts_with(kBlocks)) continue;
    const std::string rest = name.substr(kBlocks.size());
    const auto index = parse_integer(rest.substr(0, rest.find('.')));
    if (index && *index >= 0 && *index < 100'000) depth = std::max(depth, *index + 1);
  }
  return depth;
}

std::int64_t depth_of(const Model& model) {
  std::vector<std::string> names;
  for (const Parameter& p : model.store().parameters()) names.push_back(p.name);
  return depth_of(names);
}

std::int64_t depth_of(const TensorMap& file) {
  std::vector<std::string> names;
  for (const auto& entry : file) names.push_back(entry.first);
  return depth_of(names);
}

/// An axis of a tensor whose length is a setting of the model.
struct NamedSize {
  const char *tensor, *what;
  int axis;
};
constexpr std::array kNamedSizes{
    NamedSize{"patch_embed.proj.weight", "width", 0},
    NamedSize{"patch_embed.proj.weight", "number of image channels", 1},
    NamedSize{"patch_embed.proj.weight", "patch size", 2},
    NamedSize{"blocks.0.mlp.fc1.weight", "width of the MLP", 0},
    NamedSize{"head.weight", "number of classes", 0},
};

/// "another depth: 24 blocks, expected 12", and likewise the width, the patch size, ...
std::vector<std::string> other_sizes(const TensorMap& file, const Model& model) {
  std::vector<std::string> sizes;
  const std::int64_t depth = depth_of(file), own_depth = depth_of(model);
  if (depth != own_depth && depth > 0 && own_depth > 0) {
    sizes.push_back(concat("another depth: ", depth, depth == 1 ? " block" : " blocks",
                           ", expected ", own_depth));
  }
  bool same_width = true;
  for (const NamedSize& size : kNamedSizes) {
    const auto found = file.find(size.tensor);
    const Tensor own = model.store().find(size.tensor);
    if (found == file.end() || !own.defined() || found->second.rank() != own.rank()) continue;
    if (size.axis >= own.rank()) continue;
    const std::int64_t theirs = found->second.size(size.axis), ours = own.size(size.axis);
    const bool follows = !same_width && std::string_view(size.what) == "width of the MLP";
    if (theirs == ours || follows) continue;
    same_width = same_width && std::string_view(size.what) != "width";
    sizes.push_back(concat("another ", size.what, ": ", theirs, ", expected ", ours));
  }
  return sizes;
}

std::vector<std::string> reasons_for(const Mismatch& mismatch, const TensorMap& file,
                                     const Model& model) {
  std::vector<std::string> reasons = other_sizes(file, model);
  const auto add = [&](const std::vector<std::string>& more) {
    reasons.insert(reasons.end(), more.begin(), more.end());
  };
  add(parts_in(mismatch.unexpected, "the file"));
  add(parts_in(mismatch.missing, "the model"));
  const auto is_missing = [&](const char* name) {
    return std::ranges::find(mismatch.missing, name) != mismatch.missing.end();
  };
  if (is_missing("head.weight")) {
    reasons.push_back(
        "the file has no head for classes: training starts a new one with --finetune, and "
        "--model-args '{\"num_classes\": 0}' takes the model without one");
  }
  const auto head = file.find("head.weight"), token = file.find("cls_token");
  if (head != file.end() && token != file.end() && head->second.rank() == 2 &&
      head->second.size(1) == 2 * token->second.numel()) {
    reasons.push_back(
        "the file's head reads the class token beside the mean of the patches, which no model here "
        "does; training starts a new one with --finetune");
  }
  return reasons;
}

std::string first_names(const char* kind, const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::string> shown;
  constexpr std::size_t kLongest = 300;  // bytes
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    const bool cut = names[i].size() > kLongest;
    shown.push_back(cut ? names[i].substr(0, kLongest) + "..." : names[i]);
  }
  const std::size_t more = names.size() - shown.size();
  return concat(names.size(), " ", kind, ": ", join(shown, ", "),
                more > 0 ? concat(" and ", more, " more") : "");
}

}  // namespace

bool is_counter(const Tensor& tensor) { return tensor.numel() == 1 && !is_float(tensor.dtype()); }

std::string mismatch_text(const Mismatch& mismatch, const TensorMap& file, const Model& model,
                          bool all_names) {
  constexpr std::size_t kFirst = 3, kAll = 1000, kMaxReasons = 5;
  const std::size_t most = all_names ? kAll : kFirst;
  const std::size_t total = model.store().parameters().size() + model.store().buffers().size();
  std::vector<std::string> parts{concat(mismatch.fitting, " of its ", total, " tensors fit")};
  bool cut = false;
  const auto list = [&](const char* kind, const std::vector<std::string>& names) {
    if (!names.empty()) parts.push_back(first_names(kind, names, most));
    cut = cut || names.size() > most;
  };
  list("missing", mismatch.missing);
  list("unexpected", mismatch.unexpected);
  list("mis-shaped", mismatch.misshaped);
  std::vector<std::string> reasons = reasons_for(mismatch, file, model);
  if (!all_names) reasons.resize(std::min(reasons.size(), kMaxReasons));
  if (!reasons.empty()) parts.push_back("probable reason: " + join(reasons, "; "));
  if (cut && !all_names) parts.push_back("--verbose lists all names");
  return join(parts, "; ");
}

}  // namespace fovea
