// Operations on all members of a batch.
#include "data/loading/batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/upload.h"

namespace fovea {
namespace {

Tensor repeated_rows(const Tensor& given, std::int64_t count) {
  check(given.device().is_cpu(), "batch: rows can only be repeated on the CPU");
  const Tensor whole = given.contiguous();
  const std::int64_t have = whole.size(0);
  check(have >= 1, "batch: got no rows to repeat");
  Shape shape = whole.shape();
  shape[0] = count;
  Tensor result = empty(shape, whole.options());
  const auto bytes = static_cast<std::size_t>(whole.byte_count() / have);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(result.raw() + static_cast<std::size_t>(i) * bytes,
                whole.raw() + static_cast<std::size_t>(i % have) * bytes, bytes);
  }
  return result;
}

}  // namespace

Tensor Batch::find(std::string_view name) const {
  const auto named = [name](const BatchMember& member) { return member.name == name; };
  const auto found = std::find_if(others.begin(), others.end(), named);
  return found == others.end() ? Tensor() : found->value;
}

Tensor Batch::at(std::string_view name) const {
  Tensor value = find(name);
  if (value.defined()) return value;
  std::vector<std::string> names = {"images", "labels", "indices"};
  for (const BatchMember& member : others) names.push_back(member.name);
  fail("batch: got no member \"", name, "\", expected one of ", join(names, ", "));
}

void Batch::set(BatchMember member) {
  for (BatchMember& other : others) {
    if (other.name != member.name) continue;
    other = std::move(member);
    return;
  }
  others.push_back(std::move(member));
}

Batch Batch::mapped(const Change& change) const {
  Batch result = *this;
  const auto map = [&change](Tensor& value, bool uploads) {
    if (value.defined()) value = change(value, uploads);
  };
  map(result.images, true);
  map(result.labels, true);
  map(result.indices, false);
  for (BatchMember& member : result.others) map(member.value, member.uploads);
  if (result.raw) {
    for (Tensor* const rows : {&result.raw->erased, &result.raw->mixed, &result.raw->weights})
      map(*rows, true);
  }
  return result;
}

Batch Batch::repeated(std::int64_t count) const {
  if (count == size()) return *this;
  check(!raw || !raw->mixed.defined(), "batch: its raw pixels are mixed with those of other rows; ",
        "repeat rows before mixing");
  return mapped([=](const Tensor& value, bool) { return repeated_rows(value, count); });
}

Batch Batch::uploaded(Device device) const {
  std::vector<Tensor> going;
  static_cast<void>(mapped([&](const Tensor& value, bool uploads) {
    if (uploads) going.push_back(value);
    return value;
  }));
  if (raw) going.insert(going.end(), {raw->levels, raw->fills});
  const std::vector<Tensor> there = upload(going, device);
  auto next = there.begin();
  Batch result =
      mapped([&](const Tensor& value, bool uploads) { return uploads ? *next++ : value; });
  if (result.raw) {
    result.raw->levels = *next++;
    result.raw->fills = *next;
  }
  return result;
}

}  // namespace fovea
