// The settings that one task has and others do not, behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/fields.h"
#include "models/model.h"
#include "models/task_kind.h"
#include "train/loop/task.h"

namespace fovea {

struct TrainConfig;

/// Made for each run by the task's row in train/start/tasks.cpp. The other settings of the run,
/// `config`, are there to be looked at.
class TaskSettings {
 public:
  virtual ~TaskSettings() = default;
  [[nodiscard]] virtual std::unique_ptr<TaskSettings> clone() const = 0;
  [[nodiscard]] virtual TaskKind kind() const = 0;

  /// Its own fields, and those of options in `config` that not every task has a use for.
  virtual void add_fields(Fields& fields, TrainConfig& config) = 0;
  /// Throws UsageError where settings do not fit each other.
  virtual void check(const TrainConfig& config) const = 0;
  /// What a run logs.
  [[nodiscard]] virtual TaskInfo info(const TrainConfig& config) const = 0;
  /// For training on `images`, which must outlive the call; null where no loss will ask for them.
  /// The settings must have been checked.
  [[nodiscard]] virtual std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                         const Dataset* images) const = 0;
  /// Leaves out what only the loss needs, files that may be gone by now: the task will prepare
  /// batches to be looked at.
  virtual void forget_files() {}
  /// Sets what runs had before a setting came to be, where that is not its default: saved settings
  /// that do not speak of it mean that.
  virtual void precede_settings() {}
};

/// A task's settings by value. One that is empty or was moved from must not be used.
class AnyTaskSettings {
 public:
  AnyTaskSettings() = default;
  explicit AnyTaskSettings(std::unique_ptr<TaskSettings> settings)
      : settings_(std::move(settings)) {}
  AnyTaskSettings(const AnyTaskSettings& other)
      : settings_(other.settings_ ? other.settings_->clone() : nullptr) {}
  AnyTaskSettings(AnyTaskSettings&&) noexcept = default;
  AnyTaskSettings& operator=(AnyTaskSettings other) noexcept {
    settings_ = std::move(other.settings_);
    return *this;
  }
  ~AnyTaskSettings() = default;

  TaskSettings& operator*() const { return *settings_; }
  TaskSettings* operator->() const { return settings_.get(); }

 private:
  std::unique_ptr<TaskSettings> settings_;
};

}  // namespace fovea
