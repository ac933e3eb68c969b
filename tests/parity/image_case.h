// One case of a golden file of images: arguments, inputs and outputs. Private to tests/parity/.
#pragma once

#include <string>
#include <vector>

#include "data/geometry/transforms.h"
#include "tests/parity/case.h"

namespace fovea::golden {

class ImageCase {
 public:
  /// `arguments` is the case's entry in the configuration and must outlive this object.
  ImageCase(Case& c, std::string name, const nlohmann::json& arguments);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& op() const { return op_; }

  // Arguments. Each throws if it is missing, of the wrong type or out of range.
  [[nodiscard]] bool has(const char* key);  ///< present and not null
  [[nodiscard]] double number(const char* key, double low = -1e9, double high = 1e9);
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t low = -1'000'000,
                                     std::int64_t high = 1'000'000);
  [[nodiscard]] bool flag(const char* key);
  [[nodiscard]] std::string text(const char* key);
  /// A list of `count` numbers; 0: any length.
  [[nodiscard]] std::vector<double> numbers(const char* key, std::size_t count = 0);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  [[nodiscard]] const nlohmann::json& json(const char* key);
  [[nodiscard]] ImageCase nested(const char* key);  ///< the arguments inside an argument
  [[nodiscard]] Filter filter(const char* key = "interpolation");
  /// One level for all channels, or three levels.
  [[nodiscard]] Color8 color(const char* key);
  [[nodiscard]] Normalization normalization();
  /// One number for both sides, or [height, width].
  [[nodiscard]] ImageSize size(const char* key);
  /// Throws if an argument was not read.
  void finish() const;

  /// The tensor "input", or "input/K" if the case names K.
  [[nodiscard]] Tensor input();
  [[nodiscard]] Image image();  ///< the input as u8 [H, W, 3]
  [[nodiscard]] Tensor tensor(const std::string& name) { return case_.take(name); }
  /// The file's output, for values that the arguments do not determine, such as the size of a crop.
  [[nodiscard]] Tensor expected() { return case_.take("output/" + name_); }

  // Comparisons. u8 must be equal, f32 within 1e-6.
  void compare(const Image& ours);
  void compare(const std::string& kind, const Tensor& ours);  ///< kind: "output", "soft_target"
  /// Compares with a number in the configuration: equal, or within `bound`.
  void compare_number(const std::string& what, double ours, double theirs, double bound = 0);

 private:
  const nlohmann::json& at(const char* key);
  [[noreturn]] void refuse(const char* key, const nlohmann::json& got,
                           const std::string& expected) const;

  Case& case_;
  std::string name_, op_;
  const nlohmann::json& arguments_;
  std::vector<std::string> known_;
};

[[nodiscard]] Image to_image(const Tensor& pixels, const std::string& name);
[[nodiscard]] Tensor to_tensor(const Image& image);
[[nodiscard]] Tensor to_normalized(const Image& image, const Normalization& normalization);

// Each function checks the case if it implements its op, and otherwise returns false.
bool check_geometry(ImageCase& c);
bool check_augmentation(ImageCase& c, double translate_const);
bool check_mixing(ImageCase& c);
bool check_values(ImageCase& c);  ///< decoders, normalisation, whole pipelines

/// Random erasing with given draws, on f32 [3, H, W] in place. `arguments`: mode, box, fill.
void erase_as_told(ImageCase& c, Tensor& image);

}  // namespace fovea::golden
