// Converts pickled dictionaries to records.
#include "data/sources/packed/cifar_pickle.h"

#include <cstdint>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/torch/numpy_array.h"
#include "engine/formats/torch/objects.h"

namespace fovea {
namespace {

constexpr std::int64_t kPixelBytes = 3072;

PickleRef require_key(const Pickle& pickle, const std::string& key, const std::string& context) {
  const std::optional<PickleRef> value = find_key(pickle, pickle.root, key);
  check(value.has_value(), context, ": is a pickle without the key \"", key,
        "\", expected a batch of CIFAR's Python version");
  return *value;
}

const std::vector<PickleRef>& require_list(const Pickle& pickle, const std::string& key,
                                           const std::string& context) {
  const PickleRef value = require_key(pickle, key, context);
  check(pickle.at(value).kind == PickleKind::list, context, ": its ", key, " are ",
        describe_value(pickle, value), ", expected a list");
  return pickle.at(value).items;
}

/// The labels as bytes; throws if they do not fit the binary version.
std::vector<char> labels_of(const Pickle& pickle, const std::string& key,
                            const std::string& context) {
  std::vector<char> labels;
  for (const PickleRef item : require_list(pickle, key, context)) {
    const PickleValue& label = pickle.at(item);
    const bool fits =
        label.kind == PickleKind::integer && label.integer >= 0 && label.integer <= UINT8_MAX;
    check(fits, context, ": entry ", labels.size(), " of its ", key, " is ",
          describe_value(pickle, item), ", expected an integer from 0 to 255");
    labels.push_back(static_cast<char>(label.integer));
  }
  return labels;
}

}  // namespace

std::string cifar_records_of(std::string_view pickled, const std::vector<std::string>& label_keys,
                             const std::string& context) {
  const Pickle pickle = parse_pickle(pickled, context, kMaxFileBytes);
  const NumpyBytes data =
      numpy_bytes_of(pickle, require_key(pickle, "data", context), context + ": its data");
  const auto count = static_cast<std::size_t>(data.shape.empty() ? 0 : data.shape.front());
  using Sizes = std::vector<std::int64_t>;
  const Sizes row(data.shape.begin() + (data.shape.empty() ? 0 : 1), data.shape.end());
  check(row == Sizes{kPixelBytes} || row == Sizes{3, 32, 32}, context, ": its data has ",
        data.bytes.size(), " bytes in ", count, " rows of ", row.size(),
        " axes, expected an array [images, 3072]");
  std::vector<std::vector<char>> labels;
  for (const std::string& key : label_keys) {
    labels.push_back(labels_of(pickle, key, context));
    check(labels.back().size() == count, context, ": has ", labels.back().size(), " ", key, " and ",
          count, " rows of data, expected equal counts");
  }
  std::string records;
  const auto pixel_bytes = static_cast<std::size_t>(kPixelBytes);
  records.reserve(count * (labels.size() + pixel_bytes));
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::vector<char>& bytes : labels) records += bytes[i];
    records.append(data.bytes, i * pixel_bytes, pixel_bytes);
  }
  return records;
}

std::string cifar_names_of(std::string_view pickled, const std::string& key,
                           const std::string& context) {
  const Pickle pickle = parse_pickle(pickled, context);
  std::string lines;
  for (const PickleRef item : require_list(pickle, key, context)) {
    const std::optional<std::string> name = bytes_of(pickle, item);
    check(name.has_value(), context, ": one of its ", key, " is ", describe_value(pickle, item));
    lines += *name + "\n";
  }
  return lines;
}

}  // namespace fovea
