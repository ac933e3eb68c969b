// attention: one query's attention as maps over the image, and with --matrix all rows between
// patches (CPVT fig. 3 to 6, PiT fig. 8).
#include <algorithm>

#include "engine/base/csv.h"
#include "engine/base/text.h"
#include "report/inspect/command.h"

namespace fovea::inspect {
namespace {

struct HeadMap {
  std::string name;  ///< "mean", "head 0"
  std::vector<double> values;
};

/// The heads, after their mean if there are several.
std::vector<HeadMap> with_mean(std::vector<HeadMap> heads) {
  if (heads.size() < 2) return heads;
  HeadMap mean{"mean", std::vector<double>(heads.front().values.size())};
  for (const HeadMap& head : heads) {
    for (std::size_t i = 0; i < mean.values.size(); ++i) {
      mean.values[i] += head.values[i] / static_cast<double>(heads.size());
    }
  }
  heads.insert(heads.begin(), std::move(mean));
  return heads;
}

std::string head_name(std::int64_t head) { return "head " + std::to_string(head); }

bool is_chosen(const std::vector<std::int64_t>& chosen, std::int64_t number) {
  return std::find(chosen.begin(), chosen.end(), number) != chosen.end();
}

/// Common part of the file names: "attention-003".
std::string stem(const std::string& what, std::int64_t image) {
  return what + "-" + three_digits(image);
}

constexpr std::int64_t kRawPixels = 256;  // PNGs of maps are enlarged to at most this width

std::string raw_png(const HeatMap& map) {
  return encode_png(paint(map, std::max<std::int64_t>(1, kRawPixels / map.width)));
}

/// The picture of one image, built block by block, one row each.
class QueryPicture {
 public:
  QueryPicture(const Inspection& what, const InspectImages& images, std::int64_t image,
               OutputFolder& output)
      : what_(what),
        output_(output),
        image_(image),
        picture_(images.picture(image)),
        csv_("layer,head,query,key,key_y,key_x,weight") {
    pale_ = pale(picture_);
    grid_.title = "Attention on " + images.name(image);
    grid_.bar = relative_color_bar("attention weight, each map in its own range");
    grid_.aspect = static_cast<double>(picture_.height) / static_cast<double>(picture_.width);
  }

  void add(const BlockAttention& block, std::int64_t within_batch) {
    const PatchGrid grid = block.grid();
    const Query query = chosen_query(what_.options, block.layout(), grid);
    std::vector<HeadMap> maps;
    for (const std::int64_t head : chosen_heads(what_.options, block.heads())) {
      const SquareMap weights = block.weights({within_batch, head});
      const std::span<const float> row = weights.row(query.token);
      maps.push_back({head_name(head), {row.begin(), row.end()}});
    }
    maps = with_mean(std::move(maps));
    if (grid_.rows.empty()) {
      label_columns(maps, query);
    }
    add_row(block, query, maps);
    grid_.row_labels.push_back(layer_label(block.block()));
  }

  void write() {
    output_.write(stem("attention", image_) + ".svg", svg_of_tiles(grid_));
    output_.write(stem("attention", image_) + ".csv", csv_.text());
  }

 private:
  void label_columns(const std::vector<HeadMap>& maps, const Query& query) {
    grid_.notes = {model_note(what_),
                   "Weights of the query " + query.label +
                       " (red square) over all keys; below each map, its smallest "
                       "and largest weight."};
    grid_.column_labels = {"image"};
    for (const HeadMap& map : maps) grid_.column_labels.push_back(map.name);
  }

  void add_row(const BlockAttention& block, const Query& query, const std::vector<HeadMap>& maps) {
    const TokenLayout& layout = block.layout();
    const PatchGrid grid = block.grid();
    PictureTile first;
    first.map = picture_;
    if (query.patch >= 0) first.mark = patch_area(query.patch, grid, layout);
    std::vector<PictureTile> row{std::move(first)};
    for (const HeadMap& map : maps) {
      const std::vector<double> patches(map.values.begin() + layout.prefix, map.values.end());
      const ColorRange range = range_of(patches);
      PictureTile tile = key_tile({patches, grid, &layout});
      tile.background = pale_;
      tile.mark = row.front().mark;
      tile.caption = short_number(range.low) + " to " + short_number(range.high);
      row.push_back(std::move(tile));
      note(block, query, map);
    }
    grid_.rows.push_back(std::move(row));
    const std::vector<double>& shown = maps.front().values;
    const std::vector<double> patches(shown.begin() + layout.prefix, shown.end());
    output_.write(stem("attention", image_) + "-layer" + three_digits(block.block() + 1) + ".png",
                  raw_png({patches, grid.width, range_of(patches), Palette::viridis}));
  }

  void note(const BlockAttention& block, const Query& query, const HeadMap& map) {
    const std::int64_t prefix = block.layout().prefix, width = block.grid().width;
    for (std::int64_t key = 0; key < static_cast<std::int64_t>(map.values.size()); ++key) {
      const std::int64_t patch = key - prefix;
      const bool is_patch = patch >= 0;
      csv_.row(block.block() + 1, map.name, query.token, key,
               is_patch ? std::to_string(patch / width) : "",
               is_patch ? std::to_string(patch % width) : "",
               map.values[static_cast<std::size_t>(key)]);
    }
  }

  const Inspection& what_;
  OutputFolder& output_;
  std::int64_t image_;
  Image picture_, pale_;
  TileGrid grid_;
  Csv csv_;
};

/// Full attention matrices of the chosen layers for one image.
class MatrixPicture {
 public:
  MatrixPicture(const Inspection& what, const std::string& name, std::int64_t image,
                OutputFolder& output)
      : what_(what), output_(output), image_(image) {
    grid_.title = "Attention between patches, " + name;
    grid_.notes = {
        model_note(what),
        "Rows are queries, columns are keys, both in row-major grid order; rows sum to one."};
    grid_.x_label = "key patch";
    grid_.y_label = "query patch";
    grid_.bar = relative_color_bar("attention weight, each matrix in its own range");
    grid_.side = 260;
  }

  void add(const BlockAttention& block, std::int64_t within_batch) {
    std::vector<HeadMap> maps;
    for (const std::int64_t head : chosen_heads(what_.options, block.heads())) {
      const SquareMap weights = block.patch_weights({within_batch, head});
      maps.push_back({head_name(head), {weights.values.begin(), weights.values.end()}});
    }
    const std::int64_t N = block.grid().size();
    std::vector<PictureTile> row;
    for (const HeadMap& map : with_mean(std::move(maps))) {
      const ColorRange range = range_of(map.values);
      const HeatMap heat{map.values, N, range, Palette::viridis};
      // "head 0" becomes "-0".
      const std::string name = stem("matrix", image_) + "-layer" + three_digits(block.block() + 1) +
                               (map.name == "mean" ? "-mean" : "-" + map.name.substr(5));
      PictureTile tile;
      tile.map = paint(heat);
      tile.caption = map.name + ", " + short_number(range.low) + " to " + short_number(range.high);
      row.push_back(std::move(tile));
      output_.write(name + ".png", raw_png(heat));
      output_.write(name + ".csv", rows_as_csv(map.values, N));
    }
    grid_.rows.push_back(std::move(row));
    grid_.row_labels.push_back(layer_label(block.block()));
  }

  void write() { output_.write(stem("matrix", image_) + ".svg", svg_of_tiles(grid_)); }

 private:
  /// One row of keys per query, without a header, as numpy.loadtxt() reads it.
  static std::string rows_as_csv(const std::vector<double>& values, std::int64_t N) {
    Csv csv;
    for (std::int64_t q = 0; q < N; ++q) {
      csv.row_of(
          std::span(values).subspan(static_cast<std::size_t>(q * N), static_cast<std::size_t>(N)));
    }
    return csv.text();
  }

  const Inspection& what_;
  OutputFolder& output_;
  std::int64_t image_;
  TileGrid grid_;
};

}  // namespace

void attention(const Inspection& what, OutputFolder& output) {
  const TokenLayout layout = token_layout(*what.model);
  const InspectImages images = open_images(what, 4);
  // CPVT's figures of whole matrices show layer 2.
  const std::vector<std::int64_t> blocks =
      chosen_blocks(what.options, layout.blocks, what.options.matrix ? "2" : "all");
  for (std::int64_t i = 0; i < images.size(); ++i) {
    const Tensor input = images.batch(i, 1);
    const auto show_with = [&](auto picture) {
      visit_blocks(*what.model, input, [&](const BlockAttention& block) {
        if (is_chosen(blocks, block.block())) picture.add(block, 0);
      });
      picture.write();
    };
    if (what.options.matrix) {
      show_with(MatrixPicture(what, images.name(i), i, output));
    } else {
      show_with(QueryPicture(what, images, i, output));
    }
    if (what.progress) what.progress(i + 1, images.size());
  }
}

}  // namespace fovea::inspect
