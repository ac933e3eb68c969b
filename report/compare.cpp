// Tables and charts over groups of runs.
#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/base/csv.h"
#include "engine/base/fields.h"
#include "engine/base/text.h"
#include "train/run/logged_values.h"

namespace fovea {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string column_of(const Measure& measure) { return "eval_" + measure.name; }

std::string title_of(const Measure& measure, const char* unit) {
  return measure.title + (measure.is_percent ? unit : "");
}

/// Losses are shown with significant digits, however small.
std::string score_text(const Measure& measure, double value) {
  return measure.is_percent ? fixed_text(value, 2) : general_text(value, 5);
}

/// A chart without lines, titled with the metric's title or the column's name.
Chart empty_chart(const TaskInfo& task, const std::string& column) {
  for (const Measure& measure : task.measures) {
    const std::string title = measure.chart.empty() ? "Held-out images" : measure.chart;
    const std::string y_label = title_of(measure, ", percent");
    if (column == column_of(measure)) return {title, "epochs", y_label, {}};
    if (column == "ema_" + measure.name) return {title + ", EMA", "epochs", y_label, {}};
  }
  if (column == "lr") return {"Training", "epochs", "learning rate", {}};
  if (column == "img_s") return {"Training", "epochs", "images per second", {}};
  if (column == "seconds") return {"Time per epoch", "epochs", "seconds", {}};
  if (column == "train_loss") return {"Training", "epochs", "loss", {}};
  // Any other column is a part of the loss: "train_" and its name.
  return {"Training", "epochs", "loss, " + column.substr(std::string("train_").size()), {}};
}

Series series_of(const RunGroup& group, const std::string& column) {
  Series series{group.label, {}, {}};
  for (std::int64_t epoch = 0; epoch < group.epochs(); ++epoch) {
    const std::vector<double> values = group.values(column, epoch);
    if (values.empty()) continue;
    series.x.push_back(static_cast<double>(epoch + 1));
    series.y.push_back(mean(values));
  }
  return series;
}

/// The values of a measure at the epoch that the table shows, of the runs that have it.
std::vector<double> shown_values(const RunGroup& group, const Measure& measure, ShownEpoch shown) {
  std::vector<double> values;
  const std::int64_t last = group.evaluated_epochs() - 1;
  for (const LoggedRun& run : group.runs) {
    const std::int64_t epoch = shown == ShownEpoch::best ? run.best_epoch() : last;
    if (epoch < 0) continue;
    if (const auto value = run.value(column_of(measure), epoch)) values.push_back(*value);
  }
  return values;
}

/// The number of epochs or, of each run, its best one, counted from 1 as the console does.
std::string epochs_text(const RunGroup& group, ShownEpoch shown) {
  if (shown == ShownEpoch::last) return std::to_string(group.evaluated_epochs());
  std::vector<std::string> epochs;
  for (const LoggedRun& run : group.runs) {
    const std::int64_t best = run.best_epoch();
    epochs.push_back(best < 0 ? "-" : std::to_string(best + 1));
  }
  return join(epochs, ", ");
}

/// The columns with a value in at least one run.
std::vector<std::string> filled_columns(const RunComparison& comparison) {
  std::set<std::string> filled;
  for (const RunGroup& group : comparison.groups) {
    for (const LoggedRun& run : group.runs) {
      for (const EpochRow& row : run.rows) {
        for (const LoggedValue& logged : logged_values(run.task, row)) {
          if (logged.value) filled.insert(logged.column);
        }
      }
    }
  }
  std::vector<std::string> columns = comparison.columns();
  std::erase_if(columns, [&](const std::string& column) { return !filled.contains(column); });
  return columns;
}

/// The column of a curve by its name. Throws UsageError.
std::string chosen_column(const RunComparison& comparison, const std::string& curve) {
  std::vector<std::string> known = filled_columns(comparison);
  for (const std::string& column : {"eval_" + curve, curve}) {
    if (std::find(known.begin(), known.end(), column) != known.end()) return column;
  }
  for (std::string& column : known) {
    if (column.starts_with("eval_")) column.erase(0, std::string("eval_").size());
  }
  throw UsageError("--curve: got " + curve + ", expected one of " + join(known, ", ") +
                   ", the logged columns");
}

}  // namespace

std::optional<double> LoggedRun::value(const std::string& column, std::int64_t epoch) const {
  for (const LoggedValue& logged : logged_values(task, rows.at(static_cast<std::size_t>(epoch)))) {
    if (logged.column == column) return logged.value;
  }
  return {};
}

std::int64_t LoggedRun::best_epoch() const {
  std::int64_t best = -1;
  EpochRank most;
  for (std::int64_t epoch = 0; epoch < std::ssize(rows); ++epoch) {
    const Scores& scores = rows[static_cast<std::size_t>(epoch)].eval;
    if (scores.empty()) continue;
    const EpochRank rank = task.rank(scores);
    if (std::isnan(rank.score)) continue;
    if (best >= 0 && !task.is_better(rank, most)) continue;
    best = epoch;
    most = rank;
  }
  return best;
}

std::int64_t RunGroup::epochs() const {
  std::size_t common = runs.empty() ? 0 : runs.front().rows.size();
  for (const LoggedRun& run : runs) common = std::min(common, run.rows.size());
  return static_cast<std::int64_t>(common);
}

std::int64_t RunGroup::evaluated_epochs() const {
  const auto is_evaluated = [](const LoggedRun& run, std::int64_t epoch) {
    return !run.rows[static_cast<std::size_t>(epoch)].eval.empty();
  };
  for (std::int64_t epoch = epochs() - 1; epoch >= 0; --epoch) {
    const auto in = [&](const LoggedRun& run) { return is_evaluated(run, epoch); };
    if (std::ranges::all_of(runs, in)) return epoch + 1;
  }
  return epochs();
}

std::vector<double> RunGroup::values(const std::string& column, std::int64_t epoch) const {
  std::vector<double> values;
  for (const LoggedRun& run : runs) {
    const std::optional<double> value = run.value(column, epoch);
    if (value) values.push_back(*value);
  }
  return values;
}

std::vector<std::string> RunComparison::columns() const {
  std::vector<std::string> columns;
  for (const RunGroup& group : groups) {
    for (const LoggedRun& run : group.runs) {
      for (const LoggedValue& logged : logged_values(run.task, {})) {
        const bool is_new =
            std::find(columns.begin(), columns.end(), logged.column) == columns.end();
        if (is_new) columns.push_back(logged.column);
      }
    }
  }
  return columns;
}

std::string comparison_table(const RunComparison& comparison) {
  const TaskInfo& task = comparison.task;
  const Measure& best = task.best_measure();
  std::vector<Measure> others = task.measures;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(task.best));
  std::erase_if(others, [](const Measure& measure) { return measure.is_trivial; });
  const bool is_best = comparison.shown == ShownEpoch::best;
  std::string header = std::string("| run | seeds | ") + (is_best ? "best epoch" : "epochs") +
                       " | " + title_of(best, ", %") + " | lowest | highest |";
  std::string line = "|---|---|---|---|---|---|";
  for (const Measure& measure : others) {
    header += " " + title_of(measure, ", %") + " |";
    line += "---|";
  }
  std::string table = header + "\n" + line + "\n";
  for (const RunGroup& group : comparison.groups) {
    const auto cell = [&](const Measure& measure, const auto& of) {
      const std::vector<double> values = shown_values(group, measure, comparison.shown);
      return values.empty() ? " |" : " " + score_text(measure, of(values)) + " |";
    };
    const auto lowest = [](const auto& values) { return std::ranges::min(values); };
    const auto highest = [](const auto& values) { return std::ranges::max(values); };
    table += "| " + group.label + " | " + std::to_string(group.runs.size()) + " | " +
             epochs_text(group, comparison.shown) + " |" + cell(best, mean) + cell(best, lowest) +
             cell(best, highest);
    for (const Measure& measure : others) table += cell(measure, mean);
    table += "\n";
  }
  return table;
}

std::string shown_epoch_text(const RunComparison& comparison) {
  const std::string best = comparison.task.best_measure().title;
  if (comparison.shown == ShownEpoch::best) {
    return "Scores of each run's best epoch by " + best + ", whose weights evaluate takes.";
  }
  return "Scores after the last evaluated epoch that all runs of a row have, not the best\n"
         "one (--epoch best).";
}

std::string comparison_csv(const RunComparison& comparison) {
  const std::vector<std::string> columns = comparison.columns();
  Csv csv("label,run,epoch," + join(columns, ","));
  for (const RunGroup& group : comparison.groups) {
    for (std::size_t i = 0; i < group.runs.size(); ++i) {
      const LoggedRun& run = group.runs[i];
      for (std::int64_t epoch = 0; epoch < std::ssize(run.rows); ++epoch) {
        csv.cell(group.label).cell(i + 1).cell(run.rows[static_cast<std::size_t>(epoch)].epoch);
        for (const std::string& column : columns) csv.cell(run.value(column, epoch));
        csv.end_row();
      }
    }
  }
  return csv.text();
}

Chart comparison_chart(const RunComparison& comparison, const std::string& curve) {
  const std::string column =
      curve.empty() ? column_of(comparison.task.best_measure()) : chosen_column(comparison, curve);
  Chart chart = empty_chart(comparison.task, column);
  for (const RunGroup& group : comparison.groups) chart.series.push_back(series_of(group, column));
  return chart;
}

}  // namespace fovea
