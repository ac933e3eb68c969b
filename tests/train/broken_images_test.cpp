// Broken images: notices to the user, and the limit of their number.
#include "train/loop/broken_images.h"

#include <doctest/doctest.h>

#include "data/loading/loader.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/train_watch.h"

namespace fovea {
namespace {

const BrokenImage kThird{3, "third: damaged"}, kFourth{4, "fourth: empty"};

struct NoticeList : RunObserver {
  std::vector<std::string> texts;
  void notice(const std::string& text) override { texts.push_back(text); }
};

}  // namespace

TEST_CASE("a broken image is reported once, however often and wherever it is met") {
  NoticeList told;
  BrokenImages broken(1, 10);
  broken.report_training({kThird}, told);
  broken.report({kThird, kFourth}, told);
  broken.report_training({kFourth, kThird}, told);
  CHECK(told.texts == std::vector<std::string>{"skipped a broken image: third: damaged",
                                               "skipped a broken image: fourth: empty"});
  CHECK(broken.count() == 2);
}

TEST_CASE("more broken training images than the limit end the run, after their report") {
  NoticeList told;
  BrokenImages broken(0.1, 10);  // one image
  broken.report_training({kThird}, told);
  broken.report_training({kThird, kThird}, told);
  broken.require_few();
  broken.report_training({kFourth}, told);
  CHECK_THROWS_AS(broken.require_few(), TooManyBadImages);
  CHECK(told.texts.size() == 2);
  CHECK(message_of([&] { broken.require_few(); }) ==
        "training: 2 of 10 images are broken, the last: fourth: empty");
}

TEST_CASE("broken images of evaluations do not count for the limit of the training images") {
  NoticeList told;
  BrokenImages broken(0.1, 10);
  broken.report({kThird, kFourth}, told);
  broken.report_training({kThird}, told);
  broken.require_few();
  CHECK(broken.count() == 2);
}

TEST_CASE("every process knows the training images that any of them met") {
  test::in_threads(3, [](Communicator& processes) {
    NoticeList told;
    BrokenImages broken(0.1, 10, processes);
    broken.report_training({}, told);
    CHECK(told.texts.empty());
    const bool is_last = processes.rank() == 2;
    broken.report_training(is_last ? std::vector{kThird} : std::vector<BrokenImage>{}, told);
    CHECK(told.texts == std::vector<std::string>{"skipped a broken image: third: damaged"});
    const std::vector<BrokenImage> own{{processes.rank(), std::to_string(processes.rank())}};
    broken.report_training(own, told);
    CHECK(contains(message_of([&] { broken.require_few(); }), "4 of 10 images"));
  });
}

}  // namespace fovea
