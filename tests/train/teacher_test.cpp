// Teachers that know the run's classes in another order, or more of them.
#include "train/tasks/teacher.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/sources/subset.h"
#include "engine/base/json.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/tasks/stored_logits.h"

namespace fovea {
namespace {

using Names = std::vector<std::string>;

/// A teacher of ten classes, called by the names that its file gives them.
struct Taught {
  TemporaryFolder folder;
  TrainConfig config = tiny_config();
  std::shared_ptr<const Dataset> images = tiny_data().train;
  Trainer trainer = make_trainer(config);
  Tensor picture = ones({2, 3, 32, 32});

  std::unique_ptr<Teacher> teacher(const Names& names, const Dataset& shown,
                                   bool in_label_order = false) {
    const auto file = folder / "teacher.safetensors";
    save_model(file, trainer.model(), classes_metadata(names));
    ModelInfo student = trainer.model().info();
    student.num_classes = shown.classes();
    TrainingSplit training{.images = &shown, .in_label_order = in_label_order};
    training.run.normalization = read_weights_info(file).normalization;
    return make_teacher({.checkpoint = file.string()}, student, training);
  }
  std::vector<double> logits(const Teacher& teacher) {
    Batch batch;
    batch.images = picture;
    return teacher.logits(batch).to_vector();
  }
};

}  // namespace

TEST_CASE("a teacher's logits follow the names of its classes") {
  Taught t;
  const Names names = t.images->class_names();
  const auto same = t.teacher(names, *t.images);
  CHECK(same->notices().texts().empty());
  const std::vector<double> own = t.logits(*same);

  Names reversed = names;
  std::reverse(reversed.begin(), reversed.end());
  const auto other_order = t.teacher(reversed, *t.images);
  std::vector<double> expected = own;
  std::reverse(expected.begin(), expected.begin() + 10);
  std::reverse(expected.begin() + 10, expected.end());
  CHECK(t.logits(*other_order) == expected);
  REQUIRE(other_order->notices().texts().size() == 1);
  CHECK(contains(other_order->notices().texts()[0], "in another order, matched by name"));

  const auto part = select(t.images, {"3,7"});
  CHECK(t.logits(*t.teacher(names, *part)) ==
        std::vector<double>{own[3], own[7], own[13], own[17]});
}

TEST_CASE("a teacher of other classes is refused, unless a class map says the order") {
  Taught t;
  const Names others{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const std::string error = message_of([&] { (void)t.teacher(others, *t.images); });
  CHECK(contains(error, "has no class \"disc\" (nor 9 more of the data set)"));
  CHECK(contains(error, "teacher "));
  const std::vector<double> own = t.logits(*t.teacher(t.images->class_names(), *t.images));
  CHECK(t.logits(*t.teacher(others, *t.images, true)) == own);
  CHECK(t.logits(*t.teacher({}, *t.images)) == own);
}

TEST_CASE("a teacher that learned with other colours is told") {
  Taught t;
  const auto file = t.folder / "teacher.safetensors";
  save_model(file, t.trainer.model(),
             {{"mean", "[0.25, 0.5, 0.5]"}, {"std", "[0.5, 0.5, 0.5]"}, {"classes", "[]"}});
  const auto teacher = make_teacher({.checkpoint = file.string()}, t.trainer.model().info(),
                                    {.images = t.images.get()});
  const Names told = teacher->notices().texts();
  CHECK(std::any_of(told.begin(), told.end(), [](const std::string& text) {
    return contains(text, "was trained with --mean 0.25,0.5,0.5 --std 0.5,0.5,0.5, but this run");
  }));
}

}  // namespace fovea
