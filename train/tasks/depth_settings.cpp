// The settings of the depth task: how depth is measured after each epoch.
#include "train/settings/config.h"
#include "train/tasks/depth.h"

namespace fovea {
namespace {

class DepthSettings : public TaskSettingsOf<DepthSettings, TaskKind::depth> {
 public:
  void add_fields(Fields& fields, TrainConfig&) override {
    FieldGroup(fields, "Depth")
        .add("protocol", &protocol_,
             "evaluation protocol, words joined by +: full or eigen (crop), filled or raw, median "
             "(alignment), least=METRES, most=METRES");
  }
  void check(const TrainConfig&) const override {
    try {
      static_cast<void>(parse_protocol(protocol_));
    } catch (const Error& error) {
      throw UsageError(std::string("--") + error.what());
    }
  }
  [[nodiscard]] TaskInfo info(const TrainConfig&) const override { return depth_info(); }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig&, Model& model,
                                                 const Dataset* images) const override {
    return std::make_unique<DepthEstimation>(model, parse_protocol(protocol_), images);
  }

 private:
  std::string protocol_ = "full";
};

}  // namespace

std::unique_ptr<TaskSettings> depth_settings() { return std::make_unique<DepthSettings>(); }

}  // namespace fovea
