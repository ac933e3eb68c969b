// Copies of rows in an epoch's order.
#include "data/loading/tensor_batches.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// The rows `chosen` of a contiguous tensor on the CPU.
Tensor rows_of(const Tensor& all, std::span<const std::int64_t> chosen) {
  Shape shape = all.shape();
  shape[0] = std::ssize(chosen);
  const Tensor rows = empty(shape, all.options());
  if (all.numel() == 0) return rows;
  const auto bytes = static_cast<std::size_t>(all.byte_count() / all.size(0));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::memcpy(rows.raw() + i * bytes, all.raw() + static_cast<std::size_t>(chosen[i]) * bytes,
                bytes);
  }
  return rows;
}

}  // namespace

TensorBatches::TensorBatches(std::vector<Tensor> tensors, TensorBatchOptions options)
    : tensors_(std::move(tensors)), options_(options) {
  check(!tensors_.empty(), "TensorBatches: got no tensors, expected one or more");
  check(options_.batch_size >= 1, "TensorBatches: got a batch size of ", options_.batch_size,
        ", expected 1 or more");
  for (const Tensor& t : tensors_) {
    check(t.defined() && t.rank() >= 1 && t.device().is_cpu(),
          "TensorBatches: expected tensors on the CPU with rows");
    check(t.size(0) == tensors_.front().size(0), "TensorBatches: got tensors ",
          tensors_.front().shape(), " and ", t.shape(), ", expected the same number of rows");
  }
  rows_ = tensors_.front().size(0);
  batches_ = batch_count(rows_, options_.batch_size, options_.drop_last);
  check(batches_ > 0, "TensorBatches: got ", rows_, " rows, fewer than a batch of ",
        options_.batch_size, "; a smaller batch or drop_last = false fits");
}

void TensorBatches::set_cursor(Cursor cursor) {
  check(cursor.epoch >= 0 && cursor.batch >= 0 && cursor.batch < batches_,
        "TensorBatches: got batch ", cursor.batch, " of epoch ", cursor.epoch, ", expected 0 to ",
        batches_ - 1);
  cursor_ = cursor;
}

std::vector<Tensor> TensorBatches::next() {
  if (order_epoch_ != cursor_.epoch) {
    order_epoch_ = cursor_.epoch;
    order_ = options_.shuffle ? shuffled_order(rows_, options_.seed, order_epoch_)
                              : sequential_order(rows_);
  }
  const std::int64_t first = cursor_.batch * options_.batch_size;
  const std::int64_t count = std::min(options_.batch_size, rows_ - first);
  const auto chosen = std::span<const std::int64_t>(order_).subspan(
      static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  std::vector<Tensor> batch;
  for (const Tensor& t : tensors_) batch.push_back(rows_of(t.detach().contiguous(), chosen));
  if (++cursor_.batch == batches_) cursor_ = {cursor_.epoch + 1, 0};
  return batch;
}

}  // namespace fovea
