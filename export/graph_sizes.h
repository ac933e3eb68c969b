// Sizes that depend on the image's height and width, as values of the graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/graph_writer.h"
#include "export/traced_graph.h"

namespace fovea::onnx {

/// A size in the traces of two image sizes: equal if it depends on neither height nor width.
struct TracedSize {
  std::int64_t size, resized;

  TracedSize(std::int64_t same) : TracedSize(same, same) {}  // NOLINT(google-explicit-constructor)
  TracedSize(std::int64_t one, std::int64_t other) : size(one), resized(other) {}

  [[nodiscard]] bool is_fixed() const { return size == resized; }
  friend bool operator==(const TracedSize&, const TracedSize&) = default;
};

/// The size of a value along an axis.
[[nodiscard]] TracedSize size_of(const TracedValue& value, int axis);

/// Finds each size among those of the values that the graph has so far: an axis of the same size in
/// both traces, or one to multiply, to divide, or to add to.
class GraphSizes {
 public:
  explicit GraphSizes(GraphWriter& writer) : writer_(writer) {}

  /// Makes the axes of a value known.
  void add(const TracedValue& value, const std::string& name);
  /// The size as a list of one element, i64 [1]. Throws if it cannot be found.
  [[nodiscard]] std::string value_of(TracedSize size);
  [[nodiscard]] std::string list_of(const std::vector<TracedSize>& sizes);
  /// A constant that depends on the image's size: one number everywhere, 0, 1, ..., or a few sizes.
  /// Throws for others.
  [[nodiscard]] std::string constant(const TracedValue& value);

 private:
  struct Known {
    TracedSize size;
    std::string value;  ///< the value whose axis it is; or the size itself
    int axis;           ///< -1: the size itself
  };

  [[nodiscard]] std::string value_of(const Known& known);
  /// From one or two known sizes; empty if none fit.
  [[nodiscard]] std::string derived(TracedSize size);
  [[nodiscard]] std::string element_of(double one, double other, DType type);

  GraphWriter& writer_;
  std::vector<Known> known_;
};

}  // namespace fovea::onnx
