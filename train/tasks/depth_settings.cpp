// The settings of the depth task: how depth is measured after each epoch.
#include "engine/base/text.h"
#include "train/settings/config.h"
#include "train/tasks/depth.h"
#include "train/tasks/depth_sample.h"

namespace fovea {
namespace {

/// The range of the training images' depths, by which a wrong scale shows.
Notices notices_about(const DatasetOptions& data, const Dataset& images) {
  Notices notices;
  const DepthSample sample = sample_depths(images, {});
  const std::string scale =
      data.name == "depth_pairs" ? concat(" (--depth-scale ", data.depth_scale, ")") : "";
  if (sample.known > 0) {
    notices.add("depths in ", sample.maps, " maps: ", range_text(sample), scale);
  } else if (sample.maps > 0) {
    notices.add("none of ", sample.maps, " training maps looked at has a known depth");
  }
  return notices;
}

class DepthSettings : public TaskSettingsOf<DepthSettings, TaskKind::depth> {
 public:
  void add_fields(Fields& fields, TrainConfig& config) override {
    FieldGroup depth(fields, "Depth");
    depth.add("protocol", &protocol_,
              "evaluation protocol, words joined by +: full or eigen (crop), filled or raw, median "
              "(alignment), least=METRES, most=METRES or most=none (default of depth_pairs; "
              "otherwise 10 m)");
    depth
        .number("depth-scale", &config.data.depth_scale,
                "depth_pairs: values of a depth map per metre; 1000: millimetres, 256: KITTI, "
                "5000: TUM",
                {1e-3, 1e6})
        .fixed = true;
  }
  void check(const TrainConfig&) const override {
    try {
      static_cast<void>(parse_protocol(protocol_));
    } catch (const Error& error) {
      throw UsageError(std::string("--") + error.what());
    }
  }
  /// Own pairs may show streets: without a word most= depths of any size count.
  [[nodiscard]] std::vector<Setting> derived_settings(const TrainConfig& config) const override {
    if (config.data.name != "depth_pairs" || protocol_.find("most=") != std::string::npos)
      return {};
    return {{"protocol", protocol_ + "+most=none", kDerived}};
  }
  [[nodiscard]] TaskInfo info(const TrainConfig&) const override { return depth_info(); }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* images) const override {
    const Notices notices = images == nullptr ? Notices() : notices_about(config.data, *images);
    return std::make_unique<DepthEstimation>(model, parse_protocol(protocol_), images, notices);
  }

 private:
  std::string protocol_ = "full";
};

}  // namespace

std::unique_ptr<TaskSettings> depth_settings() { return std::make_unique<DepthSettings>(); }

}  // namespace fovea
