// Passes over an iterable: the current batch, and the way to the next.
#include "python/bindings/stream_images.h"

#include <algorithm>
#include <utility>

#include "data/loading/batch_source.h"
#include "engine/base/error.h"

namespace fovea::python {

namespace nb = nanobind;

StreamImages::StreamImages(const nb::callable& begin_pass, std::int64_t classes, std::string what)
    : begin_(begin_pass), what_(std::move(what)), names_(numbered_classes(classes)) {
  count();
  check(!entries_.empty(), what_, ": the iterable is empty, expected batches (images, labels)");
  if (classes > 0) return;
  const auto last = std::ranges::max_element(entries_, {}, &ListEntry::label);
  names_ = numbered_classes(last->label + 1);
}

void StreamImages::count() {
  const std::unique_ptr<Pass> pass = begin();
  while (advance(*pass)) {
    const ArrayImages& batch = *pass->batch;
    if (entries_.empty()) {
      size_ = batch.image_size();
      format_ = batch.format();
      first_batch_ = batch.size();
    }
    require_alike(batch);
    for (std::int64_t i = 0; i < batch.size(); ++i)
      entries_.push_back({name_in_lists(size(), batch.checksum(i)), batch.label(i)});
  }
}

void StreamImages::require_alike(const ArrayImages& batch) const {
  check(batch.image_size() == size_ && batch.format() == format_, what_, ": got a batch of ",
        to_string(batch.image_size()), " images, ", to_string(batch.format()), ", expected ",
        to_string(size_), ", ", to_string(format_), " as in the first");
}

std::unique_ptr<StreamImages::Pass> StreamImages::begin() const {
  const nb::gil_scoped_acquire gil;
  return std::make_unique<Pass>(Pass{PythonFunction(nb::cast<nb::callable>(begin_.get()()))});
}

/// To the next batch; false at the end.
bool StreamImages::advance(Pass& pass) const {
  const nb::gil_scoped_acquire gil;
  if (pass.batch != nullptr) pass.first += pass.batch->size();
  pass.batch.reset();
  const nb::object next = pass.next.get()();
  if (next.is_none()) return false;
  const Tensor images = nb::cast<Tensor>(next[0]), labels = nb::cast<Tensor>(next[1]);
  const std::int64_t known = classes() > 0 ? classes() : classes_of(labels);
  pass.batch = std::make_unique<ArrayImages>(images, labels, known, what_);
  return true;
}

/// Makes the pass's batch that of this image, in a new pass if it lies behind; false at the end.
bool StreamImages::reach(std::int64_t index) const {
  if (pass_ == nullptr || pass_->batch == nullptr || index < pass_->first) {
    pass_ = begin();
    if (!advance(*pass_)) return false;
  }
  while (index >= pass_->first + pass_->batch->size()) {
    if (!advance(*pass_)) return false;
  }
  return true;
}

Sample StreamImages::get(std::int64_t index) const try {
  check_index(index, "images");
  const std::lock_guard lock(mutex_);
  try {
    check(reach(index), "the iterable ended after ", pass_->first, " images, its first pass had ",
          size());
    return pass_->batch->get(index - pass_->first);
  } catch (const nb::python_error&) {
    error_ = std::current_exception();
    pass_.reset();
    throw;
  }
} catch (const std::exception& error) {
  throw AllImagesBad(what_ + ": " + error.what());
}

std::int64_t StreamImages::label(std::int64_t index) const {
  check_index(index, "labels");
  return entries_[static_cast<std::size_t>(index)].label;
}

void StreamImages::list_entry(std::int64_t index, ListEntry& entry) const {
  check_index(index, "images");
  entry = entries_[static_cast<std::size_t>(index)];
}

void StreamImages::rethrow() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace fovea::python
