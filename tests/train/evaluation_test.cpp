// What an evaluation adds up, so that parts of a data set make the whole.
#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

/// `count` images of a data set from `first` on.
class Part : public Dataset {
 public:
  Part(std::shared_ptr<const Dataset> whole, std::int64_t first, std::int64_t count)
      : whole_(std::move(whole)), first_(first), count_(count) {}

  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return whole_->get(first_ + index);
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return whole_->class_names();
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::int64_t first_, count_;
};

}  // namespace

TEST_CASE("sums over the parts of a data set add up to those of the whole") {
  TrainConfig config = plain_config();
  config.evaluation.batch_size = 5;
  const Datasets data = tiny_data(50, 30);
  const auto sums_of = [&](std::shared_ptr<const Dataset> test) {
    Notices notices;
    Trainer trainer =
        make_trainer(config, {data.train, std::move(test)}, start_model(config, data, notices));
    return trainer.evaluate().sums;
  };
  const ScoreSums whole = sums_of(data.test);
  CHECK(whole.count == 30);
  ScoreSums parts = sums_of(std::make_shared<Part>(data.test, 0, 15));
  CHECK(parts.count == 15);
  CHECK_FALSE(parts == whole);
  parts += sums_of(std::make_shared<Part>(data.test, 15, 15));
  CHECK(parts == whole);
}

TEST_CASE("means weigh by samples, and shares become percentages") {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "top1", .title = "top-1", .is_percent = true}};
  ScoreSums sums{{6, 1}, 3};
  sums += {{2, 3}, 5};
  CHECK(info.means(sums) == Scores{1, 50});
  CHECK(info.means({{0, 0}, 0}) == Scores{0, 0});
  CHECK(contains(message_of([&] { sums += {{1}, 1}; }), "got sums of 1 measures, expected 2"));
}

}  // namespace fovea
