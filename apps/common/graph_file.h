// Writes a Graphviz drawing to a file, as .dot text or rendered as .svg.
#pragma once

#include <filesystem>
#include <string_view>

namespace fovea {

/// Throws UsageError unless `file` is named *.dot or *.svg, or if it is an .svg and Graphviz's
/// program `dot` is not on PATH.
void require_graph_file(const std::filesystem::path& file);

/// Writes `dot` to a file accepted by require_graph_file(); Graphviz renders an .svg. Throws Error
/// if that fails.
void write_graph(const std::filesystem::path& file, std::string_view dot);

}  // namespace fovea
