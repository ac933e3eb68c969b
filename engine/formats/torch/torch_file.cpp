// From a dictionary of pickled values to tensors.
#include "engine/formats/torch/torch_file.h"

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/foreign_file.h"
#include "engine/formats/torch/selection.h"
#include "engine/formats/torch/state.h"

namespace fovea {
namespace {

TorchContents open_contents(const ByteSource& source, const std::string& context) {
  if (has_zip_form(source)) return open_zip_form(source, context);
  if (has_old_form(source)) return open_old_form(source, context);
  require_no_foreign_file(source, context);
  check(has_plain_pickle(source), context,
        ": is not a torch.save file, which starts as a zip file ",
        "or with the magic number of the older format");
  return open_plain_pickle(source, context);
}

std::int64_t span_of(const TorchTensor& tensor) { return tensor.last - tensor.first + 1; }

}  // namespace

bool is_torch_file(const ByteSource& source) {
  return has_zip_form(source) || has_old_form(source) || has_plain_pickle(source);
}

TorchDictionary::TorchDictionary(const ByteSource& source, const WeightsKey& key,
                                 std::string context)
    : source_(source), context_(std::move(context)), contents_(open_contents(source, context_)) {
  const Selection selected = select_dictionary(contents_.object, key, context_);
  is_by_key_ = selected.by_key;
  collect(selected.dictionary);
}

std::string TorchDictionary::context(const StoredEntry& entry) const {
  return context_ + ": tensor " + in_quotes(entry.name);
}

void TorchDictionary::collect(PickleRef set) {
  NamedValues named = named_values(contents_.object, set, context_);
  others_ = std::move(named.others);
  for (NamedValue& weight : named.weights) {
    StoredEntry entry;
    entry.name = std::move(weight.name);
    if (std::optional<NumpyArray> array = array_of(contents_.object, weight.value)) {
      entry.type = array->layout.type;
      entry.shape = array->layout.shape;
      places_.emplace_back(std::move(*array));
    } else {
      TorchTensor tensor = tensor_of(contents_.object, weight.value, context(entry));
      entry.type = tensor.type;
      entry.shape = tensor.shape;
      places_.emplace_back(std::move(tensor));
    }
    entries_.push_back(std::move(entry));
  }
}

std::map<std::string, Tensor> TorchDictionary::read() const {
  // Views may repeat the elements of a storage: without a limit a few bytes could fill any memory.
  constexpr std::uint64_t kMaxRepeats = 16, kAlways = std::uint64_t{16} << 20;
  const std::uint64_t most = kMaxRepeats * source_.size() + kAlways;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto* const tensor = std::get_if<TorchTensor>(&places_[i]);
    const std::int64_t numel = entries_[i].shape.numel();
    const std::int64_t count = tensor != nullptr ? std::max(span_of(*tensor), numel) : numel;
    const bool overflow = __builtin_add_overflow(
        bytes, static_cast<std::uint64_t>(count) * size_of(entries_[i].type), &bytes);
    check(!overflow && bytes <= most, context_, ": its tensors would take more than ", most,
          " bytes, in a file of ", source_.size());
  }
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    tensors[entries_[i].name] =
        std::visit([&](const auto& place) { return read(entries_[i], place); }, places_[i]);
  }
  return tensors;
}

/// Reads the elements between the first and the last one, then takes the view of them.
Tensor TorchDictionary::read(const StoredEntry& entry, const TorchTensor& tensor) const {
  if (tensor.shape.numel() == 0) return empty(tensor.shape, {held_dtype(tensor.type), {}});
  const auto found = contents_.storages.find(tensor.storage.key);
  check(found != contents_.storages.end(), context(entry), ": its storage ",
        in_quotes(tensor.storage.key), " is not in the file");
  const ByteRange range = found->second;
  check(range.size == tensor.storage.bytes, context(entry), ": its storage has ", range.size,
        " bytes in the file, but ", tensor.storage.bytes, " in the object");
  const std::uint64_t at =
      range.offset + static_cast<std::uint64_t>(tensor.first) * size_of(tensor.type);
  const StoredEntry span{entry.name, entry.type, Shape{span_of(tensor)}};
  const Tensor elements = read_stored(
      span,
      [&](std::span<std::byte> into) {
        source_.read_at(at, into);
        if (contents_.is_big_endian) reverse_elements(into, size_of(tensor.type));
      },
      context_);
  return elements.alias(tensor.shape, tensor.strides).contiguous();
}

Tensor TorchDictionary::read(const StoredEntry& entry, const NumpyArray& array) const {
  const std::optional<std::string> bytes = bytes_of(contents_.object, array.bytes);
  check(bytes && bytes->size() == array.layout.bytes(), context(entry), ": has ",
        bytes ? bytes->size() : 0, " bytes, but its shape ", array.layout.shape, " takes ",
        array.layout.bytes());
  const MemoryBytes source(*bytes, context_);
  return read_array(
      entry.name, array.layout, [&](std::span<std::byte> into) { source.read_at(0, into); },
      context_);
}

}  // namespace fovea
