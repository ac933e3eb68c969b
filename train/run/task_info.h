// Description of a task for logs, charts and reports, independent of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/packed/latent_source.h"
#include "models/diffusion/process.h"

namespace fovea {

/// A metric of an evaluation.
struct Measure {
  std::string name;      ///< name in logs, "eval_top1", and in tags, "eval/top1"
  std::string title;     ///< name for people: "top-1"
  bool is_loss = false;  ///< the training objective on held-out images
  std::string chart{};   ///< heading of the chart that it shares with others; "": the losses'
  bool is_percent = false;
  bool more_is_better = false;
  bool is_detail = false;   ///< in logs and reports, but not in the console's lines and the charts
  bool is_trivial = false;  ///< always the same, such as top-5 of five classes: only in logs
  std::string former_name{};  ///< in logs of earlier versions, if it was another
  bool is_recent = false;     ///< logs of earlier versions may lack it

  /// Formatted value, "93.75 %" or "0.1234"; "-" for NaN.
  [[nodiscard]] std::string text(double value) const;
};

/// Metrics in the order of TaskInfo::measures; empty: not measured. A metric with nothing to
/// average over, such as average precision without objects, is NaN: shown as a dash, and never the
/// best.
using Scores = std::vector<double>;

/// The criterion for ranking epochs.
struct EpochRank {
  double score = 0;              ///< value of the main metric
  std::optional<double> loss{};  ///< held-out loss if measured: breaks ties

  friend bool operator==(const EpochRank&, const EpochRank&) = default;
};

/// Sums over samples, so that those of the parts of a data set add up to those of the whole.
struct ScoreSums {
  /// Sums in the order of TaskInfo::measures, unless the task overrides from_sums(), for example if
  /// an image has several boxes or pixels.
  std::vector<double> values{};
  std::int64_t count = 0;  ///< number of samples

  /// Throws unless both have equally many values.
  ScoreSums& operator+=(const ScoreSums& other);
  friend bool operator==(const ScoreSums&, const ScoreSums&) = default;
};

struct NextStep {
  std::string result, command;  ///< "accuracy per class" and "./run evaluate RUN"
};

/// The metrics of a task, with their names and formats.
struct TaskInfo {
  std::vector<std::string> loss_parts{};  ///< parts of the loss, as in logs: "train_<part>"
  std::vector<Measure> measures;
  std::size_t best = 0;    ///< index of the metric for the best epoch and plateau schedules
  std::string pictures{};  ///< heading of the picture after an epoch, or ""
  std::string picture_shows = "Held-out images";  ///< its content, for a caption
  std::vector<NextStep> next_steps{};             ///< for after the run, with RUN for its folder
  bool needs_labels = false;                      ///< the data set must have labels
  bool has_data_classes = false;            ///< the model's num_classes comes from the data set
  bool has_class_report = false;            ///< the run's report evaluates each class
  bool has_divisors = false;                ///< see Task::divisors()
  bool has_targets = false;                 ///< images have boxes or maps, which must fit them
  bool needs_training_images = false;       ///< so does an evaluation, for its baselines
  bool takes_raw_pixels = false;            ///< prepare() reads no values of images: see Batch::raw
  bool decides_on_host = false;             ///< its loss reads values of the device
  std::int64_t batch_multiple = 1;          ///< batch sizes must be a multiple of this
  std::string prepared{};                   ///< description of prepare()'s effect on images, or ""
  bool encodes_images = false;              ///< the model sees latents of the images
  std::optional<ProcessOptions> process{};  ///< the noise that a diffusion model learns to remove
  // Set by the task itself if it encodes images:
  std::int64_t image_scale = 1;  ///< side of an image divided by that of the model's input
  std::optional<LatentSource> latents{};

  [[nodiscard]] const Measure& best_measure() const { return measures.at(best); }
  [[nodiscard]] double best_score(const Scores& scores) const { return scores.at(best); }
  /// Sums divided by their count, times 100 if is_percent; 0 without samples.
  [[nodiscard]] Scores means(const ScoreSums& sums) const;
  [[nodiscard]] EpochRank rank(const Scores& scores) const;
  [[nodiscard]] bool is_better(double score, double than) const {
    return best_measure().more_is_better ? score > than : score < than;
  }
  /// Ties are broken by the smaller loss.
  [[nodiscard]] bool is_better(const EpochRank& rank, const EpochRank& than) const;
};

}  // namespace fovea
