// A drawing for Graphviz as a file: as it is, or drawn.
#pragma once

#include <filesystem>
#include <string_view>

namespace fovea {

/// Throws UsageError unless `file` is named *.dot or *.svg, and where it is an .svg and Graphviz's
/// program `dot` is not on PATH.
void require_graph_file(const std::filesystem::path& file);

/// Writes `dot` to a file that require_graph_file() has accepted; an .svg is drawn by Graphviz.
/// Throws Error where that fails.
void write_graph(const std::filesystem::path& file, std::string_view dot);

}  // namespace fovea
