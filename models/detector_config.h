// Settings that DETR and Deformable DETR share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/names.h"
#include "models/resnet.h"

namespace fovea {

class ConfigFields;

/// Where the encoder's positions come from.
enum class EncoderPos {
  sine,  ///< added to queries and keys of every layer
  none,
  peg,  ///< a detection PEG after some of the layers
};
template <>
inline constexpr auto kNames<EncoderPos> = std::to_array<Named<EncoderPos>>(
    {{EncoderPos::sine, "sine"}, {EncoderPos::none, "none"}, {EncoderPos::peg, "peg"}});

inline constexpr const char* kResNet = "resnet";  ///< the backbone that needs no other model

/// Members have the names of the configuration keys, which are flat.
struct DetectorConfig {
  std::array<std::int64_t, 2> img_size{800, 1333};  ///< usual size; images may have any
  std::string backbone = kResNet;  ///< "resnet", or a registry name of a ViT, CPVT or PerViT
  nlohmann::json backbone_args = nlohmann::json::object();  ///< settings of such a backbone
  ResNetConfig resnet{};  ///< keys: in_chans, stem, planes, blocks, dilation,
                          ///< backbone_norm, train_stem

  std::int64_t num_classes = 91;
  std::int64_t num_queries = 100;
  std::int64_t d_model = 256, nheads = 8;
  std::int64_t enc_layers = 6, dec_layers = 6;
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  EncoderPos encoder_pos = EncoderPos::sine;
  /// Encoder layers followed by a PEG, ascending; -1: before the first. Only with encoder_pos peg.
  std::vector<std::int64_t> peg_positions{0};
  bool peg_mask_input = false;  ///< a PEG sees zeros at tokens on padding
};

void visit(ConfigFields& v, ResNetConfig& c);
void visit(ConfigFields& v, DetectorConfig& c);
/// Throws for settings that do not fit together.
void check_detector(const DetectorConfig& c);
/// Removes a preset's settings of a ResNet, for which another backbone has no use.
void drop_resnet_settings(nlohmann::json& config);

}  // namespace fovea
