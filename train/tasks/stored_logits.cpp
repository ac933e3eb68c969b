// Files of stored logits: matching them with a data set's images by metadata or by accuracy.
#include "train/tasks/stored_logits.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "train/run/image_lists.h"
#include "train/tasks/teacher_classes.h"

namespace fovea {
namespace {

constexpr std::int64_t kRowsMeasured = 1000;
constexpr const char* kAccept = "--accept-other-images uses them anyway";

/// The most likely class in row `i` of [images, classes].
std::int64_t class_said(const Tensor& logits, std::int64_t i) {
  const std::int64_t classes = logits.size(1);
  const float* row = logits.data<float>() + i * classes;
  return std::max_element(row, row + classes) - row;
}

/// Compares rows spread over the whole list: a sorted list begins with a single class.
Agreement agreement_of(const Tensor& logits, const Dataset& images) {
  const std::int64_t rows = std::min(images.size(), kRowsMeasured);
  std::vector<std::int64_t> said, labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t i = row * images.size() / rows;
    said.push_back(class_said(logits, i));
    labels.push_back(images.label(i));
    check(labels.back() < logits.size(1), images.describe(i), ": has label ", labels.back(),
          ", but the logits have ", logits.size(1), " classes");
  }
  return agreement(said, labels, logits.size(1));
}

/// True if the file's image list is from the same kind of data set; other kinds name images
/// differently.
bool names_images(const Metadata& metadata, const WantedLogits& wanted) {
  return metadata.contains("images") && value_or(metadata, "dataset", "") == wanted.dataset;
}

/// A contradiction between the file's metadata and these images, or "".
std::string objection(const Metadata& metadata, const WantedLogits& wanted,
                      const std::string& path) {
  if (!metadata.contains("images")) return "";
  const std::string split = value_or(metadata, "split", "");
  if (split != "train") return "they belong to the split " + in_quotes(split);
  if (!names_images(metadata, wanted)) return "";
  return difference(parse_image_list(metadata.at("images"), path), wanted.images);
}

/// Compares the logits with the labels.
std::string measure(const Tensor& logits, const WantedLogits& wanted, const std::string& path) {
  const Agreement measured = agreement_of(logits, wanted.images);
  const auto percent = [&](double rows) {
    return percent_text(100 * rows / static_cast<double>(measured.rows), 1);
  };
  const std::string text =
      concat("of ", measured.rows, " of its rows, ", percent(static_cast<double>(measured.right)),
             " predict the label of their image (chance is ", percent(measured.chance), ")");
  check(!measured.is_chance() || wanted.other_images, path, ": ", text,
        "; do they belong to other images, or are they in another order? ", kAccept);
  return text;
}

/// The class names of the columns; no names if the file does not record them.
ModelClasses columns_of(const Metadata& metadata, const std::string& path) {
  const auto found = metadata.find("classes");
  if (found == metadata.end()) return {};
  const nlohmann::json names = parse_json(found->second);
  const bool are_names =
      names.is_array() &&
      std::all_of(names.begin(), names.end(), [](const auto& name) { return name.is_string(); });
  check(are_names, path, ": its list of classes cannot be read, expected a JSON list of names");
  return {std::ssize(names), names.get<std::vector<std::string>>()};
}

/// Selects and reorders the columns to match the images' classes by name.
Tensor match_columns(const Tensor& logits, const ModelClasses& columns, const WantedLogits& wanted,
                     const std::string& path, Notices& notices) {
  const DataClasses own{wanted.images.class_names(), wanted.in_label_order};
  if (columns.names.empty()) return logits;
  const bool as_they_are = wanted.other_images && !find_match(columns, own);
  if (as_they_are && columns.count == wanted.classes) return logits;
  return TeacherClasses(columns, own, path, notices).of(logits);
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
  // Shuffled rows are right as often as two random draws agree. If nearly all labels are one class,
  // as at the start of a sorted list, shuffling changes almost nothing, and the reference is a
  // uniform guess over the classes.
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
  check(found != file.tensors.end(), path.string(), ": has no tensor \"logits\"");
  const Metadata& metadata = file.metadata;
  const std::string text = objection(metadata, wanted, path.string());
  check(text.empty() || wanted.other_images, path.string(),
        ": its logits do not belong to these training images: ", text, "; ", kAccept);
  const ModelClasses columns = columns_of(metadata, path.string());
  const Shape expected{wanted.images.size(),
                       columns.names.empty() ? wanted.classes : columns.count};
  check(found->second.shape() == expected && is_float(found->second.dtype()), path.string(),
        ": logits are ", found->second.dtype(), " ", found->second.shape(), ", expected f32 ",
        expected, ", training images by classes");
  const Tensor logits = match_columns(found->second.to(DType::f32).contiguous(), columns, wanted,
                                      path.string(), notices);
  if (!text.empty()) {
    notices.add(path.string(), ": its logits belong to other images: ", text);
  } else if (!names_images(metadata, wanted)) {
    notices.add(path.string(), ": does not record which images its logits belong to; ",
                measure(logits, wanted, path.string()));
  }
  return logits;
}

}  // namespace fovea
