// The values of a log.csv row by column name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/run/run_log.h"

namespace fovea {

/// A column of a row, except the epoch column.
struct LoggedValue {
  std::string column;           ///< "train_loss", "eval_top1", "lr", ...
  std::optional<double> value;  ///< empty: not measured
};
/// Values in the order of the columns.
[[nodiscard]] std::vector<LoggedValue> logged_values(const TaskInfo& task, const EpochRow& row);

}  // namespace fovea
