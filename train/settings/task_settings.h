// Interface for the settings that belong to a single task.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/fields.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "models/task_kind.h"
#include "train/loop/task.h"

namespace fovea {

struct TrainConfig;

/// Made for each run by the task's row in train/start/tasks.cpp. Functions may read the run's other
/// settings in `config`.
class TaskSettings {
 public:
  virtual ~TaskSettings() = default;
  [[nodiscard]] virtual std::unique_ptr<TaskSettings> clone() const = 0;
  [[nodiscard]] virtual TaskKind kind() const = 0;

  /// Adds the task's own fields, and fields of those options in `config` that not every task uses.
  virtual void add_fields(Fields& fields, TrainConfig& config) = 0;
  /// Throws UsageError if settings contradict each other.
  virtual void check(const TrainConfig& config) const = 0;
  /// Adds notices about doubtful settings.
  virtual void note(const TrainConfig& /*config*/, Notices& /*notices*/) const {}
  /// Description of the values that a run logs.
  [[nodiscard]] virtual TaskInfo info(const TrainConfig& config) const = 0;
  /// Makes the task for training on `images`, which must outlive the task; `images` may be null if
  /// no loss will be computed. Requires a successful check().
  [[nodiscard]] virtual std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                         const Dataset* images) const = 0;
  /// Settings of a new run that follow from its others; a resumed run keeps what it has.
  [[nodiscard]] virtual std::vector<Setting> derived_settings(const TrainConfig&) const {
    return {};
  }
  /// Clears settings that only the loss needs, such as files that may no longer exist. The task
  /// will then prepare batches only for inspection.
  virtual void forget_files() {}
  /// Sets values for saved configurations that predate a setting, where these differ from the
  /// setting's default.
  virtual void precede_settings() {}
};

/// The settings of `task`, which are copied as a `Derived`.
template <class Derived, TaskKind task>
class TaskSettingsOf : public TaskSettings {
 public:
  [[nodiscard]] std::unique_ptr<TaskSettings> clone() const final {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  [[nodiscard]] TaskKind kind() const final { return task; }
};

/// Owns a task's settings with value semantics. An empty or moved-from object must not be used.
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
