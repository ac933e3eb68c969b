// Batches of rows of tensors in memory.
#include "data/loading/tensor_batches.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/base/error.h"

namespace fovea {
namespace {

const std::vector<Tensor> kRows{arange(14, {DType::f32, {}}).alias({7, 2}, {2, 1}),
                                arange(7, {DType::i64, {}})};

/// The labels of an epoch's batches.
std::vector<double> labels_of_epoch(TensorBatches& batches) {
  std::vector<double> labels;
  for (std::int64_t b = 0; b < batches.batches_per_epoch(); ++b) {
    for (const double label : batches.next().at(1).to_vector()) labels.push_back(label);
  }
  return labels;
}

std::string refusal_of(const std::vector<Tensor>& tensors, TensorBatchOptions options = {}) {
  try {
    const TensorBatches batches(tensors, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rows of several tensors come together, and an epoch shows each of them once") {
  TensorBatches batches(kRows, {.batch_size = 3, .drop_last = false, .seed = 5});
  REQUIRE(batches.batches_per_epoch() == 3);
  const std::vector<Tensor> batch = batches.next();
  REQUIRE(batch.size() == 2);
  CHECK(batch[0].shape() == Shape{3, 2});
  for (std::int64_t i = 0; i < 3; ++i) CHECK(batch[0].at(2 * i) == 2 * batch[1].at(i));
  batches.set_cursor({});
  std::vector<double> first = labels_of_epoch(batches), second = labels_of_epoch(batches);
  CHECK(first != second);
  TensorBatches again(kRows, {.batch_size = 3, .drop_last = false, .seed = 5});
  again.set_cursor({1, 0});
  CHECK(labels_of_epoch(again) == second);
  std::sort(first.begin(), first.end());
  CHECK(first == std::vector<double>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("without shuffling rows keep their order, and the incomplete batch is left out") {
  TensorBatches batches(kRows, {.batch_size = 3, .shuffle = false});
  CHECK(labels_of_epoch(batches) == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(batches.cursor() == Cursor{1, 0});
}

TEST_CASE("a view is taken by its rows, and a batch has memory of its own") {
  const Tensor columns = arange(6).alias({2, 3}, {1, 2});  // rows 0 2 4 and 1 3 5
  TensorBatches batches({columns}, {.batch_size = 2, .shuffle = false});
  const Tensor rows = batches.next().at(0);
  CHECK(rows.to_vector() == std::vector<double>{0, 2, 4, 1, 3, 5});
  rows.fill_(9);
  CHECK(columns.at(0) == 0);
}

TEST_CASE("tensors without a batch are refused") {
  CHECK(refusal_of({}).find("got no tensors") != std::string::npos);
  CHECK(refusal_of({zeros({3}), zeros({4})}).find("the same number of rows") != std::string::npos);
  CHECK(refusal_of({scalar(1)}).find("expected tensors on the CPU with rows") != std::string::npos);
  CHECK(refusal_of({zeros({3})}).find("got 3 rows, fewer than a batch of 64") != std::string::npos);
  CHECK(refusal_of({zeros({3})}, {.batch_size = 0}).find("a batch size of 0") != std::string::npos);
  TensorBatches batches({zeros({3})}, {.batch_size = 3});
  CHECK_THROWS_AS(batches.set_cursor({0, 1}), Error);
}

}  // namespace fovea
