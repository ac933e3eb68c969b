// A data set that is a part of another.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Samples [first, first + count).
class Part : public Dataset {
 public:
  Part(std::shared_ptr<const Dataset> whole, std::int64_t first, std::int64_t count)
      : whole_(std::move(whole)), first_(first), count_(count) {}

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return whole_->class_names();
  }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return whole_->get(first_ + index);
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::int64_t first_, count_;
};

}  // namespace fovea
