// The sections of a run's report, in order of importance.
#include "report/page.h"

#include <algorithm>
#include <cmath>

#include "data/figures/colormap.h"
#include "data/figures/plot.h"
#include "engine/base/text.h"
#include "report/page_style.h"
#include "train/run/log_charts.h"
#include "train/run/recorder.h"
#include "train/run/run_log.h"

namespace fovea {
namespace {

/// A section of the page with a heading, open during the object's lifetime.
class PageSection {
 public:
  PageSection(Html& html, std::string_view id, std::string_view heading)
      : element_(html, "section", {{"id", id}}) {
    html.element("h2", heading);
  }

 private:
  Html::Element element_;
};

void add_tile(Html& html, std::string_view label, std::string_view value) {
  const auto tile = html.inside("div");
  html.element("dt", label).element("dd", value);
}

void add_best_scores(Html& html, const RunPage& page) {
  const std::vector<std::int64_t> best = best_epochs(page.task, page.epochs, 1);
  for (const EpochRow& row : page.epochs) {
    if (best.empty() || row.epoch != best.front()) continue;
    for (std::size_t i = 0; i < row.eval.size(); ++i) {
      if (page.task.measures[i].is_trivial) continue;
      add_tile(html, "held-out " + page.task.measures[i].title,
               page.task.measures[i].text(row.eval[i]));
    }
  }
}

void add_tiles(Html& html, const RunPage& page) {
  const auto tiles = html.inside("dl", {{"class", "tiles"}});
  for (const auto& [label, value] : page.scores) add_tile(html, label, value);
  if (page.scores.empty()) add_best_scores(html, page);
  if (page.epochs.empty()) return;
  double seconds = 0;
  for (const EpochRow& row : page.epochs) seconds += row.seconds;
  add_tile(html, "epochs", std::to_string(page.epochs.size()));
  add_tile(html, "time", format_duration(seconds));
}

void add_summary(Html& html, const RunPage& page) {
  const auto section = html.inside("section", {{"id", "summary"}, {"aria-label", "Summary"}});
  add_tiles(html, page);
  {
    const auto facts = html.inside("dl", {{"class", "facts"}});
    for (const auto& [label, value] : page.facts) html.element("dt", label).element("dd", value);
  }
  if (!page.no_evaluation.empty()) {
    html.element("p", page.no_evaluation, {{"class", "note"}});
  }
}

/// A value of a group as a cell; empty if the epoch lacks it, "-" if there was nothing to measure.
std::string cell_of(const std::vector<double>& group, std::size_t index, int digits) {
  if (group.empty()) return "";
  return std::isnan(group.at(index)) ? "-" : fixed_text(group.at(index), digits);
}

std::vector<std::string> epoch_heads(const TaskInfo& task) {
  std::vector<std::string> heads{"epoch", "training loss"};
  for (const std::string& part : task.loss_parts) heads.push_back("loss from " + part);
  for (const Measure& m : task.measures) {
    if (m.is_trivial) continue;
    heads.push_back(m.is_percent ? m.title + ", %" : "held-out " + m.title);
  }
  const Measure& best = task.best_measure();
  heads.push_back("EMA " + best.title + (best.is_percent ? ", %" : ""));
  heads.insert(heads.end(), {"learning rate", "images/s", "seconds"});
  return heads;
}

std::vector<std::string> epoch_cells(const TaskInfo& task, const EpochRow& row) {
  const auto digits = [&](std::size_t i) { return task.measures[i].is_percent ? 2 : 4; };
  std::vector<std::string> cells{std::to_string(row.epoch + 1), loss_text(row.train_loss, 4)};
  for (std::size_t i = 0; i < task.loss_parts.size(); ++i) {
    cells.push_back(cell_of(row.train_parts, i, 4));
  }
  for (std::size_t i = 0; i < task.measures.size(); ++i) {
    if (!task.measures[i].is_trivial) cells.push_back(cell_of(row.eval, i, digits(i)));
  }
  cells.push_back(cell_of(row.ema, task.best, digits(task.best)));
  cells.insert(cells.end(),
               {general_text(row.lr, 3), fixed_text(row.img_s, 0), fixed_text(row.seconds, 1)});
  return cells;
}

void add_epoch_table(Html& html, const RunPage& page) {
  const auto details = html.inside("details");
  html.element("summary", "Table of all epochs");
  std::vector<std::vector<std::string>> rows;
  for (const EpochRow& row : page.epochs) rows.push_back(epoch_cells(page.task, row));
  html.table(epoch_heads(page.task), rows);
}

/// A sheet of small pictures, enlarged by a whole number to at most the width of the page, where it
/// is shown pixel by pixel; a wider one scrolls.
void add_sheet(Html& html, const Image& sheet, std::string_view alternative, bool small) {
  constexpr std::int64_t kPageWidth = 1000;
  const std::int64_t factor = small ? std::max<std::int64_t>(1, kPageWidth / sheet.width) : 1;
  const auto figure = html.inside("div", {{"class", "figure"}});
  html.image("image/png", encode_png(factor == 1 ? sheet : enlarged(sheet, factor)), alternative,
             {{"class", small ? "sheet pixels" : "sheet"}});
}

void add_picture(Html& html, const RunPage& page) {
  const std::string said =
      concat(page.task.picture_shows, " after epoch ", page.picture_epoch + 1, ".");
  const PageSection section(html, "pictures", page.task.pictures);
  html.element("p", said + " Images of other epochs are in the run's pictures folder.",
               {{"class", "text"}});
  add_sheet(html, page.picture, said, /*small=*/true);
}

void add_curves(Html& html, const RunPage& page) {
  const PageSection section(html, "curves", "Curves");
  if (page.epochs.empty()) {
    html.element("p", "No epoch has finished yet.", {{"class", "note"}});
    return;
  }
  const EpochRow& last = page.epochs.back();
  std::string said = "Metrics per epoch. After epoch " + std::to_string(last.epoch + 1) +
                     ": training loss " + loss_text(last.train_loss, 4);
  if (!last.eval.empty()) {
    const Measure& measure = page.task.best_measure();
    said += ", held-out " + measure.title + " " + measure.text(page.task.best_score(last.eval));
  }
  html.figure(svg_of_charts(log_charts(page.task, page.epochs), kChartsInRow), said + ".");
  add_epoch_table(html, page);
}

void add_samples(Html& html, const RunPage& page) {
  const PageSection section(html, "samples", "Training images");
  html.element("p", page.samples_note, {{"class", page.samples.height > 0 ? "text" : "note"}});
  if (page.samples.height == 0) return;
  add_sheet(html, page.samples, "Training images after augmentation, in rows",
            page.sample_side <= kMaxPixelSide);
}

/// Adds one table per group; in `page.settings` the settings of a group are consecutive.
void add_settings(Html& html, const RunPage& page) {
  const PageSection section(html, "settings", "Settings");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < page.settings.size(); ++i) {
    const RunPage::Setting& setting = page.settings[i];
    rows.push_back({setting.name, setting.value, setting.help});
    const bool ends_group =
        i + 1 == page.settings.size() || page.settings[i + 1].group != setting.group;
    if (!ends_group) continue;
    html.element("h3", setting.group).table({"setting", "value", "meaning"}, rows);
    rows.clear();
  }
}

void add_navigation(Html& html, const RunPage& page) {
  const auto nav = html.inside("nav", {{"aria-label", "Sections"}});
  const auto list = html.inside("ul");
  const auto link = [&](std::string_view address, std::string_view text) {
    const auto item = html.inside("li");
    html.element("a", text, {{"href", address}});
  };
  link("#curves", "Curves");
  if (page.picture.height > 0) link("#pictures", page.task.pictures);
  for (const Section& section : page.details) link("#" + section.id, section.heading);
  link("#samples", "Training images");
  link("#settings", "Settings");
}

void add_header(Html& html, const RunPage& page) {
  const auto header = html.inside("header");
  html.element("h1", page.title);
  add_navigation(html, page);
}

void add_main(Html& html, const RunPage& page) {
  const auto main = html.inside("main");
  add_summary(html, page);
  add_curves(html, page);
  if (page.picture.height > 0) add_picture(html, page);
  for (const Section& details : page.details) {
    const PageSection section(html, details.id, details.heading);
    details.write(html);
  }
  add_samples(html, page);
  add_settings(html, page);
}

}  // namespace

std::vector<RunPage::Setting> settings_of(const Fields& fields) {
  std::vector<std::string> groups;
  for (const Field& field : fields) {
    if (std::find(groups.begin(), groups.end(), field.group) == groups.end()) {
      groups.push_back(field.group);
    }
  }
  std::vector<RunPage::Setting> settings;
  for (const std::string& group : groups) {
    for (const Field& field : fields) {
      const std::string value = field_text(field);
      if (field.group != group || !field.saved || value.empty()) continue;
      settings.push_back({group, field.name, value, field.help});
    }
  }
  return settings;
}

std::string html_of(const RunPage& page) {
  Html html(page.title, kPageStyle, kPageScript);
  add_header(html, page);
  add_main(html, page);
  return std::move(html).finish();
}

}  // namespace fovea
