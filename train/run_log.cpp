// Numbers are written in the shortest form that reads back as the same double, in every locale.
#include "train/run_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "train/checkpoint.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

using OptionalDouble = std::optional<double>;

/// The columns of log.csv after `epoch`: the one list that writing and reading follow.
struct Column {
  std::string_view name;
  std::variant<double EpochRow::*, OptionalDouble EpochRow::*> field;
};
constexpr std::array<Column, 10> kColumns = {{{"train_loss", &EpochRow::train_loss},
                                              {"eval_loss", &EpochRow::eval_loss},
                                              {"eval_top1", &EpochRow::eval_top1},
                                              {"eval_top5", &EpochRow::eval_top5},
                                              {"lr", &EpochRow::lr},
                                              {"ema_loss", &EpochRow::ema_loss},
                                              {"ema_top1", &EpochRow::ema_top1},
                                              {"ema_top5", &EpochRow::ema_top5},
                                              {"img_s", &EpochRow::img_s},
                                              {"seconds", &EpochRow::seconds}}};

OptionalDouble value_of(const EpochRow& row, const Column& column) {
  return std::visit([&](auto field) -> OptionalDouble { return row.*field; }, column.field);
}

std::string header_line() {
  std::string line = "epoch";
  for (const Column& column : kColumns) line.append(",").append(column.name);
  return line + "\n";
}

/// False when `line` is no row.
bool parse_row(std::string_view line, EpochRow& row) {
  const std::vector<std::string> cells = split_text(line, ',');
  if (cells.size() != kColumns.size() + 1 || !parse_integer(cells[0])) return false;
  row.epoch = *parse_integer(cells[0]);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const Column& column = kColumns[i];
    const std::string& text = cells[i + 1];
    const bool is_optional = std::holds_alternative<OptionalDouble EpochRow::*>(column.field);
    if (text.empty() && is_optional) continue;
    const std::optional<double> value = parse_real(text);
    if (!value) return false;
    std::visit([&](auto field) { row.*field = *value; }, column.field);
  }
  return true;
}

/// The lines of steps.jsonl up to `last_step`; a line that a kill cut off ends the log.
std::string steps_until(std::string_view content, std::int64_t last_step) {
  std::string kept;
  for (const std::string& line : lines_of(content.substr(0, content.rfind('\n') + 1))) {
    const auto parsed = parse_json(line);
    if (!parsed.is_object() || !parsed.contains("step")) break;
    const auto& step = parsed["step"];
    if (!step.is_number_integer() || step.get<std::int64_t>() > last_step) break;
    kept.append(line).append("\n");
  }
  return kept;
}

}  // namespace

std::string format_epochs(const std::vector<EpochRow>& rows) {
  std::string csv = header_line();
  for (const EpochRow& row : rows) {
    csv += std::to_string(row.epoch);
    for (const Column& column : kColumns) {
      const OptionalDouble value = value_of(row, column);
      csv.append(",").append(value ? shortest_text(*value) : "");
    }
    csv += '\n';
  }
  return csv;
}

std::vector<EpochRow> parse_epochs(std::string_view csv, const std::string& name) {
  const std::string expected = header_line();
  check(csv.starts_with(expected), name,
        ": the first line is no header of a training log, expected ",
        expected.substr(0, expected.size() - 1));
  csv.remove_prefix(expected.size());
  std::vector<EpochRow> rows;
  for (const std::string& line : lines_of(csv)) {
    const bool is_row = parse_row(line, rows.emplace_back());
    check(is_row, name, ": line ", rows.size() + 1, " is not a row of a training log");
  }
  return rows;
}

std::string format_step(const StepRow& row) {
  const TimeShares& time = row.time;
  const auto number = [](double value) {
    return std::isfinite(value) ? shortest_text(value) : "null";
  };
  std::string line =
      "{\"step\":" + std::to_string(row.step) + ",\"epoch\":" + std::to_string(row.epoch) +
      ",\"loss\":" + number(row.loss) + ",\"lr\":" + number(row.lr) +
      ",\"img_s\":" + number(row.img_s) + ",\"wait_s\":" + number(time.stages.wait) +
      ",\"forward_s\":" + number(time.stages.forward) +
      ",\"backward_s\":" + number(time.stages.backward) +
      ",\"optimizer_s\":" + number(time.stages.optimizer) + ",\"other_s\":" + number(time.other());
  if (row.mfu) line += ",\"mfu\":" + number(*row.mfu);
  if (row.grad_norm) line += ",\"grad_norm\":" + number(*row.grad_norm);
  if (row.bad_images > 0) line += ",\"bad_images\":" + std::to_string(row.bad_images);
  return line + "}\n";
}

RunLog::RunLog(const fs::path& folder, Progress done) : csv_path_(RunPaths{folder}.log()) {
  if (done.epochs > 0 && fs::exists(csv_path_)) {
    epochs_ = parse_epochs(read_file(csv_path_), csv_path_.string());
    std::erase_if(epochs_, [&](const EpochRow& row) { return row.epoch >= done.epochs; });
  }
  write_file_atomically(csv_path_, format_epochs(epochs_));

  const fs::path steps_path = RunPaths{folder}.steps();
  const bool has_steps = done.steps > 0 && fs::exists(steps_path);
  write_file_atomically(steps_path,
                        has_steps ? steps_until(read_file(steps_path), done.steps) : std::string());
  steps_ = AppendFile(steps_path);
}

void RunLog::epoch(const EpochRow& row) {
  epochs_.push_back(row);
  write_file_atomically(csv_path_, format_epochs(epochs_));
}

void RunLog::step(const StepRow& row) {
  steps_.append(format_step(row));
  steps_.flush();
}

}  // namespace fovea
