// The page about a run: one HTML file that needs nothing but itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/evaluations.h"
#include "report/mistakes.h"
#include "settings/options.h"
#include "train/run_log.h"

namespace fovea {

/// All that the page shows. What is absent is left out, or replaced by the note that says why.
struct RunPage {
  struct Setting {
    std::string group, name, value, help;
  };

  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  ///< model, parameters, ...
  TaskInfo task;
  std::vector<EpochRow> epochs;

  std::optional<EvaluatedModel> evaluation;
  std::string no_evaluation;
  std::vector<Mistake> mistakes;

  Image picture;  ///< what the model made of held-out images after picture_epoch; empty: none
  std::int64_t picture_epoch = 0;

  Image samples;                 ///< training images as the model saw them, in rows; empty: none
  std::int64_t sample_side = 0;  ///< of one of them, in pixels
  std::string samples_note;      ///< what was done to them, or why there are none

  std::vector<Setting> settings;
};

[[nodiscard]] std::vector<RunPage::Setting> settings_of(const Fields& fields);

[[nodiscard]] std::string html_of(const RunPage& page);

}  // namespace fovea
