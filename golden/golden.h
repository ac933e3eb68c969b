// Checking the project against golden files: reference values of the official implementations in
// float64, and of Pillow and timm for images. A file's metadata describes its case:
// tests/golden/README.md. One report per file.
//
// Errors are |a - b| / |b| of a tensor. They may be, in f64, f32 and bf16: of an output 1e-9, 2e-5,
// 3e-2; of a gradient 1e-9, 2e-4 and, relative to at least a hundredth of the case's largest, 2e-1.
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

/// "f64", "f32" or "bf16". Throws on anything else.
[[nodiscard]] Precision parse_precision(std::string_view text);

struct Options {
  Device device;
  Precision precision = Precision::f64;
  std::filesystem::path dump{};  ///< folder for our own outputs, NAME.safetensors; empty: none

  /// bf16 is bf16 activations beside f32 parameters.
  [[nodiscard]] DType parameters() const {
    return precision == Precision::f64 ? DType::f64 : DType::f32;
  }
  [[nodiscard]] DType activations() const {
    return precision == Precision::bf16 ? DType::bf16 : parameters();
  }
};

/// One tensor of a file beside ours.
struct Comparison {
  std::string name;
  double error = 0;  ///< relative, as the bound
  double bound = 0;
  [[nodiscard]] bool ok() const { return error <= bound; }  ///< NaN is never ok
};

struct Report {
  std::string name;                 ///< the file without folder and extension
  std::string reason;               ///< why the file could not be checked; empty when it was
  std::vector<Comparison> results;  ///< every tensor that was compared

  [[nodiscard]] bool ok() const;
};

/// Never throws: what goes wrong is the report's reason.
[[nodiscard]] Report check_file(const std::filesystem::path& path, const Options& options);

/// "ok  NAME  worst 3.1e-07 TENSOR", or "FAIL NAME ..." with an indented line per tensor.
void print(std::ostream& out, const Report& report);

}  // namespace fovea::golden
