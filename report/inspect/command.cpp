// Helpers of the analyses: parsing choices, iterating over images, labels.
#include "report/inspect/command.h"

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea::inspect {
namespace {

/// Parses an integer in [low, high]; `what` starts the error message.
std::int64_t number_in(const std::string& text, std::int64_t low, std::int64_t high,
                       const std::string& what) {
  const std::optional<std::int64_t> value = parse_integer(text);
  check_usage(value && *value >= low && *value <= high, what, ": got ", text,
              ", expected a number from ", low, " to ", high);
  return *value;
}

/// "1-4,8" -> these numbers, each minus `first`.
std::vector<std::int64_t> parse_ranges(const std::string& text, std::int64_t first,
                                       std::int64_t count, const std::string& flag) {
  std::set<std::int64_t> numbers;
  for (const std::string& part : split_text(text, ',')) {
    const std::vector<std::string> ends = split_text(part, '-');
    check_usage(ends.size() <= 2, flag, ": got ", part, ", expected N or N-M");
    const std::int64_t last = first + count - 1;
    const std::int64_t low = number_in(ends.front(), first, last, flag);
    const std::int64_t high = number_in(ends.back(), low, last, flag);
    for (std::int64_t n = low; n <= high; ++n) numbers.insert(n - first);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::vector<std::int64_t> chosen_blocks(const InspectOptions& options, std::int64_t blocks,
                                        const std::string& otherwise) {
  check_usage(options.layers.empty() || options.layer.empty(),
              "inspect: give --layers (from 1) or --layer (from 0), not both");
  if (!options.layer.empty()) return parse_ranges(options.layer, 0, blocks, "--layer");
  const std::string text = options.layers.empty() ? otherwise : options.layers;
  if (text == "all") return parse_ranges("1-" + std::to_string(blocks), 1, blocks, "--layers");
  return parse_ranges(text, 1, blocks, "--layers");
}

std::vector<std::int64_t> chosen_heads(const InspectOptions& options, std::int64_t heads) {
  if (options.head != "all") return parse_ranges(options.head, 0, heads, "--head");
  return parse_ranges("0-" + std::to_string(heads - 1), 0, heads, "--head");
}

Query chosen_query(const InspectOptions& options, const TokenLayout& layout,
                   const PatchGrid& grid) {
  if (options.query == "class") {
    check(layout.class_token,
          "inspect: --query class: the model has no class token, expected center or Y,X");
    return {0, -1, "class token"};
  }
  std::int64_t patch = grid.center();
  if (options.query != "center") {
    const std::vector<std::string> parts = split_text(options.query, ',');
    check_usage(parts.size() == 2, "--query: got ", options.query,
                ", expected center, class or Y,X");
    patch = number_in(parts[0], 0, grid.height - 1, "--query: row") * grid.width +
            number_in(parts[1], 0, grid.width - 1, "--query: column");
  }
  return {layout.prefix + patch, patch,
          "patch (" + std::to_string(patch / grid.width) + ", " +
              std::to_string(patch % grid.width) + ")"};
}

InspectImages open_images(const Inspection& what, std::int64_t otherwise) {
  ImageRequest request;
  request.path = what.options.images;
  request.dataset = what.data;
  request.count = what.options.count > 0 ? what.options.count : otherwise;
  return {request, what.model->info(), {{}, what.normalization, what.crop}};
}

void visit_images(const Inspection& what, const InspectImages& images, const BatchVisitor& visit) {
  const std::int64_t step = std::max<std::int64_t>(what.options.batch_size, 1);
  const std::int64_t blocks = token_layout(*what.model).blocks;
  for (std::int64_t first = 0; first < images.size(); first += step) {
    const std::int64_t count = std::min(step, images.size() - first);
    visit_blocks(*what.model, images.batch(first, count), [&](const BlockAttention& block) {
      visit(block, first);
      if (what.progress) {
        what.progress(first * blocks + count * (block.block() + 1), images.size() * blocks);
      }
    });
  }
}

std::string model_note(const Inspection& what) {
  return what.model->info().name + (what.source.empty() ? "" : ", " + what.source);
}

std::string layer_label(std::int64_t block) { return "layer " + std::to_string(block + 1); }

PictureTile key_tile(const KeyMap& map) {
  PictureTile tile;
  tile.map = paint({map.values, map.grid.width, range_of(map.values), Palette::viridis});
  const auto height = static_cast<double>(map.layout->grid_height);
  const auto width = static_cast<double>(map.layout->grid_width);
  const auto inset = static_cast<double>(map.grid.inset);
  tile.area = {inset / height, inset / width, static_cast<double>(map.grid.height) / height,
               static_cast<double>(map.grid.width) / width};
  return tile;
}

TileArea patch_area(std::int64_t patch, const PatchGrid& grid, const TokenLayout& layout) {
  const auto height = static_cast<double>(layout.grid_height);
  const auto width = static_cast<double>(layout.grid_width);
  return {static_cast<double>(patch / grid.width + grid.inset) / height,
          static_cast<double>(patch % grid.width + grid.inset) / width, 1 / height, 1 / width};
}

}  // namespace fovea::inspect
