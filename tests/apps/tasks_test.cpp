// What evaluate and predict do by task, and on which images.
#include "apps/tasks/tasks.h"

#include <doctest/doctest.h>

#include "data/sources/drawn/builtin.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

std::string refusal(TaskKind task, EvaluateRequest& request) {
  return message_of(
      [&] { refuse_flags_of_others(task, fields_of(request), &TaskCommands::evaluate_flags); });
}

std::string refusal(TaskKind task, PredictRequest& request) {
  return message_of(
      [&] { refuse_flags_of_others(task, fields_of(request), &TaskCommands::predict_flags); });
}

/// A model trained on the images of /a, of which it held out a fifth.
LoadedModel trained_on_a() {
  LoadedModel trained;
  trained.info.dataset = "folder";
  trained.run.options.data_dir = "/a";
  trained.run.options.train_split = "t";
  trained.run.options.val_fraction = 0.2;
  trained.run.options.val_rule = HoldOutRule::name;
  trained.run.options.val_split = "v";
  return trained;
}

}  // namespace

TEST_CASE("a flag for models of one task is refused for those of another") {
  EvaluateRequest evaluate;
  evaluate.protocol = "eigen";
  CHECK(refusal(TaskKind::depth, evaluate).empty());
  for (const TaskKind other : {TaskKind::classification, TaskKind::detection}) {
    CHECK(contains(refusal(other, evaluate),
                   "--protocol: got eigen, but it is for depth models, and the checkpoint is " +
                       std::string(noun_of(other))));
  }
  PredictRequest predict;
  CHECK(refusal(TaskKind::classification, predict).empty());
  predict.threshold = 0;
  CHECK(refusal(TaskKind::detection, predict).empty());
  CHECK(contains(refusal(TaskKind::depth, predict), "--threshold: got 0, but it is for detectors"));
  predict.threshold = {};
  predict.json = "none";
  CHECK(contains(refusal(TaskKind::depth, predict), "--json: got none, but it is for detectors"));
}

TEST_CASE("models of tasks without commands of their own are refused as classifiers") {
  for (const TaskKind task : {TaskKind::masked_autoencoding, TaskKind::diffusion}) {
    CHECK(&commands_of(task) == &commands_of(TaskKind::classification));
  }
  CHECK(commands_of(TaskKind::depth).task == TaskKind::depth);
}

TEST_CASE("a model is evaluated on what its run has held out") {
  const EvaluateRequest request;
  const DatasetOptions images = request.images_of(trained_on_a());
  CHECK(images.name == "folder");
  CHECK(images.data_dir == "/a");
  CHECK(images.train_split == "t");
  CHECK(images.val_fraction == 0.2);
  CHECK(images.val_rule == HoldOutRule::name);
  CHECK(images.val_split.empty());  // a fraction is held out instead
}

TEST_CASE("a model is evaluated on the classes of its run, unless others are given") {
  LoadedModel trained = trained_on_a();
  trained.run.options.classes = "cat,dog";
  EvaluateRequest request;
  CHECK(request.images_of(trained).classes == "cat,dog");
  request.data.classes = "dog";
  CHECK(request.images_of(trained).classes == "dog");
  EvaluateRequest elsewhere;
  elsewhere.data_dir = "/b";
  CHECK(elsewhere.images_of(trained).classes.empty());
}

TEST_CASE("what cannot be known to be held out is not evaluated; another data set is") {
  LoadedModel trained = trained_on_a();
  trained.run.error = "/a/config.json: unknown setting x";
  EvaluateRequest request;
  const auto refusal = [&] {
    return message_of([&] { static_cast<void>(request.images_of(trained)); });
  };
  CHECK(contains(refusal(), "/a/config.json: unknown setting x; so the images that the run held"));
  request.data_dir = "/b";
  CHECK_FALSE(refusal().empty());
  request.data.name = "cifar10";
  CHECK(refusal().empty());
}

TEST_CASE("elsewhere the same fraction is held out; of a given split, or another set, none") {
  EvaluateRequest request;
  request.data_dir = "/b";
  const DatasetOptions moved = request.images_of(trained_on_a());
  CHECK(moved.data_dir == "/b");
  CHECK(moved.train_split.empty());
  CHECK(moved.val_fraction == 0.2);
  request.data.val_split = "w";
  CHECK(request.images_of(trained_on_a()).val_fraction == 0);
  EvaluateRequest other;
  other.data.name = "cifar10";
  CHECK(other.images_of(trained_on_a()).val_fraction == 0);
  CHECK(other.images_of(trained_on_a()).data_dir.empty());
}

TEST_CASE("a note reports held-out images that differ from those of the training") {
  const Builtin images(Split::test, {.test_size = 20});
  LoadedModel trained = trained_on_a();
  EvaluateRequest request;
  CHECK(request.other_images_note(trained, images).empty());  // of an earlier version
  trained.info.held_out = HeldOut{{0.2, HoldOutRule::name, 7}, list_digest(images)};
  CHECK(request.other_images_note(trained, images).empty());
  trained.info.held_out->list = "another";
  CHECK(
      contains(request.other_images_note(trained, images), "the 20 images held out here are not"));
  request.data.val_split = "v";
  CHECK(request.other_images_note(trained, images).empty());
  request = {};
  request.split = "train";
  CHECK(request.other_images_note(trained, images).empty());
}

TEST_CASE("a note reports validation images that differ from those of the training") {
  const Builtin images(Split::test, {.test_size = 20});
  LoadedModel trained = trained_on_a();
  trained.run.options.val_fraction = 0;
  const auto note = [&](const EvaluateRequest& request) {
    return request.other_images_note(trained, images);
  };
  CHECK(note({}).empty());  // a run of an earlier version
  trained.run.test_list = list_digest(images);
  CHECK(note({}).empty());
  trained.run.test_list = "another";
  CHECK(note({}) ==
        "the 20 validation images are not those of the training run: some were added, removed or "
        "renamed since");
  EvaluateRequest of_others, elsewhere, of_split, of_training;
  of_others.data.name = "cifar10";
  elsewhere.data_dir = "/b";
  of_split.data.val_split = "w";
  of_training.split = "train";
  for (const EvaluateRequest& chosen : {of_others, elsewhere, of_split, of_training})
    CHECK(note(chosen).empty());
}

TEST_CASE("a run that held out nothing is evaluated on its own splits") {
  LoadedModel trained = trained_on_a();
  trained.run.options.val_fraction = 0;
  const EvaluateRequest request;
  CHECK(request.images_of(trained).val_split == "v");
  trained.info.dataset = "";
  CHECK(contains(message_of([&] { static_cast<void>(request.images_of(trained)); }),
                 "add --dataset"));
}

}  // namespace fovea
