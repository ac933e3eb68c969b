// Teachers: the order of their classes.
#include "train/tasks/teacher.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/sources/builtin.h"
#include "models/checkpoints/pretrained.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "train/run/weights_info.h"
#include "train/tasks/stored_logits.h"

namespace fovea {
namespace {

using Names = std::vector<std::string>;

const Builtin& images() {
  static const Builtin builtin(Split::train, {.seed = 3, .train_size = 20});
  return builtin;
}

Names turned(Names names) {
  std::reverse(names.begin(), names.end());
  return names;
}

/// Logits 0, 1, 2, ... of each image, row by row.
Tensor counted_logits() {
  std::vector<double> values(static_cast<std::size_t>(images().size() * 10));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return from_values({images().size(), 10}, values);
}

/// What a teacher of a file says of the first two images; `model` is the student's.
Tensor asked(const TeacherOptions& options, const Model& model, const Tensor& pixels) {
  const TrainingSplit training{.images = &images(), .dataset = "builtin", .other_images = true};
  const auto teacher = make_teacher(options, model.info(), training);
  return teacher->logits(pixels, from_values({2}, {0, 1}, {DType::i64, {}}));
}

}  // namespace

TEST_CASE("a teacher model's classes are matched by name") {
  const TemporaryFolder folder;
  const auto model = make_model("linear", nlohmann::json::object(), 5);
  const auto [height, width] = model->info().img_size;
  const Tensor pixels = full(Shape{2, 3, height, width}, 0.5);
  Context ctx;
  const std::vector<double> own =
      model_as<Classifier>(*model).forward(pixels, ctx).logits.to_vector();
  const auto save = [&](const Names& classes) {
    WeightsInfo info;
    info.classes = classes;
    weights_file(folder / "t.safetensors", *model, state_of(*model), info).write();
  };
  const TeacherOptions options{.checkpoint = (folder / "t.safetensors").string()};

  save(images().class_names());
  CHECK(asked(options, *model, pixels).to_vector() == own);
  save({});
  CHECK(asked(options, *model, pixels).to_vector() == own);
  save(turned(images().class_names()));
  const std::vector<double> moved = asked(options, *model, pixels).to_vector();
  for (std::size_t k = 0; k < 10; ++k) CHECK(moved[k] == own[9 - k]);

  Names others = images().class_names();
  others[0] = "chessboard";
  save(others);
  const std::string error = message_of([&] { (void)asked(options, *model, pixels); });
  CHECK(contains(error, "knows no class \"disc\""));
  CHECK(contains(error, "teacher "));
}

TEST_CASE("the columns of stored logits are matched by name") {
  const TemporaryFolder folder;
  const auto model = make_model("linear", nlohmann::json::object(), 5);
  const TeacherOptions options{.logits = (folder / "t.safetensors").string()};
  const auto first = [&](const Tensor& logits, const Metadata& metadata) {
    write_safetensors(options.logits, {{"logits", logits}}, metadata);
    return asked(options, *model, {}).at(0);
  };
  CHECK(first(counted_logits(), {}) == 0);
  CHECK(first(counted_logits(), classes_metadata(images().class_names())) == 0);
  CHECK(first(counted_logits(), classes_metadata(turned(images().class_names()))) == 9);

  Names more = images().class_names();
  more.insert(more.begin(), "chessboard");
  const Tensor wide = zeros({images().size(), 11});
  wide.data<float>()[1] = 7;
  CHECK(first(wide, classes_metadata(more)) == 7);
  more.erase(more.begin() + 1);
  CHECK(contains(message_of([&] { (void)first(counted_logits(), classes_metadata(more)); }),
                 "knows no class \"disc\""));
  for (const char* const broken : {"{}", "[1, 2]", "no"}) {
    CAPTURE(std::string(broken));
    CHECK(contains(message_of([&] {
                     (void)first(counted_logits(), {{"classes", broken}});
                   }),
                   "not a JSON list of names"));
  }
}

}  // namespace fovea
