// CIFAR-10 and CIFAR-100 in their official forms, binary and Python's.
//
// A binary file is a row of records: 1 label byte (CIFAR-100: 2, coarse and fine), then 1024 red,
// 1024 green and 1024 blue bytes, row by row. The files of the Python version are pickles; they
// become such records.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

enum class CifarKind { cifar10, cifar100 };

/// Holds its records in memory.
class Cifar : public Dataset {
 public:
  static constexpr std::int64_t kSide = 32;

  /// `data_dir` is the folder with the files or its parent. Throws Error, saying what was looked
  /// for, when files are missing, and with path and expected sizes when one is damaged.
  Cifar(CifarKind kind, const std::filesystem::path& data_dir, Split split);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  using Dataset::get;
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  /// Records have no names: the first row of red stands for one.
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return {kSide, kSide}; }
  /// Not empty when the number of records is not the official one.
  [[nodiscard]] std::string notice() const override { return notice_; }

 private:
  /// The file that holds a record, and the record's place in it.
  struct Place {
    std::span<const char> bytes;
    std::int64_t record;
  };
  [[nodiscard]] Place find(std::int64_t index) const;

  std::vector<std::string> files_;
  std::vector<std::string> names_;
  std::string notice_;
  CifarKind kind_;
  std::int64_t size_ = 0;
};

/// Whether files of the set lie in data_dir, or in a folder of its usual name below.
[[nodiscard]] bool holds_cifar(CifarKind kind, const std::filesystem::path& data_dir);

// The reader's parts, for tests and fuzzing.

/// The number of records in one file's bytes. Throws Error, beginning with `name`, unless they are
/// a whole number of records, at least one, with labels in range.
[[nodiscard]] std::int64_t check_cifar_records(CifarKind kind, std::span<const char> bytes,
                                               const std::string& name);
/// Record `index` of bytes that were checked.
[[nodiscard]] Sample read_cifar_record(CifarKind kind, std::span<const char> bytes,
                                       std::int64_t index);
/// One name a line; "0", "1", ... when they are not as many as classes.
[[nodiscard]] std::vector<std::string> parse_class_names(const std::string& text,
                                                         std::int64_t classes);

}  // namespace fovea
