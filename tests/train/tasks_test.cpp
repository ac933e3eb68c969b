// The table of tasks, and what a finished run says.
#include <doctest/doctest.h>

#include "engine/base/text.h"
#include "models/checkpoints/pretrained.h"
#include "tests/support/temporary_folder.h"
#include "train/start/initial_weights.h"
#include "train/start/resolve.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

/// The words of a command line as a shell reads it, where quotes are single ones.
std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> words;
  bool quoted = false, inside = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\n' || c == '\\')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

/// The flags of a command, without the program.
std::vector<Setting> flags_in(const std::string& text, const std::string& run) {
  std::vector<Setting> flags;
  for (const std::string& word : shell_words(text.substr(text.find(" --")))) {
    if (word.starts_with("--")) {
      flags.push_back({word.substr(2), ""});
    } else {
      flags.back().text = word == "RUN" ? run : word;
    }
  }
  return flags;
}

TrainConfig recipe(const std::string& dataset) {
  return resolve_run({{"dataset", dataset}}, {.task = TaskKind::masked_autoencoding}).config;
}

}  // namespace

TEST_CASE("the command that a masked autoencoder's run ends with loads its encoder") {
  const TemporaryFolder folder;
  TrainConfig c = recipe("builtin");
  c.data.data_dir = (folder / "a folder").string();
  c.model.settings["model_args"] = R"({"qkv_bias": false, "mask_ratio": 0.5})";
  const Datasets data = open_datasets(c);
  Notices notices;
  save_model(folder / "best.safetensors", *build_model(c, *data.train, notices));

  const std::string command = task_info(c).next_steps.back().command;
  for (const std::string& line : lines_of(command)) CHECK(line.size() <= 76);
  const TrainConfig next = resolve_run(flags_in(command, folder.path().string())).config;
  CHECK(next.data.data_dir == c.data.data_dir);
  const auto classifier = build_model(next, *data.train, notices);
  CHECK_NOTHROW(set_initial_weights(next.weights, {next.run, data.train->class_names()},
                                    *classifier, notices));
  CHECK(classifier->info().num_classes == 10);
  CHECK(notices.texts().back().find("fc_norm") != std::string::npos);
}

TEST_CASE("photographs go on with train_imagenet, at the official names' 224 pixels") {
  TrainConfig c = recipe("folder");
  c.data.train_split = "training";
  const std::string said = task_info(c).next_steps.back().command;
  CHECK(said.find("--train-split training") != std::string::npos);
  CHECK(said.find("fovea train_imagenet --dataset folder") != std::string::npos);
  CHECK(said.find("--model vit_base_patch16_224 ") != std::string::npos);
}

TEST_CASE("fine-tuning after a masked autoencoder holds out the same pictures") {
  TrainConfig c = recipe("folder");
  const auto says = [&](const char* words) {
    return task_info(c).next_steps.back().command.find(words) != std::string::npos;
  };
  c.data.val_fraction = 0.1;
  c.data.val_rule = HoldOutRule::name;
  CHECK(says("--val-fraction 0.1"));
  CHECK_FALSE(says("--val-fraction-rule"));
  CHECK_FALSE(says("--seed"));
  c.run.seed = 7;
  CHECK(says("--seed 7"));
  c.data.val_rule.reset();  // of an earlier version
  CHECK(says("--val-fraction-rule number"));
  CHECK_FALSE(says("--seed"));
}

TEST_CASE("top-5 of at most five classes is trivial") {
  for (const std::int64_t classes : {2, 5, 6, 1000}) {
    CAPTURE(classes);
    TaskInfo info = classification_info({});
    mark_trivial(info, classes);
    CHECK(info.measures.at(2).name == "top5");
    CHECK(info.measures.at(2).is_trivial == (classes <= 5));
    CHECK_FALSE(info.measures.at(1).is_trivial);
  }
}

TEST_CASE("what a task knows without a model") {
  TrainConfig c = recipe("builtin");
  CHECK_FALSE(task_info(c).needs_labels);
  CHECK(task_info(c).best_measure().is_loss);
  CHECK(task_info(c).batch_multiple == 1);
  c = config_for(TaskKind::classification);
  CHECK(task_info(c).needs_labels);
  CHECK(task_info(c).best_measure().name == "top1");
  CHECK(task_info(c).batch_multiple == 1);
  classification_of(c).mix.cutmix = 1;  // an image and its partner
  CHECK(task_info(c).batch_multiple == 2);
  CHECK(task_info(c).loss_parts.empty());
  classification_of(c).objective.distillation = Distillation::hard;
  CHECK(task_info(c).loss_parts == std::vector<std::string>{"labels", "teacher"});
}

}  // namespace fovea
