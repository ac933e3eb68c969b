// What the logs, charts and reports of a run know about its task, without its model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// A number that an evaluation measures.
struct Measure {
  std::string name;      ///< in logs, "eval_top1", and in tags, "eval/top1"
  std::string title;     ///< for people: "top-1"
  bool is_loss = false;  ///< what training makes small, of held-out images
  std::string chart{};   ///< heading of the chart that it is drawn in with others; "": the losses'
  bool is_percent = false;
  bool more_is_better = false;

  /// "93.75 %" or "0.1234".
  [[nodiscard]] std::string text(double value) const;
};

/// In the order of TaskInfo::measures; empty: not measured.
using Scores = std::vector<double>;

/// What epochs are ranked by.
struct EpochRank {
  double score = 0;              ///< of the best measure
  std::optional<double> loss{};  ///< held out, where it is measured: decides between equal scores

  friend bool operator==(const EpochRank&, const EpochRank&) = default;
};

/// What an evaluation adds up over samples, so that parts of a data set can be evaluated apart.
struct ScoreSums {
  /// In the order of TaskInfo::measures; others where the task has scores() of its own, as of what
  /// an image has several of: boxes, pixels.
  std::vector<double> values{};
  std::int64_t count = 0;  ///< samples

  /// Throws unless both have the same number of values.
  ScoreSums& operator+=(const ScoreSums& other);
  friend bool operator==(const ScoreSums&, const ScoreSums&) = default;
};

/// What a task measures, and how that is named and shown.
struct TaskInfo {
  std::vector<std::string> loss_parts{};  ///< beside the whole, as in logs: "train_<part>"
  std::vector<Measure> measures;
  std::size_t best = 0;       ///< the measure that chooses the best epoch and steers plateaus
  std::string pictures{};     ///< heading of the picture that an epoch ends with, or ""
  std::string next_steps;     ///< what to type when a run is done, RUN standing for its folder
  bool needs_labels = false;  ///< a data set must say what its images show
  bool outputs_are_classes = false;  ///< the model has an output for each class of the data set
  bool has_class_report = false;     ///< the page about a run judges it class by class
  std::int64_t batch_multiple = 1;   ///< images of a batch that belong together
  std::string prepared{};            ///< what prepare() does to images, for people, or ""

  [[nodiscard]] const Measure& best_measure() const { return measures.at(best); }
  [[nodiscard]] double best_score(const Scores& scores) const { return scores.at(best); }
  /// Sums by their count, where is_percent of 100; 0 of no sample.
  [[nodiscard]] Scores means(const ScoreSums& sums) const;
  [[nodiscard]] EpochRank rank(const Scores& scores) const;
  [[nodiscard]] bool is_better(double score, double than) const {
    return best_measure().more_is_better ? score > than : score < than;
  }
  /// Of equal scores the one with the smaller loss.
  [[nodiscard]] bool is_better(const EpochRank& rank, const EpochRank& than) const;
};

}  // namespace fovea
