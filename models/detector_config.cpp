// The settings that detectors share.
#include "models/detector_config.h"

#include "engine/base/error.h"
#include "models/layer_config.h"
#include "models/registry.h"

namespace fovea {
namespace {

constexpr std::size_t kMaxStages = 8;
constexpr std::int64_t kMaxWidth = 1 << 14, kMaxBlocks = 1000;

void check_stages(const char* key, const std::vector<std::int64_t>& values) {
  check(!values.empty() && values.size() <= kMaxStages, "detector config: ", key, ": got ",
        values.size(), " stages, expected 1 to ", kMaxStages);
}

void check_resnet(const ResNetConfig& c) {
  check_stages("planes", c.planes);
  check_stages("blocks", c.blocks);
  check(c.planes.size() == c.blocks.size(), "detector config: got ", c.planes.size(),
        " planes and ", c.blocks.size(), " blocks, expected one of each per stage");
  check(!c.dilation || c.planes.size() > 1,
        "detector config: dilation: the first stage has no stride to replace; use two planes or "
        "more");
}

void check_pegs(const DetectorConfig& c) {
  std::int64_t before = -2;
  for (const std::int64_t position : c.peg_positions) {
    check(position > before && position < c.enc_layers, "detector config: peg_positions: got ",
          position, ", expected ascending encoder layers from -1 to ", c.enc_layers - 1);
    before = position;
  }
  check(c.encoder_pos != EncoderPos::peg || !c.peg_positions.empty(),
        "detector config: peg_positions is empty, but encoder_pos is peg; use encoder_pos none");
}

void visit_backbone(ConfigFields& v, DetectorConfig& c) {
  const auto set_backbone = [&c](const std::string& name) {
    if (name != kResNet) static_cast<void>(preset(name));  // throws on an unknown name
    c.backbone = name;
  };
  v("backbone", Access<std::string>([&c] { return c.backbone; }, set_backbone))
      .flag("Detector",
            "resnet, or the name of a ViT, CPVT or PerViT, whose patch tokens become the map");
  v("backbone_args", &c.backbone_args)
      .flag("Detector", "settings of a backbone other than resnet, as a JSON object")
      .applies = [&c] { return c.backbone != kResNet; };
  for (const ConfigField& field : config_fields(c.resnet)) {
    v.add(field).applies = [&c] { return c.backbone == kResNet; };
  }
}

}  // namespace

void visit(ConfigFields& v, ResNetConfig& c) {
  v("backbone_norm", &c.norm)
      .flag("Detector", "batch norms of the ResNet: fixed buffers, or trained");
  v("train_stem", &c.train_stem)
      .flag("Detector", "train the ResNet's first convolution and stage too");
  v("dilation", &c.dilation).flag("Detector", "DC5: the ResNet's last stage keeps the resolution");
  v("stem", &c.stem, {1, kMaxWidth}).flag("Detector", "channels of the ResNet's first convolution");
  v("planes", &c.planes, {1, kMaxWidth}).flag("Detector", "bottleneck width of each stage");
  v("blocks", &c.blocks, {1, kMaxBlocks}).flag("Detector", "blocks of each stage");
}

void visit(ConfigFields& v, DetectorConfig& c) {
  visit_img_size(v, c.img_size);
  v("in_chans", &c.resnet.in_chans, {1, 1024});
  visit_backbone(v, c);
  v("num_classes", &c.num_classes);
  v("num_queries", &c.num_queries, {1, 1 << 16})
      .flag("Detector", "maximum number of objects in an image");
  v("d_model", &c.d_model, {4, kMaxWidth}).flag("Detector", "width of the transformer");
  v("nheads", &c.nheads, {1, kMaxWidth}).flag("Detector", "attention heads");
  v("enc_layers", &c.enc_layers, {0, kMaxBlocks}).flag("Detector", "layers of the encoder");
  v("dec_layers", &c.dec_layers, {1, kMaxBlocks}).flag("Detector", "layers of the decoder");
  v("dim_feedforward", &c.dim_feedforward, {1, 1 << 20})
      .flag("Detector", "hidden width of the MLPs");
  v("dropout", &c.dropout, {0, 0.99})
      .flag("Detector", "dropout rate of attention weights, residual branches and hidden values");
  v("encoder_pos", &c.encoder_pos).flag("Detector", "positions of the encoder");
  v("peg_positions", &c.peg_positions, {.low = -1})
      .flag("Detector",
            "PEGs after these encoder layers, -1: before the first; with encoder-pos peg");
  v("peg_mask_input", &c.peg_mask_input)
      .flag("Detector", "replace tokens on padding by zeros in the PEGs' input");
}

void check_detector(const DetectorConfig& c) {
  if (c.backbone == kResNet) check_resnet(c.resnet);
  check(c.d_model % 4 == 0 && c.d_model % c.nheads == 0, "detector config: d_model ", c.d_model,
        " is not divisible by 4, for sines and cosines of two axes, and by nheads ", c.nheads);
  check_pegs(c);
}

void drop_resnet_settings(nlohmann::json& config) {
  ResNetConfig resnet;
  for (const ConfigField& field : config_fields(resnet)) config.erase(field.key);
}

}  // namespace fovea
