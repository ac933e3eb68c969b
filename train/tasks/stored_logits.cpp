// Files of stored logits: matching them with a data set's images by metadata or by accuracy.
#include "train/tasks/stored_logits.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "train/run/image_lists.h"

namespace fovea {
namespace {

constexpr std::int64_t kRowsMeasured = 1000;
constexpr const char* kAccept = "--accept-other-images learns from them all the same";

/// The most likely class in each of the first rows of [images, classes].
std::vector<std::int64_t> classes_said(const Tensor& logits, std::int64_t rows) {
  const std::int64_t classes = logits.size(1);
  const float* row = logits.data<float>();
  std::vector<std::int64_t> said;
  for (std::int64_t i = 0; i < rows; ++i, row += classes)
    said.push_back(std::max_element(row, row + classes) - row);
  return said;
}

Agreement agreement_of(const Tensor& logits, const Dataset& images) {
  const std::int64_t rows = std::min(images.size(), kRowsMeasured);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) {
    labels.push_back(images.label(i));
    check(labels.back() < logits.size(1), images.describe(i), ": has label ", labels.back(),
          ", but logits are of ", logits.size(1), " classes");
  }
  return agreement(classes_said(logits, rows), labels, logits.size(1));
}

/// True if the file's image list is from the same kind of data set; other kinds name images
/// differently.
/// names.
bool names_images(const Metadata& metadata, const WantedLogits& wanted) {
  return metadata.contains("images") && value_or(metadata, "dataset", "") == wanted.dataset;
}

/// A contradiction between the file's metadata and these images, or "".
std::string objection(const Metadata& metadata, const WantedLogits& wanted,
                      const std::string& path) {
  if (!metadata.contains("images")) return "";
  const std::string split = value_or(metadata, "split", "");
  if (split != "train") return "they are of the split " + in_quotes(split);
  if (!names_images(metadata, wanted)) return "";
  return difference(parse_image_list(metadata.at("images"), path), wanted.images);
}

/// Compares the logits with the labels.
std::string measure(const Tensor& logits, const WantedLogits& wanted, const std::string& path) {
  const Agreement measured = agreement_of(logits, wanted.images);
  const auto percent = [&](double rows) {
    return percent_text(100 * rows / static_cast<double>(measured.rows), 1);
  };
  const std::string text = text_of(
      "of its first ", measured.rows, " rows ", percent(static_cast<double>(measured.right)),
      " say their image's own class (chance is ", percent(measured.chance), ")");
  check(!measured.is_chance() || wanted.other_images, path, ": ", text,
        ": are they of other images, or in another order? ", kAccept);
  return text;
}

}  // namespace

Metadata logits_metadata(const std::string& dataset, Split split, const Dataset& images) {
  return {{"dataset", dataset},
          {"split", split == Split::train ? "train" : "val"},
          {"images", format_image_list(image_list(images))}};
}

Metadata classes_metadata(const std::vector<std::string>& classes) {
  return {{"classes", json_text(nlohmann::json(classes))}};
}

Agreement agreement(std::span<const std::int64_t> said, std::span<const std::int64_t> labels,
                    std::int64_t classes) {
  std::vector<double> times_said(static_cast<std::size_t>(classes)), times_shown = times_said;
  Agreement result{std::ssize(labels), 0, 0};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    result.right += said[i] == labels[i] ? 1 : 0;
    ++times_said[said[i]];
    ++times_shown[labels[i]];
  }
  // Rows in another order are right as often as two random draws agree. If nearly all labels are
  // one class, as at the start of a sorted list, any order is nearly as good: then the best
  // constant guess is the reference.
  double shuffled = 0, most = 0;
  const auto rows = static_cast<double>(labels.size());
  for (std::size_t k = 0; k < times_said.size(); ++k) {
    shuffled += times_said[k] * times_shown[k] / rows;
    most += std::min(times_said[k], times_shown[k]);
  }
  const double guessed = rows / static_cast<double>(classes);
  result.chance = shuffled < 0.9 * most ? std::max(shuffled, guessed) : guessed;
  return result;
}

bool Agreement::is_chance() const {
  const double deviation = std::sqrt(chance * (1 - chance / static_cast<double>(rows)));
  return right < rows && static_cast<double>(right) <= chance + 3 * deviation;
}

Tensor read_logits(const std::filesystem::path& path, const WantedLogits& wanted,
                   Notices& notices) {
  const SafetensorsFile file = read_safetensors(path);
  const auto found = file.tensors.find("logits");
  check(found != file.tensors.end(), path.string(), ": there is no tensor \"logits\"");
  const Metadata& metadata = file.metadata;
  const std::string text = objection(metadata, wanted, path.string());
  check(text.empty() || wanted.other_images, path.string(),
        ": its logits are not of these training images: ", text, "; ", kAccept);
  const Shape expected{wanted.images.size(), wanted.classes};
  check(found->second.shape() == expected && is_float(found->second.dtype()), path.string(),
        ": logits are ", found->second.dtype(), " ", found->second.shape(), ", expected numbers ",
        expected, ", training images by classes");
  const Tensor logits = found->second.to(DType::f32).contiguous();
  if (!text.empty()) {
    notices.add(path.string(), ": its logits are of other images: ", text);
  } else if (!names_images(metadata, wanted)) {
    notices.add(path.string(), ": does not say of which of these images its logits are; ",
                measure(logits, wanted, path.string()));
  }
  return logits;
}

}  // namespace fovea
