// The per-class table and the files of an evaluation.
#include "report/class_report.h"

#include <doctest/doctest.h>

#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// Of 4 a: 3 right, 1 taken for c. Of 2 "b, b": none right, both taken for a. No c at all.
ClassReport report() {
  std::vector<Prediction> predictions;
  const auto add = [&](std::int64_t label, std::int64_t prediction, int times) {
    predictions.resize(predictions.size() + static_cast<std::size_t>(times),
                       {.label = label, .prediction = prediction});
  };
  add(0, 0, 3);
  add(1, 0, 2);
  add(0, 2, 1);
  return {{"a", "b, b", "c"}, predictions};
}

}  // namespace

TEST_CASE("recall and precision, class by class, without division by zero") {
  CHECK(report().classes_csv() ==
        "class,images,correct,recall,precision\n"
        "a,4,3,75,60\n"
        "\"b, b\",2,0,0,\n"
        "c,0,0,,0\n");
  const ClassReport one({"a", "b"}, std::vector<Prediction>{{.label = 1, .prediction = 1}});
  CHECK(one.classes_csv() == "class,images,correct,recall,precision\na,0,0,,\nb,1,1,100,100\n");
}

TEST_CASE("the mean recall is that of the classes that have images") {
  CHECK(report().mean_recall() == 37.5);
}

TEST_CASE("the confusion matrix, rows are true classes") {
  CHECK(report().confusion_csv() ==
        "class,a,\"b, b\",c\n"
        "a,3,0,1\n"
        "\"b, b\",2,0,0\n"
        "c,0,0,0\n");
}

TEST_CASE("the table says what a class is taken for") {
  const std::string table = report().table();
  CHECK(contains(table, "a           4        3   75.00      60.00  c\n"));
  CHECK(contains(table, "b, b        2        0    0.00          -  a\n"));
  CHECK(contains(table, "c           0        0       -       0.00\n"));
}

TEST_CASE("files and picture") {
  const TemporaryFolder folder;
  OutputFolder output(folder / "new");
  report().write(output);
  REQUIRE(output.files().size() == 4);
  CHECK(read_file(output.files()[1]) == report().confusion_csv());
  CHECK(read_image(folder / "new/confusion.png").width > 0);
}

TEST_CASE("predictions of classes that do not exist are refused") {
  const std::vector<Prediction> predictions{{.label = 1, .prediction = 2}};
  CHECK(contains(message_of([&] {
                   ClassReport({"a", "b"}, predictions);
                 }),
                 "got class 1 predicted as 2, expected 0 to 1"));
}

TEST_CASE(
    "of 40,000 classes what happened is listed, and nothing as large as their square is made") {
  const TemporaryFolder folder;
  const std::vector<Prediction> predictions{{.label = 39999, .prediction = 7},
                                            {.label = 39999, .prediction = 7},
                                            {.label = 2, .prediction = 2}};
  const ClassReport many(std::vector<std::string>(40000, "x"), predictions);
  CHECK(many.confusion_csv() == "class,taken_for,images\nx,x,1\nx,x,2\n");
  CHECK(many.rows()[39999].images == 2);
  CHECK(many.rows()[7].predicted == 2);
  OutputFolder output(folder.path());
  many.write(output);
  CHECK(output.files().size() == 2);
}

}  // namespace fovea
