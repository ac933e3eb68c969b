// attention-distance, attention-offset and locality: how far attention reaches, averaged over
// queries and images (PiT app. A), and which fraction stays near (CPVT fig. 3 and 6).
#include <algorithm>
#include <array>
#include <numeric>

#include "data/figures/plot.h"
#include "engine/base/csv.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"
#include "report/inspect/command.h"
#include "report/inspect/measures.h"

namespace fovea::inspect {
namespace {

struct Quantity {
  std::string file, title, y_label;
  double Locality::*value;
};

/// Means over the images, and the values of uniform attention. Lengths are fractions of the image's
/// side.
struct LocalityTable {
  std::vector<std::vector<Locality>> heads;  ///< [block][head]
  std::vector<Locality> uniform;             ///< [block]
  std::int64_t images = 0;
  double side = 0;  ///< side of an image in pixels
};

/// Adds one of `count` samples to a mean, with lengths divided by `side`.
void add(Locality& mean, const Locality& one, double side, double count) {
  mean.distance += one.distance / side / count;
  mean.offset += one.offset / side / count;
  mean.near += one.near / count;
}

LocalityTable locality_of(const Inspection& what) {
  const InspectImages images = open_images(what, 32);
  const TokenLayout layout = token_layout(*what.model);
  LocalityTable table;
  table.images = images.size();
  table.side = layout.image_side();
  table.heads.resize(static_cast<std::size_t>(layout.blocks),
                     std::vector<Locality>(static_cast<std::size_t>(layout.heads)));
  table.uniform.resize(static_cast<std::size_t>(layout.blocks));
  const auto count = static_cast<double>(images.size());
  visit_images(what, images, [&](const BlockAttention& block, std::int64_t first) {
    const PatchGrid grid = block.grid();
    const auto row = static_cast<std::size_t>(block.block());
    if (first == 0) add(table.uniform.at(row), uniform_locality(grid, layout), table.side, 1);
    for (std::int64_t image = 0; image < block.images(); ++image) {
      for (std::int64_t head = 0; head < block.heads(); ++head) {
        add(table.heads.at(row)[static_cast<std::size_t>(head)],
            locality_of(block.patch_weights({image, head}), grid, layout), table.side, count);
      }
    }
  });
  return table;
}

/// Mean over the heads of each layer.
std::vector<Locality> means_of(const LocalityTable& table) {
  std::vector<Locality> means(table.heads.size());
  for (std::size_t block = 0; block < means.size(); ++block) {
    const auto count = static_cast<double>(table.heads[block].size());
    for (const Locality& head : table.heads[block]) add(means[block], head, 1, count);
  }
  return means;
}

/// Prints one line per layer, with the value of uniform attention next to each number.
void print_layers(const Inspection& what, const LocalityTable& table) {
  if (!what.print) return;
  std::vector<std::vector<std::string>> rows{
      {"layer", "distance", "uniform", "offset", "uniform", "near", "uniform"}};
  const std::vector<Locality> means = means_of(table);
  for (std::size_t block = 0; block < means.size(); ++block) {
    std::vector<std::string>& row = rows.emplace_back(1, std::to_string(block + 1));
    for (double Locality::*value : {&Locality::distance, &Locality::offset, &Locality::near}) {
      row.push_back(fixed_text(means[block].*value, 4));
      row.push_back(fixed_text(table.uniform[block].*value, 4));
    }
  }
  std::string text = "Means over " + std::to_string(table.images) +
                     " images, all queries and all heads, each followed by that of uniform\n"
                     "attention. Distance and offset are fractions of the image's side; near is "
                     "the\nfraction of attention within one patch.\n" +
                     text_table(rows, "r");
  text.pop_back();
  what.print(text);
}

/// Chart of the layers [begin, end): one line each over its sorted heads.
Chart chart_of(const LocalityTable& table, const Quantity& quantity, std::size_t begin,
               std::size_t end) {
  Chart chart;
  const std::string first = end - begin > 1 ? "s " + std::to_string(begin + 1) + " to " : " ";
  chart.title = quantity.title + ", layer" + first + std::to_string(end);
  chart.x_label = "heads, sorted";
  chart.y_label = quantity.y_label;
  std::vector<double> numbers(table.heads.front().size());
  std::iota(numbers.begin(), numbers.end(), 1.0);
  for (std::size_t block = begin; block < end; ++block) {
    std::vector<double> sorted;
    for (const Locality& head : table.heads[block]) sorted.push_back(head.*quantity.value);
    std::sort(sorted.begin(), sorted.end());
    chart.series.push_back({layer_label(static_cast<std::int64_t>(block)), numbers, sorted});
  }
  const std::vector<double> level(numbers.size(), table.uniform[begin].*quantity.value);
  chart.series.push_back({"uniform attention", numbers, level, Mark::reference});
  return chart;
}

/// Three charts on one scale: the first, middle and last third of the layers.
std::vector<Chart> charts_of(const LocalityTable& table, const Quantity& quantity) {
  const std::size_t blocks = table.heads.size(), parts = blocks < 3 ? 1 : 3;
  std::vector<Chart> charts;
  for (std::size_t part = 0; part < parts; ++part) {
    charts.push_back(chart_of(table, quantity, blocks * part / parts, blocks * (part + 1) / parts));
  }
  return charts;
}

void inspect_heads(const Inspection& what, const Quantity& quantity, OutputFolder& output) {
  const LocalityTable table = locality_of(what);
  Csv csv("layer,head,images,share_of_side,pixels,uniform_share_of_side");
  for (std::size_t block = 0; block < table.heads.size(); ++block) {
    for (std::size_t head = 0; head < table.heads[block].size(); ++head) {
      const double value = table.heads[block][head].*quantity.value;
      csv.row(block + 1, head, table.images, value, value * table.side,
              table.uniform[block].*quantity.value);
    }
  }
  std::vector<Chart> charts = charts_of(table, quantity);
  share_y_axis(charts);
  output.write(quantity.file + ".svg", svg_of_charts(charts));
  output.write(quantity.file + ".csv", csv.text());
  print_layers(what, table);
}

}  // namespace

void attention_distance(const Inspection& what, OutputFolder& output) {
  inspect_heads(what,
                {"attention-distance", "Attention distance", "mean distance / image side",
                 &Locality::distance},
                output);
}

void attention_offset(const Inspection& what, OutputFolder& output) {
  inspect_heads(
      what, {"attention-offset", "Attention offset", "mean offset / image side", &Locality::offset},
      output);
}

void locality(const Inspection& what, OutputFolder& output) {
  const LocalityTable table = locality_of(what);
  const std::vector<Locality> means = means_of(table);
  Csv csv("layer,images,distance,uniform_distance,offset,uniform_offset,near,uniform_near");
  Chart chart{"Attention, means over heads",
              "layer",
              "fraction of the image's side; fraction of attention (near)",
              {}};
  chart.series = {{"distance", {}, {}}, {"offset", {}, {}}, {"near: within one patch", {}, {}}};
  for (std::size_t block = 0; block < means.size(); ++block) {
    const Locality &mean = means[block], &uniform = table.uniform[block];
    csv.row(block + 1, table.images, mean.distance, uniform.distance, mean.offset, uniform.offset,
            mean.near, uniform.near);
    const std::array values{mean.distance, mean.offset, mean.near};
    for (std::size_t i = 0; i < values.size(); ++i) {
      chart.series[i].x.push_back(static_cast<double>(block + 1));
      chart.series[i].y.push_back(values[i]);
    }
  }
  output.write("locality.svg", svg_of_charts({&chart, 1}));
  output.write("locality.csv", csv.text());
  print_layers(what, table);
}

}  // namespace fovea::inspect
