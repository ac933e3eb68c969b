// Data sets that consist of some of the images of another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "engine/base/error.h"

namespace fovea {

/// Some images of a set of type Base, in the given order. Derived classes change what they need to.
template <class Base>
class ImageSubset : public Base {
 public:
  /// `images` are indices of `whole`.
  ImageSubset(std::shared_ptr<const Base> whole, std::vector<std::int64_t> images,
              std::string notice)
      : whole_(std::move(whole)), images_(std::move(images)) {
    this->notice_ = std::move(notice);
  }

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return whole_->class_names();
  }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return whole_->get(old_index(index));
  }
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override {
    return whole_->get(old_index(index), choose, shrink_to);
  }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override {
    return whole_->file(old_index(index));
  }
  void verify(std::int64_t index) const override { whole_->verify(old_index(index)); }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return whole_->describe(old_index(index));
  }
  void list_entry(std::int64_t index, ListEntry& entry) const override {
    whole_->list_entry(old_index(index), entry);
  }
  [[nodiscard]] ImageSize image_size() const override { return whole_->image_size(); }
  [[nodiscard]] ExifOrientation exif_orientation() const override {
    return whole_->exif_orientation();
  }

 protected:
  [[nodiscard]] const Base& whole() const { return *whole_; }
  [[nodiscard]] const std::vector<std::int64_t>& images() const { return images_; }
  [[nodiscard]] std::int64_t old_index(std::int64_t index) const {
    this->check_index(index, "subset");
    return images_[static_cast<std::size_t>(index)];
  }

 private:
  std::shared_ptr<const Base> whole_;
  std::vector<std::int64_t> images_;
};

}  // namespace fovea
