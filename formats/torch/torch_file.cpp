// From a dictionary of pickled values to tensors.
#include "formats/torch/torch_file.h"

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "formats/torch/selection.h"

namespace fovea {
namespace {

TorchContents open_contents(const ByteSource& source, const std::string& where) {
  if (has_zip_form(source)) return open_zip_form(source, where);
  check(has_old_form(source), where, ": is not a torch.save file, which starts as a zip file or ",
        "with the magic number of the older format");
  return open_old_form(source, where);
}

std::int64_t span_of(const TorchTensor& tensor) { return tensor.last - tensor.first + 1; }

}  // namespace

bool is_torch_file(const ByteSource& source) {
  return has_zip_form(source) || has_old_form(source);
}

TorchDictionary::TorchDictionary(const ByteSource& source, const WeightsKey& key, std::string where)
    : source_(source), where_(std::move(where)), contents_(open_contents(source, where_)) {
  const Selection selected = select_dictionary(contents_.object, key, where_);
  is_by_key_ = selected.by_key;
  collect(selected.dictionary);
}

std::string TorchDictionary::where(const StoredEntry& entry) const {
  return where_ + ": tensor " + in_quotes(entry.name);
}

void TorchDictionary::collect(PickleRef dictionary) {
  const Pickle& object = contents_.object;
  const std::vector<PickleRef>& items = object.at(dictionary).items;
  std::set<std::string> names;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = object.at(items[i]);
    const bool is_named = key.kind == PickleKind::text;
    StoredEntry entry;
    entry.name = is_named ? key.text : describe_value(object, items[i]);
    check(!is_named || names.insert(entry.name).second, where_, ": the name ",
          in_quotes(entry.name), " appears twice");
    if (!is_named || !is_tensor(object, items[i + 1])) {
      others_.push_back(std::move(entry.name));
      continue;
    }
    tensors_.push_back(tensor_of(object, items[i + 1], where(entry)));
    entry.type = tensors_.back().type;
    entry.shape = tensors_.back().shape;
    entries_.push_back(std::move(entry));
  }
}

std::map<std::string, Tensor> TorchDictionary::read() const {
  // Views may repeat the elements of a storage: without a limit a few bytes could fill any memory.
  constexpr std::uint64_t kMaxRepeats = 16, kAlways = std::uint64_t{16} << 20;
  const std::uint64_t most = kMaxRepeats * source_.size() + kAlways;
  std::uint64_t bytes = 0;
  for (const TorchTensor& tensor : tensors_) {
    const std::int64_t count = std::max(span_of(tensor), tensor.shape.numel());
    const bool overflow = __builtin_add_overflow(
        bytes, static_cast<std::uint64_t>(count) * size_of(tensor.type), &bytes);
    check(!overflow && bytes <= most, where_, ": its tensors would take more than ", most,
          " bytes, in a file of ", source_.size());
  }
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensors[entries_[i].name] = read(entries_[i], tensors_[i]);
  }
  return tensors;
}

/// Reads the elements between the first and the last one, then takes the view of them.
Tensor TorchDictionary::read(const StoredEntry& entry, const TorchTensor& tensor) const {
  if (tensor.shape.numel() == 0) return empty(tensor.shape, {held_dtype(tensor.type), {}});
  const auto found = contents_.storages.find(tensor.storage.key);
  check(found != contents_.storages.end(), where(entry), ": its storage ",
        in_quotes(tensor.storage.key), " is not in the file");
  const ByteRange range = found->second;
  check(range.size == tensor.storage.bytes, where(entry), ": its storage has ", range.size,
        " bytes in the file, but ", tensor.storage.bytes, " in the object");
  const std::uint64_t at =
      range.offset + static_cast<std::uint64_t>(tensor.first) * size_of(tensor.type);
  const StoredEntry span{entry.name, entry.type, Shape{span_of(tensor)}};
  const Tensor elements = read_stored(
      span, [&](std::span<std::byte> into) { source_.read_at(at, into); }, where_);
  return elements.alias(tensor.shape, tensor.strides).contiguous();
}

}  // namespace fovea
