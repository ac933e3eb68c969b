// Model flags, one row per flag; the models check the values.
#include "train/settings/model_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "models/config_reader.h"
#include "models/depth/loss.h"
#include "models/detector_config.h"
#include "models/layers/peg.h"
#include "models/layers/pooling.h"
#include "models/layers/pos_embed.h"
#include "models/layers/position_attention.h"

namespace fovea {
namespace {

using nlohmann::json;

enum class Kind { value, size, list, yes_no, object, more_settings };

/// A set of tasks.
class Tasks {
 public:
  constexpr Tasks(TaskKind task) : bits_(1U << static_cast<unsigned>(task)) {}
  constexpr Tasks(std::nullopt_t) : bits_(~0U) {}  ///< all
  constexpr Tasks operator|(Tasks other) const { return Tasks(bits_ | other.bits_); }
  [[nodiscard]] constexpr bool contains(TaskKind task) const {
    return (bits_ & Tasks(task).bits_) != 0;
  }

 private:
  constexpr explicit Tasks(unsigned bits) : bits_(bits) {}

  unsigned bits_;
};

struct Row {
  Tasks tasks;  ///< tasks of the models with this flag
  const char* group;
  const char* flag;
  Kind kind;
  const char* help;
  std::vector<std::string> (*names)() = nullptr;  ///< allowed values, for an enumeration
};

constexpr auto kClassifiers = TaskKind::classification;
constexpr auto kAutoencoders = TaskKind::masked_autoencoding;
constexpr auto kVaes = TaskKind::autoencoding;
constexpr auto kDiffusion = TaskKind::diffusion;
constexpr auto kDepth = TaskKind::depth;
constexpr Tasks kTransformers = Tasks(TaskKind::classification) | Tasks(TaskKind::depth);
constexpr auto kDetectors = TaskKind::detection;
constexpr std::nullopt_t kAll = std::nullopt;

constexpr Row kRows[] = {
    {kAll, "Model", "img-size", Kind::size, "input size, N or HxW (default: the model's)"},
    {kAll, "Model", "patch-size", Kind::value, "side of the square patches"},
    {kAll, "Model", "embed-dim", Kind::value, "width of the tokens"},
    {kAll, "Model", "depth", Kind::value, "number of blocks"},
    {kAll, "Model", "num-heads", Kind::value, "attention heads"},
    {kAll, "Model", "mlp-ratio", Kind::value, "hidden width of the MLP divided by the token width"},
    {kTransformers, "Model", "class-token", Kind::yes_no, "use a class token"},
    {kClassifiers, "Model", "global-pool", Kind::value, "input of the head", names_of<Pooling>},
    {kClassifiers, "Model", "head-batch-norm", Kind::yes_no,
     "ViT: batch-normalise the input of the head"},
    {kAll, "Model", "pos-embed", Kind::value, "position encoding of the tokens",
     names_of<PosEmbed>},
    {kClassifiers, "Model", "pos-embed-qk-first", Kind::yes_no,
     "ViT, CPVT: add it to block 0's queries and keys only"},
    {kTransformers, "Model", "irpe", Kind::yes_no,
     "ViT, CPVT: contextual relative positions on the keys"},
    {kAll, "Model", "model-args", Kind::more_settings, "more model settings, as a JSON object"},
    {kAutoencoders, "MAE", "mask-ratio", Kind::value,
     "share of the patches hidden from the encoder"},
    {kAutoencoders, "MAE", "norm-pix-loss", Kind::yes_no,
     "normalise each target patch to zero mean, unit variance"},
    {kAutoencoders, "MAE", "decoder-embed-dim", Kind::value, "width of the decoder's tokens"},
    {kAutoencoders, "MAE", "decoder-depth", Kind::value, "blocks of the decoder"},
    {kAutoencoders, "MAE", "decoder-num-heads", Kind::value, "attention heads of the decoder"},
    {kVaes, "VAE", "block-out-channels", Kind::list,
     "width of each level; the image is halved between levels"},
    {kVaes, "VAE", "layers-per-block", Kind::value,
     "residual blocks of a level; the decoder has one more"},
    {kVaes, "VAE", "latent-channels", Kind::value, "channels of the latents"},
    {kVaes, "VAE", "norm-num-groups", Kind::value, "groups of the group norms"},
    {kVaes, "VAE", "scaling-factor", Kind::value,
     "factor on the latents that diffusion models see"},
    {kDiffusion, "DiT", "learn-sigma", Kind::yes_no, "also predict variances"},
    {kDiffusion, "DiT", "class-dropout-prob", Kind::value,
     "share of the labels dropped in training, for guidance; 0: no null class"},
    {kDepth, "Depth", "loss", Kind::value,
     "loss, and the form of the outputs that it needs: metres, or positive metres",
     names_of<DepthLoss>},
    {kDetectors, "Detector", "backbone", Kind::value,
     "resnet, or the model name of a ViT, CPVT or PerViT, whose patch tokens become the map"},
    {kDetectors, "Detector", "backbone-args", Kind::object,
     "settings of such a model, as a JSON object"},
    {kDetectors, "Detector", "backbone-norm", Kind::value,
     "batch norms of the ResNet: buffers that keep their values, or trained",
     names_of<ConvNormKind>},
    {kDetectors, "Detector", "train-stem", Kind::yes_no,
     "train the ResNet's first convolution and stage too"},
    {kDetectors, "Detector", "dilation", Kind::yes_no,
     "DC5: the ResNet's last stage keeps the resolution"},
    {kDetectors, "Detector", "stem", Kind::value, "channels of the ResNet's first convolution"},
    {kDetectors, "Detector", "planes", Kind::list, "width of the bottlenecks of each stage"},
    {kDetectors, "Detector", "blocks", Kind::list, "blocks of each stage"},
    {kDetectors, "Detector", "num-queries", Kind::value, "most objects found in an image"},
    {kDetectors, "Detector", "d-model", Kind::value, "width of the transformer"},
    {kDetectors, "Detector", "nheads", Kind::value, "attention heads"},
    {kDetectors, "Detector", "enc-layers", Kind::value, "layers of the encoder"},
    {kDetectors, "Detector", "dec-layers", Kind::value, "layers of the decoder"},
    {kDetectors, "Detector", "dim-feedforward", Kind::value, "hidden width of the MLPs"},
    {kDetectors, "Detector", "dropout", Kind::value,
     "dropout rate of attention weights, residual branches and hidden values"},
    {kDetectors, "Detector", "pre-norm", Kind::yes_no,
     "DETR: normalise before attention and MLP instead of after"},
    {kDetectors, "Detector", "encoder-pos", Kind::value, "positions of the encoder",
     names_of<EncoderPos>},
    {kDetectors, "Detector", "peg-positions", Kind::list,
     "PEGs after these encoder layers, -1: before the first; with encoder-pos peg"},
    {kDetectors, "Detector", "peg-mask-input", Kind::yes_no,
     "a PEG sees zeros at tokens on padding"},
    {kDetectors, "Detector", "eos-coef", Kind::value, "DETR: weight of \"no object\" in the loss"},
    {kDetectors, "Detector", "enc-n-points", Kind::value,
     "Deformable DETR: sampling points of a head in the encoder"},
    {kDetectors, "Detector", "dec-n-points", Kind::value, "and in the decoder"},
    {kDetectors, "Detector", "focal-alpha", Kind::value,
     "Deformable DETR: weight of the objects' own classes in the focal loss"},
    {kTransformers, "CPVT", "peg-positions", Kind::list,
     "PEGs after these blocks, -1: before the first"},
    {kTransformers, "CPVT", "peg-stack", Kind::value, "PEGs in a row at each position"},
    {kTransformers, "CPVT", "peg-kernel", Kind::value, "side of the kernel, odd"},
    {kTransformers, "CPVT", "peg-padding", Kind::value, "padding; without it the grid shrinks",
     names_of<PegPadding>},
    {kTransformers, "CPVT", "peg-conv", Kind::value, "kind of convolution", names_of<PegConv>},
    {kTransformers, "CPVT", "peg-residual", Kind::yes_no, "PEG(x) = conv(x) + x"},
    {kTransformers, "CPVT", "peg-frozen", Kind::yes_no, "do not train the PEGs"},
    {kTransformers, "CPVT", "peg-init", Kind::value, "initial values", names_of<PegInit>},
    {kClassifiers, "PerViT", "emb-dims", Kind::list, "width of each stage"},
    {kClassifiers, "PerViT", "depths", Kind::list, "blocks of each stage"},
    {kClassifiers, "PerViT", "convstem-dims", Kind::list, "channels of the convolutional stem"},
    {kClassifiers, "PerViT", "phi-p", Kind::yes_no, "position attention"},
    {kClassifiers, "PerViT", "phi-c", Kind::yes_no, "content attention"},
    {kClassifiers, "PerViT", "conv-stem", Kind::yes_no, "convolutions instead of patches"},
    {kClassifiers, "PerViT", "cpe", Kind::yes_no, "convolutional position encoding"},
    {kClassifiers, "PerViT", "ppe-embed", Kind::value, "Euclidean distance, or learned vectors",
     names_of<PpeEmbed>},
    {kClassifiers, "PerViT", "ppe-kernel", Kind::value,
     "side of the kernel, odd; 1: no neighbours"},
    {kClassifiers, "PerViT", "ppe-layers", Kind::value, "number of peripheral projections, 1 or 2"},
    {kClassifiers, "PerViT", "ppe-init", Kind::value, "initial values", names_of<PpeInit>},
    {kClassifiers, "PerViT", "ppe-init-noise", Kind::value,
     "std of the noise added to the initial projections"},
    {kClassifiers, "PerViT", "ppe-frozen", Kind::yes_no, "do not train position attention"},
    {kClassifiers, "Pixels", "permute-T", Kind::value,
     "number of pixel swaps, the same in every image"},
    {kClassifiers, "Pixels", "permute-delta", Kind::value,
     "largest distance between swapped pixels"},
    {kClassifiers, "Pixels", "permute-seed", Kind::value, "seed of the pixel swaps"},
};

std::string key_of(const Row& row) {
  std::string key = row.flag;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

[[noreturn]] void refuse(const Row& row, const std::string& text, const char* expected) {
  throw UsageError("--" + std::string(row.flag) + ": got " + text + ", expected " + expected);
}

json parse(const Row& row, const std::string& text) {
  if (row.kind == Kind::list) {
    const json list = parse_json("[" + text + "]");
    if (list.is_discarded()) refuse(row, text, "integers separated by commas");
    return list.size() == 1 && list[0].is_array() ? list[0] : list;
  }
  const json value = parse_config_value(text);
  if (row.kind == Kind::size) {
    const bool pair = value.is_array() && value.size() == 2;
    if (!pair && !value.is_number()) refuse(row, text, "N or HxW");
    return pair ? value : json{value, value};
  }
  const bool wants_object = row.kind == Kind::object || row.kind == Kind::more_settings;
  if (wants_object && !value.is_object()) {
    refuse(row, text, "a JSON object like {\"class_token\": false}");
  }
  return value;
}

/// timm's names for the flag.
std::vector<std::string> other_names_of(std::string_view flag) {
  if (flag == "global-pool") return {"gp"};
  if (flag == "model-args") return {"model-kwargs"};
  return {};
}

void add_field(Fields& fields, const Row& row, std::string* text) {
  std::string help = row.help;
  if (row.names != nullptr) help += ": " + join(row.names(), ", ");
  Field& field = FieldGroup(fields, row.group).add(row.flag, text, help);
  field.other_names = other_names_of(row.flag);
  field.yes_no = row.kind == Kind::yes_no;
  field.fixed = true;
}

void add_dropout_fields(FieldGroup& g, ModelChoice& model) {
  constexpr FieldGroup::Range kRates{0, 0.99};
  g.number("drop", &model.drop, "dropout on the input of the head", kRates).other_names = {
      "drop-rate"};
  g.number("pos-drop-rate", &model.pos_drop_rate, "dropout on the tokens before the first block",
           kRates);
  g.number("proj-drop-rate", &model.proj_drop_rate,
           "dropout on the outputs of attention and MLP, and inside the MLP", kRates);
  g.number("attn-drop-rate", &model.attn_drop_rate,
           "dropout on the attention weights, which are then stored in memory", kRates);
}

}  // namespace

ModelSettings::ModelSettings() {
  for (const Row& row : kRows) texts_[key_of(row)];
}

void ModelSettings::add_fields(Fields& fields) {
  std::set<std::string_view> added;  // the models of two tasks may share a flag
  for (const Row& row : kRows) {
    if (added.insert(row.flag).second) add_field(fields, row, &(*this)[key_of(row)]);
  }
}

void ModelSettings::add_fields(Fields& fields, TaskKind task) {
  for (const Row& row : kRows) {
    if (row.tasks.contains(task)) add_field(fields, row, &(*this)[key_of(row)]);
  }
}

std::string& ModelSettings::operator[](std::string_view key) {
  const auto found = texts_.find(key);
  check(found != texts_.end(), "model settings: unknown setting ", key);
  return found->second;
}

json ModelSettings::overrides() const {
  json result = json::object();
  for (const Row& row : kRows) {
    const std::string& text = texts_.at(key_of(row));
    if (text.empty()) continue;
    json value = parse(row, text);
    if (row.kind == Kind::more_settings) {
      result.update(value);
    } else {
      result[key_of(row)] = std::move(value);
    }
  }
  if (result.contains("permute_T")) result["permutation"] = true;
  return result;
}

void add_fields(Fields& fields, ModelChoice& model, TaskKind task) {
  FieldGroup g(fields, "Model");
  g.add("model", &model.name, "model name; --list-models lists the common ones").fixed = true;
  g.number("drop-path", &model.drop_path, "drop rate of the last block's branches", {0, 0.99})
      .other_names = {"drop-path-rate", "drop-connect"};
  if (task == kClassifiers) add_dropout_fields(g, model);
  model.settings.add_fields(fields, task);
}

json ModelChoice::overrides() const {
  json overrides = settings.overrides();
  const bool has_blocks = name != "linear";  // the linear model ignores a recipe's drop path
  if (drop_path > 0 && has_blocks) overrides["drop_path"] = drop_path;
  if (drop > 0) overrides["drop_rate"] = drop;
  if (pos_drop_rate > 0) overrides["pos_drop_rate"] = pos_drop_rate;
  if (proj_drop_rate > 0) overrides["proj_drop_rate"] = proj_drop_rate;
  if (attn_drop_rate > 0) overrides["attn_drop_rate"] = attn_drop_rate;
  return overrides;
}

}  // namespace fovea
