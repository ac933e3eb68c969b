// Fields for resizing position tables.
#include "train/settings/position_tables.h"

#include <nlohmann/json.hpp>

#include "models/config_reader.h"

namespace fovea {

void add_fields(FieldGroup& group, PositionTableOptions& options) {
  group.choice(
      "pos-resize", &options.resize,
      "how to resize position tables: as in timm (bicubic, antialiased), as in DeiT (bicubic), "
      "or auto: timm for hub folders, else DeiT");
  group.add("pos-grid", &options.grid,
            "HxW, the patch grid of weights that do not record it (default: a square)");
}

void apply(const PositionTableOptions& options, LoadOptions& how) {
  how.pos_resize = options.resize;
  if (options.grid.empty()) return;
  const nlohmann::json grid = parse_config_value(options.grid);
  const bool pair = grid.is_array() && grid.size() == 2 && grid[0].is_number_integer() &&
                    grid[1].is_number_integer();
  constexpr std::int64_t kMax = 1 << 24;  // per axis, as for image sizes
  std::array<std::int64_t, 2> sides{};
  if (pair) sides = grid.get<std::array<std::int64_t, 2>>();
  const auto [height, width] = sides;
  check_usage(height >= 1 && width >= 1 && height <= kMax && width <= kMax, "--pos-grid: got ",
              options.grid, ", expected HxW, patches down and across");
  how.pos_grid = sides;
}

}  // namespace fovea
