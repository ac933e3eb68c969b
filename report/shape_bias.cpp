// Shape bias: decisions by category, their counts, and a chart.
#include "report/shape_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/figures/plot.h"
#include "data/figures/svg.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"
#include "train/loop/batch_numbers.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? kUndefined : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Mean of exp(logit - largest) over the classes; within a row it ranks like the mean of the
/// softmax.
double mean_weight(const float* row, double largest, const std::vector<std::int64_t>& classes) {
  double sum = 0;
  for (const std::int64_t k : classes) sum += std::exp(static_cast<double>(row[k]) - largest);
  return sum / static_cast<double>(classes.size());
}

}  // namespace

std::string shown_percent(double percent) {
  return std::isfinite(percent) ? fixed_text(percent, 2) : "-";
}
std::string percent_cell(double percent) {
  return std::isfinite(percent) ? shortest_text(percent) : "";
}

std::vector<std::int64_t> decide(const Tensor& logits, const std::vector<Category>& categories) {
  check(logits.rank() == 2 && logits.dtype() == DType::f32 && !categories.empty(),
        "decide: got logits ", logits.shape(), " and ", categories.size(),
        " categories, expected f32 [N, K] and one or more");
  const std::int64_t classes = logits.size(1);
  for (const Category& c : categories) {
    for (const std::int64_t k : c.classes) {
      check(k >= 0 && k < classes, "decide: category ", c.name, " has class ", k,
            ", expected 0 to ", classes - 1);
    }
  }
  const Tensor rows = logits.contiguous();
  std::vector<std::int64_t> decisions;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const float* const row = rows.data<float>() + i * classes;
    const double largest = *std::max_element(row, row + classes);
    std::vector<double> weights;
    for (const Category& c : categories) weights.push_back(mean_weight(row, largest, c.classes));
    decisions.push_back(std::max_element(weights.begin(), weights.end()) - weights.begin());
  }
  return decisions;
}

CueResponses respond(Classifier& model, const CueConflict& cues,
                     const std::vector<Category>& categories, const EvaluateOptions& options) {
  CueResponses result;
  result.logits = zeros({cues.size(), model.info().num_classes});
  BatchNumbers seen;
  const auto measure = [&](const EvaluationBatch& batch) {
    const Tensor logits = logits_of(model, batch);
    const Tensor& indices = batch.host.indices;
    keep_rows(result.logits, logits, indices);
    seen.add(indices.to_vector());
    return nonfinite_rows(logits);
  };
  result.pass = evaluate_batches(model, cues.images, options, measure);
  const std::vector<BrokenImage>& broken = result.pass.bad_images;
  check(result.pass.samples > 0 || broken.empty(), "shape bias: all ", cues.size(),
        " pictures are broken, the last: ", broken.empty() ? "" : broken.back().message);
  gather_rows(result.logits, *options.processes);
  const std::vector<std::int64_t> decisions = decide(result.logits, categories);
  // Broken pictures have rows of zeros, which would decide for the first category.
  result.decisions.assign(decisions.size(), -1);
  for (const std::vector<double>& batch : seen.all(*options.processes)) {
    for (const double index : batch) {
      const auto i = static_cast<std::size_t>(index);
      result.decisions[i] = decisions[i];
    }
  }
  return result;
}

double ShapeBias::CategoryRow::bias() const { return percent(shape, shape + texture); }
double ShapeBias::CategoryRow::either() const { return percent(shape + texture, images); }

ShapeBias::ShapeBias(const CueConflict& cues, const std::vector<std::int64_t>& decisions) {
  check(std::ssize(decisions) == cues.size(), "ShapeBias: got ", decisions.size(),
        " decisions, expected one for each of ", cues.size(), " pictures");
  all_.name = "all";
  std::vector<CategoryRow> rows(cues.images->class_names().size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].name = cues.images->class_names()[k];
  for (std::int64_t i = 0; i < cues.size(); ++i) {
    const std::int64_t shape = cues.images->label(i), decision = decisions[i];
    if (decision < 0) continue;
    for (CategoryRow* row : {&rows[shape], &all_}) {
      ++row->images;
      row->shape += decision == shape ? 1 : 0;
      row->texture += decision == cues.textures[i] ? 1 : 0;
    }
  }
  for (CategoryRow& row : rows)
    if (row.images > 0) rows_.push_back(std::move(row));
}

double ShapeBias::mean_bias() const {
  double sum = 0;
  std::int64_t defined = 0;
  for (const CategoryRow& row : rows_) {
    if (!std::isfinite(row.bias())) continue;
    sum += row.bias();
    ++defined;
  }
  return defined == 0 ? kUndefined : sum / static_cast<double>(defined);
}

std::string ShapeBias::table() const {
  std::vector<std::vector<std::string>> cells{
      {"category", "images", "shape", "texture", "neither", "either %", "shape bias %"}};
  const auto write = [&](const CategoryRow& row) {
    cells.push_back({row.name, std::to_string(row.images), std::to_string(row.shape),
                     std::to_string(row.texture),
                     std::to_string(row.images - row.shape - row.texture),
                     shown_percent(row.either()), shown_percent(row.bias())});
  };
  for (const CategoryRow& row : rows_) write(row);
  write(all_);
  cells.push_back({"mean of the categories", "", "", "", "", "", shown_percent(mean_bias())});
  return text_table(cells);
}

std::string ShapeBias::csv() const {
  Csv csv("category,images,shape,texture,either,shape_bias");
  const auto write = [&](const CategoryRow& row) {
    csv.row(row.name, row.images, row.shape, row.texture, percent_cell(row.either()),
            percent_cell(row.bias()));
  };
  for (const CategoryRow& row : rows_) write(row);
  write(all_);
  csv.row("mean of the categories", "", "", "", "", percent_cell(mean_bias()));
  return csv.text();
}

std::string ShapeBias::svg() const {
  constexpr double left = 150, bar = 360, right = 96, top = 66, pitch = 22, height = 14;
  std::vector<CategoryRow> lines = rows_;
  lines.push_back(all_);
  const double bottom = top + pitch * static_cast<double>(lines.size());
  Svg svg(left + bar + right, bottom + 40);
  const std::string_view shape = chart_color(0), texture = chart_color(1);
  svg.text(left + bar / 2, 24, "Shape bias " + shown_percent(all_.bias()) + " %",
           {.size = 15, .bold = true});
  svg.rect({left, 40, 14, 12}, shape);
  svg.text(left + 20, 50, "decided by shape", {.anchor = "start"});
  svg.text(left + bar - 20, 50, "decided by texture", {.anchor = "end"});
  svg.rect({left + bar - 14, 40, 14, 12}, texture);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double y = top + pitch * static_cast<double>(i), share = lines[i].bias() / 100;
    const bool is_sum = i + 1 == lines.size();
    svg.text(left - 8, y + 12, lines[i].name, {.anchor = "end", .bold = is_sum});
    svg.text(left + bar + 8, y + 12, shown_percent(lines[i].either()) + " %",
             {.anchor = "start", .size = 11});
    if (!std::isfinite(share)) continue;
    svg.rect({left, y, bar * share, height}, shape);
    svg.rect({left + bar * share, y, bar * (1 - share), height}, texture);
  }
  svg.line({left + bar / 2, top - 4, 0, bottom - top + 4}, "#333333");
  for (const int tick : {0, 25, 50, 75, 100})
    svg.text(left + bar * tick / 100, bottom + 14, std::to_string(tick));
  svg.text(left + bar / 2, bottom + 32, "shape bias, percent");
  svg.text(left + bar + 8, 50, "either", {.anchor = "start", .size = 11});
  return std::move(svg).finish();
}

std::string csv_of_decisions(const CueConflict& cues, const std::vector<std::int64_t>& decisions) {
  const std::vector<std::string>& names = cues.images->class_names();
  Csv csv("image,shape,texture,decision");
  for (std::int64_t i = 0; i < cues.size(); ++i) {
    csv.row(cues.images->describe(i), names[cues.images->label(i)], names[cues.textures[i]],
            decisions[i] < 0 ? "" : names[decisions[i]]);
  }
  return csv.text();
}

}  // namespace fovea
