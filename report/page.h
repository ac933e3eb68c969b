// The report of a run: one self-contained HTML file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/image.h"
#include "engine/base/fields.h"
#include "report/html.h"
#include "train/run/run_log.h"

namespace fovea {

/// Images of at most this side in pixels are enlarged with sharp pixels, larger ones smoothly.
inline constexpr std::int64_t kMaxPixelSide = 96;

/// A section of the page, with a link to it.
struct Section {
  std::string id, heading;
  std::function<void(Html&)> write;  ///< writes the content below the heading
};

/// Content of the page. Missing parts are omitted or replaced by a note with the reason.
struct RunPage {
  struct Setting {
    std::string group, name, value, help;
  };

  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  ///< model, parameters, ...
  TaskInfo task;
  std::vector<EpochRow> epochs;

  /// Label and value of each evaluation result; if empty, the best epoch's scores from the log are
  /// shown.
  std::vector<std::pair<std::string, std::string>> scores;
  std::vector<Section> details;  ///< sections of the evaluation
  std::string no_evaluation;     ///< reason for a missing evaluation, or ""

  Image picture;  ///< the model's output on held-out images after picture_epoch; empty: none
  std::int64_t picture_epoch = 0;

  Image samples;                 ///< training images as seen by the model, in rows; empty: none
  std::int64_t sample_side = 0;  ///< side of one image in pixels
  std::string samples_note;  ///< description of their augmentation, or the reason for their absence

  std::vector<Setting> settings;
};

/// The saved settings that have a value, group by group.
[[nodiscard]] std::vector<RunPage::Setting> settings_of(const Fields& fields);

/// The page as a document.
[[nodiscard]] std::string html_of(const RunPage& page);

}  // namespace fovea
