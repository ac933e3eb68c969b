// The page about a run: one HTML file that needs nothing but itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "data/image.h"
#include "report/html.h"
#include "train/run/run_log.h"

namespace fovea {

/// A part of the page, with a link to it.
struct Section {
  std::string id, heading;
  std::function<void(Html&)> write;  ///< what stands below the heading
};

/// All that the page shows. What is absent is left out, or replaced by the note that says why.
struct RunPage {
  struct Setting {
    std::string group, name, value, help;
  };

  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  ///< model, parameters, ...
  TaskInfo task;
  std::vector<EpochRow> epochs;

  /// What an evaluation found, label and value; none: those of the best epoch in the log are shown.
  std::vector<std::pair<std::string, std::string>> scores;
  std::vector<Section> details;  ///< of the evaluation
  std::string no_evaluation;     ///< why there is none, or ""

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
