// Finding the grid that a file's tensor is laid out on, and resizing the tensor to another grid.
#include "models/checkpoints/grid_fit.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "models/layers/pos_embed.h"
#include "ops/resize.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// True for the shape of a position table, [1, prefix + patches, D].
bool is_token_table(const Shape& shape) { return shape.rank() == 3 && shape[0] == 1; }

/// True for tables that sincos_table() fills. Other fixed parameters are random.
bool is_computed(const Parameter& p) { return p.is_fixed && p.role == Role::position_table; }

bool is_of_tokens(const Parameter& p) {
  return p.role == Role::position_table || p.role == Role::position_encoding;
}

/// True if both shapes have equally many places: columns of a matrix, else the first two axes.
bool same_places(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  if (a.rank() == 2) return a[1] == b[1];
  for (int axis = 0; axis < std::min(a.rank(), 2); ++axis) {
    if (a[axis] != b[axis]) return false;
  }
  return true;
}

std::string grid_text(const TokenGrid& grid) { return concat(grid.size[0], "x", grid.size[1]); }

/// "gh x gw", preceded by the number of prefix tokens if any.
std::string layout_text(const TokenGrid& grid) {
  return grid.prefix == 0 ? grid_text(grid) : concat(grid.prefix, " + ", grid_text(grid));
}

std::string shape_mismatch(const Parameter& p, const Tensor& file) {
  return concat(p.name, " is ", file.shape(), ", expected ", p.tensor.shape());
}

std::optional<std::array<std::int64_t, 2>> square_of(std::int64_t patches) {
  if (patches < 1) return {};
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(patches))));
  if (side * side != patches) return {};
  return {{side, side}};
}

/// True for a square map [P, P, C]: a grid with a margin of equal width on each side.
bool is_map(const Shape& shape) {
  return shape.rank() == 3 && shape[0] > 1 && shape[0] == shape[1];
}

/// Number of places in both margins of a map, along one axis.
std::int64_t surplus_of(const Shape& map, const TokenGrid& grid) { return map[0] - grid.size[0]; }

/// Resizes x [1, C, P, P] along one axis so that `size` places lie between its margins. Margins are
/// a number of places and keep their width.
Tensor resize_between(const Tensor& x, int axis, std::int64_t margin, std::int64_t size,
                      const ops::ResizeOptions& how) {
  const std::int64_t end = x.size(axis) - margin;
  std::array<std::int64_t, 2> to{x.size(2), x.size(3)};
  to[static_cast<std::size_t>(axis - 2)] = size;
  const Tensor middle = ops::resize(ops::slice(x, axis, margin, end).contiguous(), to, how);
  if (margin == 0) return middle;
  return ops::cat({ops::slice(x, axis, 0, margin), middle, ops::slice(x, axis, end, x.size(axis))},
                  axis);
}

/// Resizes a map [P, P, C] from its grid to another one.
Tensor resize_map(const Tensor& map, std::int64_t margin, const TokenGrid& to,
                  const ops::ResizeOptions& how) {
  Tensor x = ops::unsqueeze(ops::permute(map, {2, 0, 1}), 0);
  for (const int axis : {2, 3}) {
    x = resize_between(x, axis, margin, to.size[static_cast<std::size_t>(axis - 2)], how);
  }
  return ops::permute(ops::squeeze(x, 0), {1, 2, 0}).contiguous();
}

constexpr double kRounding = 4e-3;  // bf16 rounding error near one

/// Largest absolute difference between a file's table and the table computed for a grid.
double difference_from_computed(const Tensor& file, const TokenGrid& grid) {
  const Tensor computed = empty(file.shape(), {DType::f64, {}});
  sincos_table(grid.size, grid.prefix)(computed, {});
  const std::vector<double> a = file.to_vector(), b = computed.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

/// Finds the grid of a computed table. Its values identify the grid uniquely.
std::optional<TokenGrid> grid_shown_by(const Tensor& table, std::int64_t prefix) {
  if (table.size(2) % 4 != 0) return {};  // sincos_table() needs a multiple of 4
  const std::int64_t patches = table.size(1) - prefix;
  for (std::int64_t height = 1; height <= patches; ++height) {
    const TokenGrid grid{{height, patches / height}, prefix};
    if (grid.patches() != patches) continue;
    if (difference_from_computed(table, grid) <= kRounding) return grid;
  }
  return {};
}

}  // namespace

GridFit::GridFit(const WeightsOrigin& origin, const GridFitOptions& options)
    : options_(options),
      resize_(options.resize == PosResize::automatic ? origin.resize : options.resize),
      stated_(parameters_of(origin)) {}

Fitted GridFit::fit(const Parameter& p, const Tensor& file) const {
  const std::optional<Source> from = source_of(p, file);
  if (!from) return {.mismatch = shape_mismatch(p, file) + way_out(p, file)};
  Fitted fitted;
  if (is_computed(p)) {
    fitted = fit_computed(p, file, from->grid);
  } else if (from->grid == p.grid) {
    fitted.values = file;
  } else {
    fitted = resized(p, file, from->grid);
  }
  if (fitted.values.defined() && fitted.values.shape() != p.tensor.shape()) {
    return {.mismatch = shape_mismatch(p, file)};
  }
  if (!from->note.empty()) fitted.notes.insert(fitted.notes.begin(), from->note);
  return fitted;
}

std::optional<GridFit::Source> GridFit::source_of(const Parameter& p, const Tensor& file) const {
  const Shape& shape = file.shape();
  if (options_.grid && is_of_tokens(p)) {
    const TokenGrid said{*options_.grid, prefix_of(p, file)};
    const std::int64_t patches = is_token_table(shape) ? shape[1] - said.prefix : said.patches();
    check(patches == said.patches(), "--pos-grid: got ", grid_text(said), ", which has ",
          said.patches(), " patches, but ", p.name, " has ", patches);
    return Source{said};
  }
  const auto stated = stated_.find(p.name);
  if (stated != stated_.end() && same_places(stated->second.tensor.shape(), shape)) {
    return Source{stated->second.grid};
  }
  if (p.role == Role::position_table && is_token_table(shape)) {
    const std::optional<TokenGrid> shown = grid_shown_by(file, prefix_of(p, file));
    if (shown) return Source{*shown};
  }
  return guess(p, file);
}

/// Guesses the grid from the number of patches alone.
std::optional<GridFit::Source> GridFit::guess(const Parameter& p, const Tensor& file) const {
  const Shape& shape = file.shape();
  if (is_map(shape) && is_map(p.tensor.shape())) {
    const std::int64_t side = shape[0] - surplus_of(p.tensor.shape(), p.grid);
    return Source{{{side, side}}};
  }
  if (!is_token_table(shape)) {
    if (shape == p.tensor.shape()) return Source{p.grid};
    return {};
  }
  const std::int64_t prefix = prefix_of(p, file), patches = shape[1] - prefix;
  if (prefix != p.grid.prefix) return {};
  const auto source = [&](const std::array<std::int64_t, 2>& grid, const char* what) {
    const TokenGrid taken{grid, prefix};
    return Source{taken, concat("does not record the grid of its ", patches, " patches; using ",
                                what, grid_text(taken), " (--pos-grid HxW sets another)")};
  };
  if (const auto square = square_of(patches)) return source(*square, "the square ");
  if (shape == p.tensor.shape()) return source(p.grid.size, "the model's own ");
  return {};
}

/// Prefix tokens of a file's table; 0 for an embedding that covers only the patches.
std::int64_t GridFit::prefix_of(const Parameter& p, const Tensor& file) const {
  const bool as_the_models = p.grid.prefix == 0 || file.shape() == p.tensor.shape();
  return as_the_models ? p.grid.prefix : options_.prefix;
}

/// Advice to the user when the grid is unknown.
std::string GridFit::way_out(const Parameter& p, const Tensor& file) const {
  const bool helps =
      is_of_tokens(p) && is_token_table(file.shape()) && prefix_of(p, file) == p.grid.prefix;
  return helps ? ", and the grid of its patches is not recorded; set it with --pos-grid HxW" : "";
}

Fitted GridFit::fit_computed(const Parameter& p, const Tensor& file, const TokenGrid& from) const {
  if (file.shape() != Shape{1, from.tokens(), p.tensor.size(2)}) {
    return {.mismatch = shape_mismatch(p, file)};
  }
  const double difference = difference_from_computed(file, from);
  const bool same = difference <= kRounding;
  const auto stated = stated_.find(p.name);
  const bool was_computed = stated != stated_.end() && is_computed(stated->second);
  const std::string differs = concat(p.name, " differs by up to ", difference,
                                     " from the sin-cos table for ", grid_text(from), " patches");
  if (!same && !was_computed) {
    return {.mismatch =
                differs +
                " that this model computes; a model with pos_embed learned accepts other values"};
  }
  Fitted fitted;
  if (from == p.grid) {
    fitted.values = file;
  } else if (same && !options_.resize_fixed) {
    fitted.notes.push_back(concat(p.name, " was computed for ", grid_text(p.grid),
                                  " patches; the file's is for ", grid_text(from)));
  } else {
    fitted = resized(p, file, from);
  }
  if (!same)
    fitted.notes.push_back(differs +
                           "; the file's values are used, because its model was trained with them");
  return fitted;
}

Fitted GridFit::resized(const Parameter& p, const Tensor& file, const TokenGrid& from) const {
  const bool antialias = resize_ == PosResize::timm;
  const ops::ResizeOptions how{ops::ResizeMode::bicubic, antialias};
  const Shape &shape = file.shape(), &own = p.tensor.shape();
  const NoGrad no_grad;
  const Tensor values = file.to(p.tensor.dtype());
  Fitted fitted;
  if (is_token_table(shape) && from.prefix == p.grid.prefix) {
    fitted.values = ops::resample_pos_embed(values, from.prefix, from.size, p.grid.size, how);
  } else if (is_map(shape) && is_map(own) && from.size[0] > 0 && from.size[0] == from.size[1] &&
             surplus_of(shape, from) == surplus_of(own, p.grid)) {
    fitted.values = resize_map(values, surplus_of(own, p.grid) / 2, p.grid, how);
  } else {
    return {.mismatch = concat(p.name, " has a layout of ", layout_text(from),
                               " positions, expected ", layout_text(p.grid))};
  }
  fitted.resized = true;
  fitted.notes.push_back(
      concat(p.name, " was resized from ", grid_text(from), " to ", grid_text(p.grid), " patches",
             antialias ? " as in timm (bicubic, antialiased); --pos-resize deit resizes "
                         "without antialiasing"
                       : " as in DeiT's code (bicubic); --pos-resize timm adds antialiasing"));
  return fitted;
}

}  // namespace fovea
