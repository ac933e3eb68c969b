// CIFAR-10 and CIFAR-100 in their official formats, binary and Python.
//
// A binary file is a sequence of records: 1 label byte (CIFAR-100: 2, coarse and fine), then 1024
// red, 1024 green and 1024 blue bytes, row by row. The files of the Python version are pickles and
// are converted to these records.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

enum class CifarKind { cifar10, cifar100 };

/// Keeps its records in memory.
class Cifar : public Dataset {
 public:
  static constexpr std::int64_t kSide = 32;

  /// `data_dir` is the folder with the files or its parent. Throws Error when files are missing,
  /// listing the expected names, and when a file is damaged, with its path and the expected sizes.
  /// The notice says if the number of records differs from the official one.
  Cifar(CifarKind kind, const std::filesystem::path& data_dir, Split split);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  using Dataset::get;
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  /// Records have no names: the first red row takes the place of one.
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return {kSide, kSide}; }

 private:
  /// The file of a record, and the record's index in it.
  struct RecordPlace {
    std::span<const char> bytes;
    std::int64_t record;
  };
  [[nodiscard]] RecordPlace find(std::int64_t index) const;

  std::vector<std::string> files_;
  std::vector<std::string> names_;
  CifarKind kind_;
  std::int64_t size_ = 0;
};

/// Whether data_dir, or a folder of the usual name below it, contains files of the set.
[[nodiscard]] bool holds_cifar(CifarKind kind, const std::filesystem::path& data_dir);

// Parts of the reader, exposed for tests and fuzzing.

/// The number of records in the bytes of a file. Throws Error, starting with `name`, unless they
/// form at least one record, no partial record, and all labels are in range.
[[nodiscard]] std::int64_t check_cifar_records(CifarKind kind, std::span<const char> bytes,
                                               const std::string& name);
/// Record `index` of bytes that passed check_cifar_records().
[[nodiscard]] Sample read_cifar_record(CifarKind kind, std::span<const char> bytes,
                                       std::int64_t index);
/// One name per line; "0", "1", ... if the count does not match the number of classes.
[[nodiscard]] std::vector<std::string> parse_class_names(const std::string& text,
                                                         std::int64_t classes);

}  // namespace fovea
