// Checks the project against golden files: float64 reference values of the official
// implementations, and results of Pillow and timm for images. A file's metadata describe its case:
// tests/golden/README.md. One report per file.
// Errors are |a - b| / |b| over a tensor. Bounds in f64, f32 and bf16: 1e-9, 2e-5, 3e-2 for
// outputs; 1e-9, 2e-4, 2e-1 for gradients, in bf16 relative to at least a hundredth of the case's
// largest gradient, 5e-1 for the VAE's and detectors', whose memory has 6e-2. A detector's gradient
// in bf16 is wrong if it exceeds the bound at the file's images and at seven near them: where
// rounding changes the sign of a ReLU's input, it jumps. A gradient that almost cancels may be four
// times as far off in f32 as the official implementation's own, if the file says how far that is.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea::golden {

enum class Precision { f64, f32, bf16 };

/// Parses "f64", "f32" or "bf16". Throws on anything else.
[[nodiscard]] Precision parse_precision(std::string_view text);

struct Options {
  Device device;
  Precision precision = Precision::f64;
  std::filesystem::path dump{};  ///< folder for our outputs, NAME.safetensors; empty: none

  /// dtype of the parameters: bf16 precision means bf16 activations with f32 parameters.
  [[nodiscard]] DType parameters() const {
    return precision == Precision::f64 ? DType::f64 : DType::f32;
  }
  [[nodiscard]] DType activations() const {
    return precision == Precision::bf16 ? DType::bf16 : parameters();
  }
};

/// The comparison of one tensor of a file with ours.
struct TensorComparison {
  std::string name;
  double error = 0;  ///< relative error
  double bound = 0;
  [[nodiscard]] bool ok() const { return error <= bound; }  ///< false for NaN
};

struct Report {
  std::string name;    ///< file name without folder and extension
  std::string reason;  ///< error that prevented the check; empty if there was none
  std::vector<TensorComparison> results;  ///< all compared tensors

  [[nodiscard]] bool ok() const;
};

/// Checks a file. Never throws: an error becomes the report's reason.
[[nodiscard]] Report check_file(const std::filesystem::path& path, const Options& options);

/// Prints "ok  NAME  worst 3.1e-07 TENSOR", or "FAIL NAME ..." with one indented line per tensor.
void print(std::ostream& out, const Report& report);

}  // namespace fovea::golden
