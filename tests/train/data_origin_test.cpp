// Where a run's images come from: absolute folders, and what was held out.
#include "train/start/data_origin.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "train/run/weights_info.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Works in another folder during its own lifetime.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

/// Empty files in folders of two classes: lists of images do not read pictures.
void make_pictures(const fs::path& root, const std::string& prefix = "") {
  for (const char* name : {"cat", "dog"}) {
    fs::create_directories(root / name);
    for (int i = 0; i < 40; ++i)
      write_file_atomically(root / name / (prefix + std::to_string(i) + ".png"), "");
  }
}

TrainConfig config_on(const fs::path& folder, std::uint64_t seed = 42, double fraction = 0.2) {
  TrainConfig config = config_for(TaskKind::classification);
  config.data.name = "folder";
  config.data.data_dir = folder;
  config.data.index_cache = "none";
  config.data.val_fraction = fraction;
  config.data.val_rule = HoldOutRule::name;
  config.run.seed = seed;
  return config;
}

std::shared_ptr<const Dataset> held_out_images(const TrainConfig& config) {
  return open_dataset(dataset_options(config), Split::test);
}

/// Weights of a run with these settings.
fs::path weights_of(const TrainConfig& config, const fs::path& file) {
  const auto model = make_model("vit_tiny_patch16_32", {{"depth", 1}}, 1);
  WeightsInfo info;
  info.held_out = held_out_part(config, *held_out_images(config));
  weights_file(file, *model, {}, info).write();
  return file;
}

/// The note to a run that starts from these weights; "" if there is none.
std::string note_for(TrainConfig config, const fs::path& weights) {
  config.weights.finetune = weights.string();
  Notices notices;
  note_leak(config, *held_out_images(config), notices);
  return notices.texts().empty() ? "" : notices.texts().front();
}

}  // namespace

TEST_CASE("a relative data folder is found from elsewhere, as long as it exists") {
  const TemporaryFolder folder;
  make_pictures(folder / "there/pictures");
  make_pictures(folder / "here/pictures", "other");
  std::string settings;
  {
    const WorkingFolder there(folder / "there");
    const TrainConfig config = config_on("pictures");
    settings = settings_with_origin(config, *held_out_images(config));
  }
  CHECK(contains(settings, "\"data-dir\": \"pictures\""));
  CHECK(data_folder_in(settings) == (folder / "there/pictures").string());
  CHECK(test_list_in(settings) ==
        list_digest(*held_out_images(config_on(folder / "there/pictures"))));
  const WorkingFolder here(folder / "here");
  CHECK(saved_config(settings, "config.json").data.data_dir == folder / "there/pictures");
  fs::remove_all(folder / "there");
  CHECK(saved_config(settings, "config.json").data.data_dir == "pictures");
}

TEST_CASE("an absolute data folder stays, and drawn data have none") {
  const TemporaryFolder folder;
  make_pictures(folder / "a");
  const TrainConfig config = config_on(folder / "a");
  const std::string settings = settings_with_origin(config, *held_out_images(config));
  CHECK(saved_config(settings, "config.json").data.data_dir == folder / "a");
  const TrainConfig drawn = config_for(TaskKind::classification);
  CHECK(data_folder_in(settings_with_origin(drawn, *held_out_images(drawn))).empty());
  CHECK(data_folder_in("{}").empty());
  CHECK(test_list_in("{}").empty());
  CHECK(data_folder_in("[").empty());
}

TEST_CASE("weights know what their run held out") {
  const TemporaryFolder folder;
  make_pictures(folder / "a");
  const TrainConfig config = config_on(folder / "a", /*seed=*/7);
  const auto held = read_weights_info(weights_of(config, folder / "best.safetensors")).held_out;
  REQUIRE(held);
  CHECK(held->how.fraction == 0.2);
  CHECK(held->how.rule == HoldOutRule::name);
  CHECK(held->how.seed == 7);
  CHECK(held->list == list_digest(*held_out_images(config)));
  CHECK_FALSE(held_out_part(config_on(folder / "a", 7, 0), *held_out_images(config)));
  CHECK(contains(message_of([] {
                   static_cast<void>(held_out({{"held_out", "{}"}}, "a.file"));
                 }),
                 "a.file: its held_out cannot be read"));
}

TEST_CASE("validation images that the first weights were trained on are told") {
  const TemporaryFolder folder;
  make_pictures(folder / "a");
  make_pictures(folder / "b", "other");
  const fs::path weights = weights_of(config_on(folder / "a", 7), folder / "best.safetensors");
  const std::string note = note_for(config_on(folder / "a", 8), weights);
  CHECK(contains(note, "images that this run holds out for validation"));
  CHECK(contains(note, "--seed 7 --val-fraction 0.2 --val-fraction-rule name"));
  CHECK_FALSE(note_for(config_on(folder / "a", 7, 0.4), weights).empty());
  CHECK(note_for(config_on(folder / "a", 7), weights).empty());
  CHECK(note_for(config_on(folder / "a", 7, 0.1), weights).empty());  // a part of what was held out
  CHECK(note_for(config_on(folder / "b", 8), weights).empty());       // other data
}

}  // namespace fovea
