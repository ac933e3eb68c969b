// A data set that a Python iterable gives batch by batch.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/loading/sequential.h"
#include "python/bindings/array_images.h"
#include "python/bindings/python_function.h"

namespace fovea::python {

/// Every pass calls `begin` for a function, whose calls give (images, labels), as ArrayImages takes
/// them, and None at the end. The first pass, by the constructor, counts images and classes.
///
/// What goes wrong in a later pass is AllImagesBad, so that the trainer saves what it has.
class StreamImages : public GivenImages, public Sequential {
 public:
  /// Labels lie in [0, classes); 0: as the first pass has them. Errors start with `what`.
  StreamImages(const nanobind::callable& begin, std::int64_t classes, std::string what);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(entries_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] ImageSize image_size() const override { return size_; }
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] PixelFormat format() const override { return format_; }
  [[nodiscard]] std::int64_t first_batch() const override { return first_batch_; }

  /// Rethrows the exception of Python's that a pass has ended with, if one has.
  void rethrow() const;

 private:
  struct Pass {
    PythonFunction next;
    std::unique_ptr<ArrayImages> batch{};
    std::int64_t first = 0;  ///< the number of the batch's first image
  };

  void count();
  void require_alike(const ArrayImages& batch) const;
  [[nodiscard]] std::unique_ptr<Pass> begin() const;
  bool advance(Pass& pass) const;
  bool reach(std::int64_t index) const;

  PythonFunction begin_;
  std::string what_;
  std::vector<ListEntry> entries_;  ///< of the first pass
  std::vector<std::string> names_;
  ImageSize size_{};
  PixelFormat format_{};
  std::int64_t first_batch_ = 0;
  mutable std::mutex mutex_;  ///< guards what follows
  mutable std::unique_ptr<Pass> pass_{};
  mutable std::exception_ptr error_{};
};

}  // namespace fovea::python
