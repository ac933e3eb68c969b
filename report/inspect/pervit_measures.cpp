// pervit-nonlocality and pervit-impact: per head, averaged over images (PerViT eq. 12, 13, fig. 7,
// 8).
#include "data/figures/plot.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "report/inspect/command.h"
#include "report/inspect/measures.h"

namespace fovea::inspect {
namespace {

struct HeadMeans {
  std::int64_t block = 0, head = 0;
  Mixture mean;
};

struct Measured {
  std::vector<HeadMeans> heads;  ///< one entry per block and head, in this order
  std::int64_t images = 0;
  bool has_content = true, has_position = false;
};

void add(Mixture& sum, const Mixture& part, double weight) {
  for (const auto member : {&Mixture::omega_c, &Mixture::omega_p, &Mixture::omega_a,
                            &Mixture::psi_c, &Mixture::psi_p}) {
    sum.*member += weight * (part.*member);
  }
}

Measured measure(const Inspection& what) {
  const InspectImages images = open_images(what, 16);
  const TokenLayout layout = token_layout(*what.model);
  Measured measured;
  measured.images = images.size();
  for (std::int64_t i = 0; i < layout.blocks * layout.heads; ++i) {
    measured.heads.push_back({i / layout.heads, i % layout.heads, {}});
  }
  visit_images(what, images, [&](const BlockAttention& block, std::int64_t first) {
    measured.has_content = measured.has_content && block.has_content();
    measured.has_position = measured.has_position || block.has_position();
    const NormalizedDistance distance(block.grid());
    // Without content, the result is the same for all images.
    const std::int64_t count = block.has_content() ? block.images() : (first == 0 ? 1 : 0);
    const double weight = block.has_content() ? 1 / static_cast<double>(images.size()) : 1;
    for (std::int64_t image = 0; image < count; ++image) {
      for (std::int64_t head = 0; head < block.heads(); ++head) {
        HeadMeans& sum =
            measured.heads.at(static_cast<std::size_t>(block.block() * layout.heads + head));
        add(sum.mean, mixture_of(block, {image, head}, distance), weight);
      }
    }
  });
  return measured;
}

struct BlockQuantity {
  std::string title, y_label;
  double Mixture::*value;
};

/// A chart with a line through the means of the heads, and one bar per head.
Chart chart_of(const Measured& measured, const BlockQuantity& quantity) {
  Series means{"mean of the heads", {}, {}};
  std::vector<Series> heads;
  for (const HeadMeans& entry : measured.heads) {
    const auto head = static_cast<std::size_t>(entry.head);
    if (heads.size() <= head) heads.push_back({head == 0 ? "heads" : "", {}, {}, Mark::bar});
    const double layer = static_cast<double>(entry.block + 1), value = entry.mean.*quantity.value;
    heads[head].x.push_back(layer);
    heads[head].y.push_back(value);
    if (head == 0) {
      means.x.push_back(layer);
      means.y.push_back(0);
    }
    means.y.back() += value;
  }
  for (double& y : means.y) y /= static_cast<double>(heads.size());
  Chart chart{quantity.title, "layer", quantity.y_label, {std::move(means)}};
  chart.series.insert(chart.series.end(), heads.begin(), heads.end());
  return chart;
}

std::vector<Chart> charts_of(const Measured& measured,
                             const std::vector<BlockQuantity>& quantities) {
  std::vector<Chart> charts;
  charts.reserve(quantities.size());
  for (const BlockQuantity& quantity : quantities) charts.push_back(chart_of(measured, quantity));
  return charts;
}

}  // namespace

void pervit_nonlocality(const Inspection& what, OutputFolder& output) {
  const Measured measured = measure(what);
  const std::string y_label = "nonlocality (normalised distance)";
  std::vector<BlockQuantity> quantities;
  if (measured.has_content) {
    quantities.push_back({"Content attention", y_label, &Mixture::omega_c});
  }
  if (measured.has_position) {
    quantities.push_back({"Position attention", y_label, &Mixture::omega_p});
  }
  if (measured.has_content && measured.has_position) {
    quantities.push_back({"Mixed attention", y_label, &Mixture::omega_a});
  }
  Csv csv("layer,head,images,omega_content,omega_position,omega_mixed");
  for (const HeadMeans& entry : measured.heads) {
    const Mixture& m = entry.mean;
    csv.row(entry.block + 1, entry.head, measured.images, m.omega_c, m.omega_p, m.omega_a);
  }
  std::vector<Chart> charts = charts_of(measured, quantities);
  share_y_axis(charts);
  output.write("pervit-nonlocality.svg", svg_of_charts(charts));
  output.write("pervit-nonlocality.csv", csv.text());
}

void pervit_impact(const Inspection& what, OutputFolder& output) {
  const Measured measured = measure(what);
  check(measured.has_position, "inspect: ", what.model->info().name,
        " has no position attention, expected PerViT (pervit_tiny_224) or a model with a "
        "relative position encoding");
  check(measured.has_content, "inspect: ", what.model->info().name, " has no content attention");
  Csv csv("layer,head,images,impact_position,impact_content");
  for (const HeadMeans& entry : measured.heads) {
    csv.row(entry.block + 1, entry.head, measured.images, entry.mean.psi_p, entry.mean.psi_c);
  }
  const std::vector<Chart> charts =
      charts_of(measured, {{"Impact of position", "1 / |mixed - position|", &Mixture::psi_p},
                           {"Impact of content", "1 / |mixed - content|", &Mixture::psi_c}});
  output.write("pervit-impact.svg", svg_of_charts(charts));
  output.write("pervit-impact.csv", csv.text());
}

}  // namespace fovea::inspect
