// The per-class table and the files of an evaluation.
#include "report/class_report.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/files.h"
#include "data/image.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// Of 4 a: 3 right, 1 taken for c. Of 2 "b, b": none right, both taken for a. No c at all.
ClassReport report() { return ClassReport({"a", "b, b", "c"}, {3, 0, 1, 2, 0, 0, 0, 0, 0}); }

}  // namespace

TEST_CASE("recall and precision, class by class, without division by zero") {
  CHECK(report().classes_csv() ==
        "class,images,correct,recall,precision\n"
        "a,4,3,75,60\n"
        "\"b, b\",2,0,0,0\n"
        "c,0,0,0,0\n");
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
  CHECK(contains(table, "a             4        3    75.00      60.00  c\n"));
  CHECK(contains(table, "b, b          2        0     0.00       0.00  a\n"));
}

TEST_CASE("files and picture") {
  const TemporaryFolder folder;
  const auto files = report().write(folder / "new");
  REQUIRE(files.size() == 4);
  CHECK(read_file(files[1]) == report().confusion_csv());
  CHECK(read_image(folder / "new/confusion.png").width > 0);
}

TEST_CASE("counts that do not fit the classes are refused") {
  CHECK_THROWS_AS(ClassReport({"a", "b"}, {1, 2, 3}), Error);
}

}  // namespace fovea
