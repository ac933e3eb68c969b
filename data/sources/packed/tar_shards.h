// Tar shards in WebDataset's convention: pictures with a .cls file each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/packed/tar_samples.h"
#include "engine/base/files.h"

namespace fovea {

/// Reads in any order; the shards stay open. Class names are the lines of options.class_map or of
/// a file classes.txt in data_dir; otherwise 0, 1, ... up to the largest label of both splits.
class TarShards : public FileDataset {
 public:
  /// Throws if there are no shards, on damaged ones, and on labels without a name.
  TarShards(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(samples_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  /// The shard is part of the name, because the order of an epoch depends on it.
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] std::vector<std::int64_t> parts() const override;

 private:
  [[nodiscard]] std::size_t shard_of(std::int64_t index) const;
  void add_notice(const std::string& text);
  void note_training_shards(const std::vector<std::filesystem::path>& training);

  std::vector<std::filesystem::path> paths_;  ///< files of the shards
  std::vector<InputFile> files_;
  std::vector<std::int64_t> begins_;  ///< first sample of each shard; last entry: size()
  std::vector<TarSample> samples_;
  std::vector<std::string> names_;
};

/// The shards of a split, sorted: options.train_split or val_split (a pattern with braces, or a
/// folder); otherwise all shards in a folder of a common name; otherwise files in data_dir with
/// "train" or "val" in their names. Empty if there are none.
[[nodiscard]] std::vector<std::filesystem::path> find_shards(const DatasetOptions& options,
                                                             Split split);

/// A shard of the split that exists only in compressed form; empty if there is none.
[[nodiscard]] std::filesystem::path find_compressed_shard(const DatasetOptions& options,
                                                          Split split);
/// Why a compressed shard cannot be read, and how to unpack it.
[[nodiscard]] std::string unpacking_advice(const std::filesystem::path& shard);

}  // namespace fovea
