// What evaluations of all tasks have in common: models one after the other, and what is printed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/common/progress_line.h"
#include "apps/tasks/evaluate_request.h"
#include "engine/base/notices.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {

class EvaluationSession {
 public:
  /// `request` must outlive this object.
  explicit EvaluationSession(const EvaluateRequest& request) : request_(request) {}

  [[nodiscard]] const EvaluateRequest& request() const { return request_; }

  /// Loads each checkpoint at each size in turn and prints its notes.
  void for_each_model(const std::function<void(const LoadedModel& trained)>& use);
  /// The request's options for a model, with a progress line over `images` images.
  [[nodiscard]] ClassifierOptions options(const LoadedModel& trained, std::int64_t images);

  void print(const std::string& text) { line_.print(text); }
  /// Prints a note once, even if several models or sizes give it; "" is none.
  void note(const std::string& text);
  /// Names the broken images. Throws if outputs of the model were not finite.
  void report(const EvaluationPass& pass, const LoadedModel& trained);
  void print_written(const std::vector<std::filesystem::path>& files);
  /// Prints the table of all models; the first process writes the files --csv and --json.
  void finish(const std::string& table, const std::string& csv, const std::string& json = "");

 private:
  const EvaluateRequest& request_;
  ProgressLine line_{/*descriptor=*/1};
  Notices notes_;  ///< those printed
};

}  // namespace fovea
