// pervit-phi: Phi_p of the central query, of trained models (PerViT fig. 4) and as produced by the
// initial (s, v) (fig. 2 bottom).
#include <algorithm>

#include "engine/autograd.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "models/pervit.h"
#include "models/registry.h"
#include "report/inspect/position_maps.h"

namespace fovea::inspect {
namespace {

void write_csv(const std::vector<PositionBlock>& blocks, const std::string& name,
               OutputFolder& output) {
  Csv csv("layer,head,nonlocality,key_y,key_x,phi_p");
  for (const PositionBlock& block : blocks) {
    for (const PositionHead& head : block.heads) {
      for (std::size_t i = 0; i < head.center.size(); ++i) {
        const auto patch = static_cast<std::int64_t>(i);
        csv.row(block.block + 1, head.head, head.nonlocality, patch / block.grid.width,
                patch % block.grid.width, head.center[i]);
      }
    }
  }
  output.write(name, csv.text());
}

std::string range_text(const std::vector<double>& values) {
  const ColorRange range = range_of(values);
  return short_number(range.low) + " to " + short_number(range.high);
}

void draw_trained(const Inspection& what, OutputFolder& output) {
  std::vector<PositionBlock> blocks = position_blocks(what);
  write_csv(blocks, "pervit-phi.csv", output);
  TileGrid grid;
  grid.title = "Position attention of the central query";
  grid.notes = {model_note(what),
                "One column per layer, heads sorted by nonlocality, the most local on top; below "
                "each map, its range.",
                "The red square is the query."};
  grid.bar = relative_color_bar("position attention, each map in its own range");
  grid.side = 96;
  const TokenLayout layout = token_layout(*what.model);
  grid.rows.resize(blocks.front().heads.size());
  for (PositionBlock& block : blocks) {
    grid.column_labels.push_back(layer_label(block.block));
    std::sort(block.heads.begin(), block.heads.end(),
              [](const PositionHead& a, const PositionHead& b) {
                return std::pair(a.nonlocality, a.head) < std::pair(b.nonlocality, b.head);
              });
    for (std::size_t i = 0; i < block.heads.size(); ++i) {
      PictureTile tile = center_tile(block.heads[i], block.grid, layout);
      tile.caption = range_text(block.heads[i].center);
      grid.rows[i].push_back(std::move(tile));
    }
  }
  output.write("pervit-phi.svg", svg_of_tiles(grid));
}

/// Bias s and weight v of the last instance norm before the sigmoid, per block.
struct GateInit {
  std::vector<double> s, v;
};
std::vector<double> linspace(double from, double to, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0;
    values.push_back(from + (to - from) * t);
  }
  return values;
}

void set_gates(Model& model, const GateInit& init) {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < init.s.size(); ++i) {
    const PositionGate gate = position_gate(model, static_cast<std::int64_t>(i));
    check(gate.scale.defined() && gate.shift.defined(),
          "inspect: pervit-phi --init: ", model.info().name,
          " has no position attention, expected PerViT (pervit_tiny_224)");
    gate.shift.fill_(init.s[i]);
    gate.scale.fill_(init.v[i]);
  }
}

/// Values that vary from block to block in one row of the picture.
struct InitRow {
  std::string label;
  GateInit init;
};
std::vector<InitRow> init_rows(std::int64_t blocks) {
  // The ranges of PerViT's peripheral initialisation.
  const std::vector<double> s = linspace(-5, 4, blocks), v = linspace(3, 0.01, blocks);
  const std::vector<double> no_s(s.size(), 0.0), unit_v(v.size(), 1.0);
  return {{"s alone (v = 1)", {s, unit_v}}, {"v alone (s = 0)", {no_s, v}}, {"s and v", {s, v}}};
}

TileGrid start_initial(const Model& model, std::int64_t blocks) {
  TileGrid grid;
  grid.title = "Position attention before training";
  grid.notes = {
      model.info().name,
      "Phi_p = sigmoid(v z + s) of the central query (red square), with z from an instance norm; "
      "all heads start equal.",
      "Below each map, its range."};
  grid.bar = color_bar(Palette::viridis, {0, 1}, "position attention");
  grid.side = 96;
  for (std::int64_t i = 0; i < blocks; ++i) grid.column_labels.push_back(layer_label(i));
  return grid;
}

void draw_initial(const Inspection& what, OutputFolder& output) {
  const std::unique_ptr<Model> fresh = make_model_like(*what.model);
  const TokenLayout layout = token_layout(*fresh);
  TileGrid grid = start_initial(*fresh, layout.blocks);
  Csv csv("row,layer,s,v,nonlocality,key_y,key_x,phi_p");
  for (const auto& [label, init] : init_rows(layout.blocks)) {
    set_gates(*fresh, init);
    grid.row_labels.push_back(label);
    std::vector<PictureTile>& tiles = grid.rows.emplace_back();
    for (const PositionBlock& block : position_blocks(*fresh, false)) {
      const PositionHead& head = block.heads.front();
      const auto i = static_cast<std::size_t>(block.block);
      PictureTile tile = center_tile(head, block.grid, layout);
      tile.map = paint({head.center, block.grid.width, {0, 1}, Palette::viridis});
      tile.caption = range_text(head.center);
      tiles.push_back(std::move(tile));
      for (std::int64_t k = 0; k < block.grid.size(); ++k) {
        csv.row(label, block.block + 1, init.s[i], init.v[i], head.nonlocality,
                k / block.grid.width, k % block.grid.width,
                head.center[static_cast<std::size_t>(k)]);
      }
    }
  }
  output.write("pervit-phi-init.svg", svg_of_tiles(grid));
  output.write("pervit-phi-init.csv", csv.text());
}

}  // namespace

void pervit_phi(const Inspection& what, OutputFolder& output) {
  if (what.options.init) {
    draw_initial(what, output);
  } else {
    draw_trained(what, output);
  }
}

}  // namespace fovea::inspect
