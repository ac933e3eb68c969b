// Reading and writing the settings that detectors share.
#include "models/detector_config.h"

#include "engine/base/error.h"
#include "models/registry.h"

namespace fovea {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxStages = 8;
constexpr std::int64_t kMaxWidth = 1 << 14, kMaxBlocks = 1000;

void check_list(const char* key, const std::vector<std::int64_t>& values, std::int64_t most) {
  check(!values.empty() && values.size() <= kMaxStages, "detector config: ", key, ": got ",
        values.size(), " stages, expected 1 to ", kMaxStages);
  for (const std::int64_t value : values) {
    check(value >= 1 && value <= most, "detector config: ", key, ": got ", value,
          ", expected numbers from 1 to ", most);
  }
}

void read_resnet(ConfigReader& r, ResNetConfig& c) {
  r.read("stem", c.stem, 1, kMaxWidth);
  r.read("planes", c.planes);
  r.read("blocks", c.blocks);
  r.read("dilation", c.dilation);
  r.read_choice("backbone_norm", c.norm);
  r.read("train_stem", c.train_stem);
  check_list("planes", c.planes, kMaxWidth);
  check_list("blocks", c.blocks, kMaxBlocks);
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

}  // namespace

void read_detector(ConfigReader& r, DetectorConfig& c) {
  r.read_size("img_size", c.img_size);
  r.read("in_chans", c.resnet.in_chans, 1, 1024);
  r.read_text("backbone", c.backbone);
  if (c.backbone == kResNet) {
    read_resnet(r, c.resnet);
  } else {
    static_cast<void>(preset(c.backbone));  // throws on an unknown name
    r.read_object("backbone_args", c.backbone_args);
  }
  r.read("num_classes", c.num_classes, 1);
  r.read("num_queries", c.num_queries, 1, 1 << 16);
  r.read("d_model", c.d_model, 4, kMaxWidth);
  r.read("nheads", c.nheads, 1, kMaxWidth);
  r.read("enc_layers", c.enc_layers, 0, kMaxBlocks);
  r.read("dec_layers", c.dec_layers, 1, kMaxBlocks);
  r.read("dim_feedforward", c.dim_feedforward, 1, 1 << 20);
  r.read("dropout", c.dropout, 0, 0.99);
  r.read_choice("encoder_pos", c.encoder_pos);
  r.read("peg_positions", c.peg_positions);
  r.read("peg_mask_input", c.peg_mask_input);
  check(c.d_model % 4 == 0 && c.d_model % c.nheads == 0, "detector config: d_model ", c.d_model,
        " is not divisible by 4, for sines and cosines of two axes, and by nheads ", c.nheads);
  check_pegs(c);
}

void drop_resnet_settings(json& config) {
  for (const char* key : {"stem", "planes", "blocks", "dilation", "backbone_norm", "train_stem"}) {
    config.erase(key);
  }
}

void write_detector(json& config, const DetectorConfig& c) {
  config["img_size"] = c.img_size;
  config["in_chans"] = c.resnet.in_chans;
  config["backbone"] = c.backbone;
  if (c.backbone == kResNet) {
    config["stem"] = c.resnet.stem;
    config["planes"] = c.resnet.planes;
    config["blocks"] = c.resnet.blocks;
    config["dilation"] = c.resnet.dilation;
    config["backbone_norm"] = name_of(c.resnet.norm);
    config["train_stem"] = c.resnet.train_stem;
  } else {
    config["backbone_args"] = c.backbone_args;
  }
  config["num_classes"] = c.num_classes;
  config["num_queries"] = c.num_queries;
  config["d_model"] = c.d_model;
  config["nheads"] = c.nheads;
  config["enc_layers"] = c.enc_layers;
  config["dec_layers"] = c.dec_layers;
  config["dim_feedforward"] = c.dim_feedforward;
  config["dropout"] = c.dropout;
  config["encoder_pos"] = name_of(c.encoder_pos);
  config["peg_positions"] = c.peg_positions;
  config["peg_mask_input"] = c.peg_mask_input;
}

}  // namespace fovea
