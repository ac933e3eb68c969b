// Log files. Numbers are written in the shortest form that parses to the same double, in any
// locale.
#include "train/run/run_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "train/run/logged_values.h"
#include "train/run/run_paths.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

/// A column of log.csv after `epoch`: a number that each row has, or an entry of a group that a row
/// has entirely or not at all.
struct Column {
  using Group = std::vector<double> EpochRow::*;

  std::string name;
  std::string former;  ///< its name in earlier versions, if it was another
  std::variant<double EpochRow::*, Group> field;
  std::size_t index = 0;   ///< index within its group
  std::size_t count = 1;   ///< size of its group
  bool is_recent = false;  ///< logs of earlier versions may lack it
};

/// The list of columns, used for writing and reading.
std::vector<Column> columns_of(const TaskInfo& task) {
  std::vector<Column> columns{{"train_loss", "", &EpochRow::train_loss}};
  const auto add_measures = [&](const std::string& prefix, Column::Group group) {
    for (std::size_t i = 0; i < task.measures.size(); ++i) {
      const Measure& m = task.measures[i];
      const std::string former = m.former_name.empty() ? "" : prefix + m.former_name;
      columns.push_back({prefix + m.name, former, group, i, task.measures.size(), m.is_recent});
    }
  };
  for (std::size_t i = 0; i < task.loss_parts.size(); ++i) {
    columns.push_back({"train_" + task.loss_parts[i], "", &EpochRow::train_parts, i,
                       task.loss_parts.size(), true});
  }
  add_measures("eval_", &EpochRow::eval);
  columns.push_back({"lr", "", &EpochRow::lr});
  add_measures("ema_", &EpochRow::ema);
  columns.push_back({"img_s", "", &EpochRow::img_s});
  columns.push_back({"seconds", "", &EpochRow::seconds});
  return columns;
}

/// The value in a row; empty if the row lacks the column's group or the value is NaN.
std::optional<double> value_of(const EpochRow& row, const Column& column) {
  const auto unless_nan = [](double value) {
    return std::isnan(value) ? std::nullopt : std::optional(value);
  };
  if (const auto* number = std::get_if<double EpochRow::*>(&column.field))
    return unless_nan(row.*(*number));
  const std::vector<double>& group = row.*std::get<Column::Group>(column.field);
  if (group.empty()) return {};
  check(group.size() == column.count, "log: got ", group.size(), " numbers for the ", column.count,
        " columns of the group with ", column.name);
  return unless_nan(group[column.index]);
}

std::string header_line(const std::vector<Column>& columns) {
  std::string line = "epoch";
  for (const Column& column : columns) line.append(",").append(column.name);
  return line;
}

/// The place of each column in the lines of a log; 0, that of the epoch, if the log lacks it.
using Places = std::vector<std::size_t>;

/// The places under this header, which has the columns by their names or the former ones; empty if
/// it is the header of something else.
std::optional<Places> places_in(const std::string& header, const std::vector<Column>& columns) {
  const std::vector<std::string> names = split_text(header, ',');
  if (names.empty() || names.front() != "epoch") return {};
  Places places;
  std::size_t next = 1;
  for (const Column& column : columns) {
    const bool is_there = next < names.size() && !names[next].empty() &&
                          (names[next] == column.name || names[next] == column.former);
    if (!is_there && !column.is_recent) return {};
    places.push_back(is_there ? next++ : 0);
  }
  return next == names.size() ? std::optional(places) : std::nullopt;
}

/// Returns false if `text` is not a value of that column.
bool parse_cell(const std::string& text, const Column& column, EpochRow& row) {
  const auto* number = std::get_if<double EpochRow::*>(&column.field);
  const bool may_be_empty = number == nullptr || *number == &EpochRow::train_loss;
  if (text.empty() && !may_be_empty) return false;
  const std::optional<double> value = text.empty() ? std::nan("") : parse_real(text);
  if (!value) return false;
  if (number != nullptr) {
    row.*(*number) = *value;
  } else {
    (row.*std::get<Column::Group>(column.field)).push_back(*value);
  }
  return true;
}

/// A group without any number was not measured.
void forget_empty(std::vector<double>& group) {
  if (std::ranges::all_of(group, [](double value) { return std::isnan(value); })) group.clear();
}

/// Returns false if `line` is not a row.
bool parse_row(std::string_view line, const std::vector<Column>& columns, const Places& places,
               EpochRow& row) {
  const std::vector<std::string> cells = split_text(line, ',');
  const std::size_t width = 1 + std::ranges::max(places);
  if (cells.size() != width || !parse_integer(cells[0])) return false;
  row.epoch = *parse_integer(cells[0]);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = places[i] == 0 ? "" : cells[places[i]];
    if (!parse_cell(cell, columns[i], row)) return false;
  }
  for (std::vector<double>* const group : {&row.train_parts, &row.eval, &row.ema})
    forget_empty(*group);
  return true;
}

constexpr const char* kEndsRun = "ends_run";

/// The lines of steps.jsonl up to `last_step`, without those of an end that is none any longer. A
/// truncated line, from a killed process, ends the log.
std::string steps_until(std::string_view content, std::int64_t last_step) {
  std::string kept;
  for (const std::string& line : lines_of(content.substr(0, content.rfind('\n') + 1))) {
    const auto parsed = parse_json(line);
    if (!parsed.is_object() || !parsed.contains("step")) break;
    const auto& step = parsed["step"];
    if (!step.is_number_integer() || step.get<std::int64_t>() > last_step) break;
    if (parsed.contains(kEndsRun)) continue;
    kept.append(line).append("\n");
  }
  return kept;
}

}  // namespace

std::string loss_text(double loss, int decimals) {
  return std::isnan(loss) ? "-" : fixed_text(loss, decimals);
}

std::string format_epochs(const TaskInfo& task, const std::vector<EpochRow>& rows) {
  const std::vector<Column> columns = columns_of(task);
  Csv csv(header_line(columns));
  for (const EpochRow& row : rows) {
    csv.cell(row.epoch);
    for (const Column& column : columns) csv.cell(value_of(row, column));
    csv.end_row();
  }
  return csv.text();
}

std::vector<LoggedValue> logged_values(const TaskInfo& task, const EpochRow& row) {
  std::vector<LoggedValue> values;
  for (const Column& column : columns_of(task)) {
    const std::optional<double> value = value_of(row, column);
    values.push_back({column.name, value && std::isnan(*value) ? std::nullopt : value});
  }
  return values;
}

std::vector<EpochRow> parse_epochs(const TaskInfo& task, std::string_view csv,
                                   const std::string& name) {
  const std::vector<Column> columns = columns_of(task);
  const std::vector<std::string> lines = lines_of(csv);
  const std::optional<Places> places = places_in(lines.empty() ? "" : lines.front(), columns);
  check(places.has_value(), name,
        ": the first line is not the header of this kind of log, expected ", header_line(columns));
  std::vector<EpochRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const bool is_row = parse_row(lines[i], columns, *places, rows.emplace_back());
    check(is_row, name, ": line ", i + 1, " is not a row of a training log");
  }
  return rows;
}

std::string format_step(const TaskInfo& task, const StepRow& row) {
  const TimeShares& time = row.time;
  const auto number = [](double value) {
    return std::isfinite(value) ? shortest_text(value) : "null";
  };
  std::string line = "{\"step\":" + std::to_string(row.step) +
                     ",\"epoch\":" + std::to_string(row.epoch) + ",\"loss\":" + number(row.loss);
  for (std::size_t i = 0; i < row.loss_parts.size(); ++i) {
    line.append(",\"loss_" + task.loss_parts.at(i) + "\":").append(number(row.loss_parts[i]));
  }
  line +=
      ",\"lr\":" + number(row.lr) + ",\"img_s\":" + number(row.img_s) +
      ",\"wait_s\":" + number(time.stages.wait) + ",\"forward_s\":" + number(time.stages.forward) +
      ",\"backward_s\":" + number(time.stages.backward) +
      ",\"optimizer_s\":" + number(time.stages.optimizer) + ",\"other_s\":" + number(time.other());
  if (time.stages.exchange > 0) line += ",\"exchange_s\":" + number(time.stages.exchange);
  if (time.stages.sending > 0) line += ",\"sending_s\":" + number(time.stages.sending);
  if (row.mfu) line += ",\"mfu\":" + number(*row.mfu);
  if (row.grad_norm) line += ",\"grad_norm\":" + number(*row.grad_norm);
  if (row.bad_images > 0) line += ",\"bad_images\":" + std::to_string(row.bad_images);
  if (!row.fingerprint.empty()) line += ",\"fingerprint\":\"" + row.fingerprint + "\"";
  return line + "}\n";
}

std::optional<StepRow> parse_step(const TaskInfo& task, std::string_view line) {
  const nlohmann::json parsed = parse_json(line);
  if (!parsed.is_object()) return {};
  const auto number = [&](const std::string& name) -> std::optional<double> {
    const auto found = parsed.find(name);
    if (found == parsed.end() || !found->is_number()) return {};
    return found->get<double>();
  };
  const auto known = [&](const std::string& name) { return number(name).value_or(std::nan("")); };
  StepRow row;
  row.step = static_cast<std::int64_t>(number("step").value_or(0));
  row.epoch = static_cast<std::int64_t>(number("epoch").value_or(0));
  row.loss = known("loss");
  for (const std::string& part : task.loss_parts) {
    if (parsed.contains("loss_" + part)) row.loss_parts.push_back(known("loss_" + part));
  }
  row.lr = known("lr");
  row.img_s = known("img_s");
  row.grad_norm = number("grad_norm");
  row.mfu = number("mfu");
  row.bad_images = static_cast<std::int64_t>(number("bad_images").value_or(0));
  const auto fingerprint = parsed.find("fingerprint");
  if (fingerprint != parsed.end() && fingerprint->is_string()) row.fingerprint = *fingerprint;
  return row;
}

void copy_logs(const fs::path& from, const fs::path& to) {
  for (const auto name : {&RunPaths::log, &RunPaths::steps}) {
    const fs::path log = (RunPaths{from}.*name)();
    if (fs::exists(log)) write_file_atomically((RunPaths{to}.*name)(), read_file(log));
  }
}

RunLog::RunLog(const fs::path& folder, TaskInfo task, LoggedSoFar done)
    : csv_path_(RunPaths{folder}.log()), task_(std::move(task)) {
  if (done.epochs > 0 && fs::exists(csv_path_)) {
    epochs_ = parse_epochs(task_, read_file(csv_path_), csv_path_.string());
    std::erase_if(epochs_, [&](const EpochRow& row) { return row.epoch >= done.epochs; });
  }
  write_file_atomically(csv_path_, format_epochs(task_, epochs_));

  const fs::path steps_path = RunPaths{folder}.steps();
  const bool has_steps = done.steps > 0 && fs::exists(steps_path);
  const std::string kept = has_steps ? steps_until(read_file(steps_path), done.steps) : "";
  const std::vector<std::string> lines = lines_of(kept);
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return parse_json(line).contains("loss");
  });
  if (last != lines.rend()) last_kept_step_ = parse_step(task_, *last);
  if (last != lines.rbegin()) last_kept_fingerprint_ = parse_step(task_, lines.back())->step;
  write_file_atomically(steps_path, kept);
  steps_ = AppendFile(steps_path);
}

void RunLog::epoch(const EpochRow& row) {
  epochs_.push_back(row);
  write_file_atomically(csv_path_, format_epochs(task_, epochs_));
}

void RunLog::fingerprint(const FingerprintRow& row) {
  if (row.step == last_kept_fingerprint_) return;
  nlohmann::ordered_json line{
      {"step", row.step}, {"epoch", row.epoch}, {"fingerprint", row.fingerprint}};
  if (row.ends_run) line[kEndsRun] = true;
  steps_.append(json_text(line) + "\n");
  steps_.flush();
}

void RunLog::step(const StepRow& row) {
  steps_.append(format_step(task_, row));
  steps_.flush();
}

}  // namespace fovea
