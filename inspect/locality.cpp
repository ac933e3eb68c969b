// attention-distance and attention-offset: how far each head looks, averaged over queries and
// images (PiT app. A).
#include <algorithm>
#include <numeric>

#include "base/csv.h"
#include "base/error.h"
#include "figures/plot.h"
#include "inspect/command.h"
#include "inspect/measures.h"

namespace fovea::inspect {
namespace {

struct Quantity {
  std::string file, title, y_label;
  double Locality::*value;
};

/// Means over the images, [block][head], and what uniform attention would give, [block].
struct Table {
  std::vector<std::vector<double>> heads;
  std::vector<double> uniform;
  std::int64_t images = 0;
};

Table measure(const Inspection& what, const Quantity& quantity, const InspectImages& images) {
  const TokenLayout layout = token_layout(*what.model);
  const double side = layout.image_side();
  Table table;
  table.images = images.size();
  table.heads.resize(static_cast<std::size_t>(layout.blocks),
                     std::vector<double>(static_cast<std::size_t>(layout.heads)));
  table.uniform.resize(static_cast<std::size_t>(layout.blocks));
  visit_images(what, images, [&](const BlockAttention& block, std::int64_t first) {
    const PatchGrid grid = block.grid();
    const auto row = static_cast<std::size_t>(block.block());
    if (first == 0) table.uniform.at(row) = uniform_locality(grid, layout).*quantity.value / side;
    for (std::int64_t image = 0; image < block.images(); ++image) {
      for (std::int64_t head = 0; head < block.heads(); ++head) {
        const Locality locality = locality_of(block.patch_weights({image, head}), grid, layout);
        table.heads.at(row)[static_cast<std::size_t>(head)] +=
            locality.*quantity.value / side / static_cast<double>(images.size());
      }
    }
  });
  return table;
}

/// The layers [begin, end) as lines over their sorted heads.
Chart chart_of(const Table& table, const Quantity& quantity, std::size_t begin, std::size_t end) {
  Chart chart;
  const std::string first = end - begin > 1 ? "s " + std::to_string(begin + 1) + " to " : " ";
  chart.title = quantity.title + ", layer" + first + std::to_string(end);
  chart.x_label = "heads, sorted";
  chart.y_label = quantity.y_label;
  std::vector<double> numbers(table.heads.front().size());
  std::iota(numbers.begin(), numbers.end(), 1.0);
  for (std::size_t block = begin; block < end; ++block) {
    std::vector<double> sorted = table.heads[block];
    std::sort(sorted.begin(), sorted.end());
    chart.series.push_back({layer_label(static_cast<std::int64_t>(block)), numbers, sorted});
  }
  const std::vector<double> level(numbers.size(), table.uniform[begin]);
  chart.series.push_back({"uniform attention", numbers, level, Mark::reference});
  return chart;
}

/// Three pictures: the first, the middle and the last third of the layers, on one scale.
std::vector<Chart> charts_of(const Table& table, const Quantity& quantity) {
  const std::size_t blocks = table.heads.size(), parts = blocks < 3 ? 1 : 3;
  std::vector<Chart> charts;
  for (std::size_t part = 0; part < parts; ++part) {
    charts.push_back(chart_of(table, quantity, blocks * part / parts, blocks * (part + 1) / parts));
  }
  return charts;
}

void inspect_locality(const Inspection& what, const Quantity& quantity, OutputFolder& output) {
  const InspectImages images = open_images(what, 32);
  const Table table = measure(what, quantity, images);
  Csv csv("layer,head,images,share_of_side,pixels,uniform_share_of_side");
  const double side = token_layout(*what.model).image_side();
  for (std::size_t block = 0; block < table.heads.size(); ++block) {
    for (std::size_t head = 0; head < table.heads[block].size(); ++head) {
      const double value = table.heads[block][head];
      csv.row(block + 1, head, table.images, value, value * side, table.uniform[block]);
    }
  }
  std::vector<Chart> charts = charts_of(table, quantity);
  share_y_axis(charts);
  output.write(quantity.file + ".svg", svg_of_charts(charts));
  output.write(quantity.file + ".csv", csv.text());
}

}  // namespace

void attention_distance(const Inspection& what, OutputFolder& output) {
  inspect_locality(what,
                   {"attention-distance", "Attention distance", "mean distance / image side",
                    &Locality::distance},
                   output);
}

void attention_offset(const Inspection& what, OutputFolder& output) {
  inspect_locality(
      what, {"attention-offset", "Attention offset", "mean offset / image side", &Locality::offset},
      output);
}

}  // namespace fovea::inspect
