// pos-embed and peg-kernels: analyses of parameters alone.
#include <cmath>

#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "models/cpvt.h"
#include "report/inspect/command.h"

namespace fovea::inspect {
namespace {

/// Rows scaled to unit length; zero rows are unchanged.
std::vector<double> unit_rows(std::vector<double> table, std::int64_t width) {
  for (std::size_t at = 0; at < table.size(); at += static_cast<std::size_t>(width)) {
    double squares = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
      squares += table[at + i] * table[at + i];
    }
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) table[at + i] *= factor;
  }
  return table;
}

/// table [N, D] -> cosines [N, N].
std::vector<double> cosines_of(const std::vector<double>& table, std::int64_t width) {
  const std::vector<double> rows = unit_rows(table, width);
  const auto D = static_cast<std::size_t>(width), N = rows.size() / D;
  std::vector<double> cosines(N * N);
  for (std::size_t a = 0; a < N; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < D; ++i) sum += rows[a * D + i] * rows[b * D + i];
      cosines[a * N + b] = cosines[b * N + a] = sum;
    }
  }
  return cosines;
}

/// Labels "0", "1", ... of tiles `step` pixels apart, at least 22 pixels from label to label.
std::vector<std::string> numbers_every(std::int64_t count, double step) {
  const auto every = static_cast<std::int64_t>(std::ceil(22 / step));
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    labels.push_back(i % every == 0 ? std::to_string(i) : "");
  }
  return labels;
}

/// Row `index` of a matrix with rows of `size` values.
std::span<const double> map_of(const std::vector<double>& maps, std::int64_t index,
                               std::int64_t size) {
  return std::span(maps).subspan(static_cast<std::size_t>(index * size),
                                 static_cast<std::size_t>(size));
}

std::string draw_similarities(const Inspection& what, const TokenLayout& layout,
                              const std::vector<double>& cosines) {
  const std::int64_t height = layout.grid_height, width = layout.grid_width;
  const auto cells = static_cast<double>(std::max(width, height));
  TileGrid grid;
  grid.title = "Similarity of position embeddings";
  grid.notes = {model_note(what),
                "Each map: cosine similarity of one position's embedding with all positions."};
  grid.bar = color_bar(Palette::diverging, {-1, 1}, "cosine similarity");
  // Whole pixels per cell; all tiles together take about 760.
  grid.side = cells * std::max(1.0, std::floor(760 / cells / cells));
  grid.aspect = static_cast<double>(height) / static_cast<double>(width);
  grid.gap = 3;
  grid.x_label = "column of the position";
  grid.y_label = "row of the position";
  grid.column_labels = numbers_every(width, grid.side);
  grid.row_labels = numbers_every(height, grid.side);
  for (std::int64_t q = 0; q < height * width; ++q) {
    if (q % width == 0) grid.rows.emplace_back();
    const std::span<const double> map = map_of(cosines, q, height * width);
    grid.rows.back().push_back({paint({map, width, {-1, 1}, Palette::diverging})});
  }
  return svg_of_tiles(grid);
}

/// One generator's depthwise kernels, or the diagonal (channel to itself) of a full convolution.
struct PegKernels {
  std::int64_t peg = 0, channels = 0, size = 0;
  std::vector<double> values;  ///< [channel, y, x]
  bool is_full = false;
};

PegKernels kernels_of(const Tensor& weight, std::int64_t peg) {
  check(weight.rank() == 4, "inspect: peg-kernels: got a weight ", weight.shape(),
        ", expected [D, 1, k, k] or [D, D, k, k]");
  PegKernels kernels{peg, weight.size(0), weight.size(2), {}, weight.size(1) > 1};
  const std::vector<double> all = weight.to_vector();
  const auto taps = kernels.size * kernels.size;
  for (std::int64_t c = 0; c < kernels.channels; ++c) {
    const std::int64_t from = (c * weight.size(1) + (kernels.is_full ? c : 0)) * taps;
    kernels.values.insert(kernels.values.end(), all.begin() + from, all.begin() + from + taps);
  }
  return kernels;
}

std::vector<double> mean_magnitudes(const PegKernels& kernels) {
  std::vector<double> means(static_cast<std::size_t>(kernels.size * kernels.size));
  for (std::size_t i = 0; i < kernels.values.size(); ++i) {
    means[i % means.size()] += std::abs(kernels.values[i]) / static_cast<double>(kernels.channels);
  }
  return means;
}

std::string draw_kernels(const Inspection& what, const PegKernels& kernels) {
  const ColorRange range = symmetric_range_of(kernels.values);
  TileGrid grid;
  grid.title = "Kernels of position encoding generator " + std::to_string(kernels.peg);
  grid.notes = {model_note(what), kernels.is_full
                                      ? "Kernels from each channel to itself, row by row."
                                      : "One kernel per channel, row by row."};
  grid.bar = color_bar(Palette::diverging, range, "weight");
  grid.side = std::max(36.0, static_cast<double>(kernels.size) * 4);
  grid.gap = 5;
  grid.y_label = "channel of the row's first kernel";
  const auto columns =  // wider than tall
      static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(kernels.channels) * 1.4)));
  for (std::int64_t c = 0; c < kernels.channels; ++c) {
    if (c % columns == 0) {
      grid.rows.emplace_back();
      grid.row_labels.push_back(std::to_string(c));
    }
    const std::span<const double> kernel = map_of(kernels.values, c, kernels.size * kernels.size);
    grid.rows.back().push_back({paint({kernel, kernels.size, range, Palette::diverging})});
  }
  return svg_of_tiles(grid);
}

/// k x k cells, with their values if there is room.
std::string draw_magnitudes(const Inspection& what, const PegKernels& kernels,
                            const std::vector<double>& means) {
  const bool has_numbers = kernels.size <= 9;
  const ColorRange range{0, range_of(means).high};
  TileGrid grid;
  grid.title = "Mean |w| per tap, generator " + std::to_string(kernels.peg);
  grid.notes = {model_note(what), "Mean over " + std::to_string(kernels.channels) + " channels."};
  grid.bar = color_bar(Palette::viridis, range, "mean |w|");
  grid.side = has_numbers ? 56 : 20;
  grid.gap = has_numbers ? 4 : 1;
  grid.x_label = "column of the kernel";
  grid.y_label = "row of the kernel";
  grid.column_labels = grid.row_labels = numbers_every(kernels.size, grid.side);
  for (std::int64_t y = 0; y < kernels.size; ++y) {
    std::vector<PictureTile>& row = grid.rows.emplace_back();
    for (std::int64_t x = 0; x < kernels.size; ++x) {
      const std::vector<double> mean{means[static_cast<std::size_t>(y * kernels.size + x)]};
      PictureTile tile{paint({mean, 1, range, Palette::viridis})};
      if (has_numbers) tile.caption = short_number(mean.front());
      row.push_back(std::move(tile));
    }
  }
  return svg_of_tiles(grid);
}

/// Kernels of generator `peg` of CPVT or of a detector's encoder; undefined if there is none.
Tensor filters_of(const Model& model, std::int64_t peg) {
  const Tensor weight = peg_weight(model, peg);
  if (weight.defined()) return weight;
  const std::string which = peg == 0 ? "" : "." + std::to_string(peg);
  return model.store().find("transformer.encoder.peg" + which + ".proj.0.weight");
}

}  // namespace

void pos_embed(const Inspection& what, OutputFolder& output) {
  const Tensor table = what.model->store().find(Role::position_table);
  check(table.defined(), "inspect: ", what.model->info().name,
        " has no pos_embed; use peg-kernels for CPVT, pervit-phi for PerViT");
  const TokenLayout layout = token_layout(*what.model);
  const std::int64_t N = layout.grid_height * layout.grid_width;
  const std::int64_t D = table.size(-1), prefix = table.numel() / D - N;
  check(prefix >= 0, "inspect: pos_embed: got ", table.shape(), " for ", N, " patches");
  std::vector<double> rows = table.to_vector();
  rows.erase(rows.begin(), rows.begin() + prefix * D);
  const std::vector<double> cosines = cosines_of(rows, D);
  Csv csv;
  for (std::int64_t q = 0; q < N; ++q) csv.row_of(map_of(cosines, q, N));
  output.write("pos-embed.svg", draw_similarities(what, layout, cosines));
  output.write("pos-embed.csv", csv.text());
}

void peg_kernels(const Inspection& what, OutputFolder& output) {
  check(filters_of(*what.model, 0).defined(), "inspect: ", what.model->info().name,
        " has no position encoding generator, expected CPVT (cpvt_tiny_peg0_224) or a detector "
        "with --encoder-pos peg");
  Csv csv("peg,channel,y,x,weight"), means_csv("peg,y,x,mean_magnitude");
  for (std::int64_t peg = 0; filters_of(*what.model, peg).defined(); ++peg) {
    const PegKernels kernels = kernels_of(filters_of(*what.model, peg), peg);
    const std::vector<double> means = mean_magnitudes(kernels);
    const std::int64_t k = kernels.size;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(kernels.values.size()); ++i) {
      csv.row(peg, i / (k * k), i / k % k, i % k, kernels.values[static_cast<std::size_t>(i)]);
    }
    for (std::int64_t i = 0; i < k * k; ++i) {
      means_csv.row(peg, i / k, i % k, means[static_cast<std::size_t>(i)]);
    }
    const std::string name = "peg-kernels-" + std::to_string(peg);
    output.write(name + ".svg", draw_kernels(what, kernels));
    output.write(name + "-mean.svg", draw_magnitudes(what, kernels, means));
  }
  output.write("peg-kernels.csv", csv.text());
  output.write("peg-kernels-mean.csv", means_csv.text());
}

}  // namespace fovea::inspect
