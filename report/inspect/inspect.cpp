// The table of analyses, and running one of them.
#include "report/inspect/inspect.h"

#include <algorithm>

#include "engine/base/files.h"
#include "engine/base/names.h"
#include "report/inspect/command.h"

namespace fovea {
namespace {

struct Command {
  std::string name, help;
  void (*run)(const Inspection& what, OutputFolder& output);
};

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"attention", "attention of one query, per layer and head (--matrix: of all queries)",
       inspect::attention},
      {"attention-distance", "mean attention distance, per layer and head",
       inspect::attention_distance},
      {"attention-offset", "distance from a query to its attention-weighted mean position",
       inspect::attention_offset},
      {"locality", "distance and offset per layer as numbers, and attention to nearby patches",
       inspect::locality},
      {"pos-embed", "cosine similarity of each position's embedding to all others",
       inspect::pos_embed},
      {"peg-kernels", "CPVT, detectors: the kernels of each position encoding generator",
       inspect::peg_kernels},
      {"pervit-phi", "PerViT: position attention of the centre (--init: before training)",
       inspect::pervit_phi},
      {"pervit-regions", "PerViT: the peripheral region of each head (--grid: the regions)",
       inspect::pervit_regions},
      {"pervit-nonlocality", "reach of content, position and mixed attention",
       inspect::pervit_nonlocality},
      {"pervit-impact", "PerViT: impact of position and of content on the attention",
       inspect::pervit_impact},
      {"pervit-attention", "PerViT: position attention, and mixed attention on images",
       inspect::pervit_attention},
      {"mae", "MAE: images, their visible patches, and the reconstructions", inspect::mae},
      {"detection", "detectors: attention at detected objects and of their queries, boxes by query",
       inspect::detection},
  };
  return all;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw UsageError("inspect: unknown analysis " + name + did_you_mean(name, names));
}

}  // namespace

Fields fields_of(InspectOptions& o) {
  Fields fields;
  FieldGroup output(fields, "Output");
  output.add(
      "output", &o.output,
      "folder for pictures and CSV files (default: RUN/inspect, or inspection without a run)");
  FieldGroup choice(fields, "Selection");
  choice.add("query", &o.query, "center, class or Y,X: row and column of a patch, from 0");
  choice.add("layers", &o.layers,
             "layers, counted from 1: 1-4,8 (default: all, or those of the paper)");
  choice.add("layer", &o.layer, "the same, counted from 0, as in the name blocks.0");
  choice.add("head", &o.head, "heads: all, or numbers from 0");
  choice.add("matrix", &o.matrix, "attention: show the full matrix between patches");
  choice.add("init", &o.init,
             "pervit-phi: initial parameters, (s, v) varied separately and together");
  choice.add("grid", &o.grid, "pervit-regions: show the four regions");
  choice.add("region-mean", &o.region_mean,
             "pervit-regions: use the mean of each ring instead of its sum");
  FieldGroup images(fields, "Images");
  images.add("images", &o.images, "a picture or a folder of pictures");
  images.add("dataset", &o.dataset,
             "data set of the images (default: the one that the model was trained on)");
  images.add("data-dir", &o.data_dir, "data folder (default: $FOVEA_DATA, else ./datasets)");
  images.number("count", &o.count, "maximum number of images; 0: the analysis's default", {0, 1e9});
  images.number("batch-size", &o.batch_size, "images per forward pass", {1, 65536});
  return fields;
}

std::string inspect_help() {
  std::string text;
  for (const Command& command : commands()) {
    const std::size_t width = 20;
    text += "  " + command.name + std::string(width - command.name.size(), ' ') + command.help;
    text += '\n';
  }
  return text;
}

bool is_analysis(const std::string& name) {
  return std::any_of(commands().begin(), commands().end(),
                     [&](const Command& command) { return command.name == name; });
}

bool needs_model(const std::string& name, const InspectOptions& options) {
  static_cast<void>(find_command(name));  // throws on an unknown name
  return !(name == "pervit-regions" && options.grid);
}

std::vector<std::filesystem::path> run_inspection(const std::string& name, const Inspection& what) {
  const Command& command = find_command(name);
  check(what.model != nullptr || !needs_model(name, what.options), "inspect: ", name,
        " needs a model");
  OutputFolder output(what.options.output);
  command.run(what, output);
  return output.files();
}

}  // namespace fovea
