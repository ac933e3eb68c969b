// The batches of CIFAR's Python version as records of its binary version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Of a pickled batch, a dictionary: "data", an array of bytes [images, 3072], and for each of
/// `label_keys` a list of labels. A record is its labels, one byte each in the order of the keys,
/// and its row of data. Throws Error, beginning with `where`, on anything else.
[[nodiscard]] std::string cifar_records_of(std::string_view pickled,
                                           const std::vector<std::string>& label_keys,
                                           const std::string& where);

/// The list of names under `key` of a pickled dictionary, an end of line after each. Throws Error,
/// beginning with `where`, where there is none.
[[nodiscard]] std::string cifar_names_of(std::string_view pickled, const std::string& key,
                                         const std::string& where);

}  // namespace fovea
