// What evaluations of all tasks have in common: models one after the other, and what is printed.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
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
  /// The weights' own folder, for the files about a single checkpoint on validation images. Empty
  /// for others, and with a note if the folder cannot be written.
  [[nodiscard]] std::optional<std::filesystem::path> own_folder(const LoadedModel& trained);
  /// The first process writes files, whose names are printed. A failure waits for throw_failure(),
  /// so that the results are printed in any case.
  using WriteFiles = std::function<std::vector<std::filesystem::path>()>;
  void write(const WriteFiles& files);
  /// Prints the table of all models; the first process writes the files --csv and --json, the
  /// latter with the notes as "notes" if there are any.
  void finish(const std::string& table, const std::string& csv, const std::string& json = "");
  /// Throws the first failure of write(), if there is one.
  void throw_failure() const;

 private:
  const EvaluateRequest& request_;
  ProgressLine line_{/*descriptor=*/1};
  Notices notes_;  ///< those printed
  std::exception_ptr failure_;
};

}  // namespace fovea
