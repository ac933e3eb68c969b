// Table of the tensors that were not copied unchanged.
#include "train/start/weights_table.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "models/checkpoints/mismatch.h"

namespace fovea {
namespace {

using Row = std::array<std::string, 4>;  // name, in the file, in the model, outcome

std::string text_of(const Shape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

std::string text_of(const std::vector<Row>& rows) {
  std::array<std::size_t, 4> width{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += "\n ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::string cell = row[c];
      if (c + 1 < row.size()) cell.resize(width[c], ' ');
      text += "  " + cell;
    }
  }
  return text;
}

std::string shape_in(const TensorMap& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? "-" : text_of(found->second.shape());
}

}  // namespace

std::string loading_table(const std::filesystem::path& path, const TensorMap& tensors,
                          const Model& model, const LoadReport& report) {
  std::vector<Row> rows{{"tensor", "file", "model", ""}};
  const auto add = [&](const std::string& name, const char* what) {
    const Tensor own = model.store().find(name);
    rows.push_back(
        {name, shape_in(tensors, name), own.defined() ? text_of(own.shape()) : "-", what});
  };
  for (const std::string& name : report.resized) add(name, "resized to the model's grid");
  for (const std::string& name : report.kept) add(name, "reinitialised");
  int decoder = 0;  // MAE's decoder tensors, too many to list
  for (const auto& [name, tensor] : tensors) {
    if (model.store().find(name).defined() || is_counter(tensor)) continue;
    if (name.starts_with("decoder_")) {
      ++decoder;
    } else {
      add(name, "not loaded");
    }
  }
  if (decoder > 0) {
    rows.push_back({"decoder_*", std::to_string(decoder) + " tensors", "-", "not loaded"});
  }
  const std::size_t total = model.store().parameters().size() + model.store().buffers().size();
  const std::size_t copied = total - report.resized.size() - report.kept.size();
  std::ostringstream text;
  text << path.string() << ": copied " << copied << " of " << total << " tensors";
  if (rows.size() > 1) text << "; the others:" << text_of(rows);
  return text.str();
}

}  // namespace fovea
