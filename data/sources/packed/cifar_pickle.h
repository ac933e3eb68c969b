// Converts the batches of CIFAR's Python version to records of its binary version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Converts a pickled batch, a dictionary with "data", an array of bytes [images, 3072], and a
/// list of labels for each of `label_keys`. A record is its labels, one byte each in the order of
/// the keys, and its row of data. Throws Error, starting with `context`, on anything else.
[[nodiscard]] std::string cifar_records_of(std::string_view pickled,
                                           const std::vector<std::string>& label_keys,
                                           const std::string& context);

/// The list of names under `key` of a pickled dictionary, one per line. Throws Error, starting
/// with `context`, if there is none.
[[nodiscard]] std::string cifar_names_of(std::string_view pickled, const std::string& key,
                                         const std::string& context);

}  // namespace fovea
