// A row of log.csv by the names of its columns: for whoever shows some of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/run/run_log.h"

namespace fovea {

/// A column after the first, which is the epoch, and what a row has there.
struct LoggedValue {
  std::string column;           ///< "train_loss", "eval_top1", "lr", ...
  std::optional<double> value;  ///< nothing: not measured
};
/// In the order of the columns.
[[nodiscard]] std::vector<LoggedValue> logged_values(const TaskInfo& task, const EpochRow& row);

}  // namespace fovea
