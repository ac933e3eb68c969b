// One row per flag; the models themselves check the values.
#include "settings/model_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "models/config_reader.h"
#include "models/layers/peg.h"
#include "models/layers/pooling.h"
#include "models/layers/pos_embed.h"
#include "models/layers/position_attention.h"

namespace fovea {
namespace {

using nlohmann::json;

enum class Kind { value, size, list, yes_no, object };

struct Row {
  const char* group;
  const char* flag;
  Kind kind;
  const char* help;
  std::vector<std::string> (*names)() = nullptr;  ///< what may be said, where it is an enumeration
};

constexpr Row kRows[] = {
    {"Model", "img-size", Kind::size, "input size, N or HxW (default: the model's)"},
    {"Model", "patch-size", Kind::value, "side of the square patches"},
    {"Model", "embed-dim", Kind::value, "width of the tokens"},
    {"Model", "depth", Kind::value, "number of blocks"},
    {"Model", "num-heads", Kind::value, "attention heads"},
    {"Model", "mlp-ratio", Kind::value, "hidden width over width"},
    {"Model", "class-token", Kind::yes_no, "a token that only collects"},
    {"Model", "global-pool", Kind::value, "what the head reads", names_of<Pooling>},
    {"Model", "head-batch-norm", Kind::yes_no, "ViT: the head reads batch-normalised vectors"},
    {"Model", "pos-embed", Kind::value, "of the tokens", names_of<PosEmbed>},
    {"Model", "pos-embed-qk-first", Kind::yes_no, "ViT, CPVT: in block 0's queries and keys only"},
    {"Model", "irpe", Kind::yes_no, "ViT, CPVT: contextual relative positions on the keys"},
    {"Model", "model-args", Kind::object, "more settings of the model, as a JSON object"},
    {"MAE", "mask-ratio", Kind::value, "share of the patches that the encoder does not see"},
    {"MAE", "norm-pix-loss", Kind::yes_no, "targets are a patch less its mean, by its deviation"},
    {"MAE", "decoder-embed-dim", Kind::value, "width of the decoder's tokens"},
    {"MAE", "decoder-depth", Kind::value, "blocks of the decoder"},
    {"MAE", "decoder-num-heads", Kind::value, "its attention heads"},
    {"CPVT", "peg-positions", Kind::list, "PEGs after these blocks, -1: before the first"},
    {"CPVT", "peg-stack", Kind::value, "PEGs in a row at each position"},
    {"CPVT", "peg-kernel", Kind::value, "side of the kernel, odd"},
    {"CPVT", "peg-padding", Kind::value, "none shrinks the grid", names_of<PegPadding>},
    {"CPVT", "peg-conv", Kind::value, "of the channels", names_of<PegConv>},
    {"CPVT", "peg-residual", Kind::yes_no, "PEG(x) = conv(x) + x"},
    {"CPVT", "peg-frozen", Kind::yes_no, "PEGs are not trained"},
    {"CPVT", "peg-init", Kind::value, "initial values", names_of<PegInit>},
    {"PerViT", "emb-dims", Kind::list, "width of each stage"},
    {"PerViT", "depths", Kind::list, "blocks of each stage"},
    {"PerViT", "convstem-dims", Kind::list, "channels of the convolutional stem"},
    {"PerViT", "phi-p", Kind::yes_no, "position attention"},
    {"PerViT", "phi-c", Kind::yes_no, "content attention"},
    {"PerViT", "conv-stem", Kind::yes_no, "convolutions instead of patches"},
    {"PerViT", "cpe", Kind::yes_no, "convolutional position encoding"},
    {"PerViT", "ppe-embed", Kind::value, "of the distance, or learned vectors", names_of<PpeEmbed>},
    {"PerViT", "ppe-kernel", Kind::value, "1: without neighbours"},
    {"PerViT", "ppe-layers", Kind::value, "peripheral projections, 1 or 2"},
    {"PerViT", "ppe-init", Kind::value, "initial values", names_of<PpeInit>},
    {"PerViT", "ppe-init-noise", Kind::value, "deviation added to the initial projections"},
    {"PerViT", "ppe-frozen", Kind::yes_no, "position attention is not trained"},
    {"Pixels", "permute-T", Kind::value, "swaps of pixels, the same in every image"},
    {"Pixels", "permute-delta", Kind::value, "largest distance of two swapped pixels"},
    {"Pixels", "permute-seed", Kind::value, "of the swaps"},
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
    if (!pair && !value.is_number_unsigned()) refuse(row, text, "N or HxW");
    return pair ? value : json{value, value};
  }
  if (row.kind == Kind::object && !value.is_object()) {
    refuse(row, text, "a JSON object like {\"class_token\": false}");
  }
  return value;
}

}  // namespace

ModelSettings::ModelSettings() {
  for (const Row& row : kRows) texts_[key_of(row)];
}

void ModelSettings::add_fields(Fields& fields) {
  for (const Row& row : kRows) {
    std::string help = row.help;
    if (row.names != nullptr) help += ": " + joined(row.names(), ", ");
    Field& field = FieldGroup(fields, row.group).add(row.flag, &(*this)[key_of(row)], help);
    field.yes_no = row.kind == Kind::yes_no;
  }
}

std::string& ModelSettings::operator[](std::string_view key) {
  const auto found = texts_.find(key);
  check(found != texts_.end(), "model settings: there is no ", key);
  return found->second;
}

json ModelSettings::overrides() const {
  json result = json::object();
  for (const Row& row : kRows) {
    const std::string& text = texts_.at(key_of(row));
    if (text.empty()) continue;
    json value = parse(row, text);
    if (row.kind == Kind::object) {
      result.update(value);
    } else {
      result[key_of(row)] = std::move(value);
    }
  }
  if (result.contains("permute_T")) result["permutation"] = true;
  return result;
}

std::vector<std::string> ModelSettings::names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.flag);
  return names;
}

}  // namespace fovea
