// A packed data set: one file for each split. pack_format.h has its bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/dataset.h"
#include "data/sources/pack_format.h"

namespace fovea {

class Pack : public FileDataset {
 public:
  /// Throws where there is no pack of the split, and on a damaged one.
  Pack(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(contents_.entries.size());
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return contents_.classes;
  }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  /// Of an image stored as pixels only the rows of the part are read.
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return entry(index).label; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  void verify(std::int64_t index) const override;  ///< its checksum too
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  /// A pack keeps no names: the stored checksum of the image's bytes stands for one.
  void list_entry(std::int64_t index, ListEntry& list) const override;

 private:
  /// `count` of the stored bytes, from `begin` on. What keeps them from being read is an
  /// ImageError.
  [[nodiscard]] std::string read(const pack::Entry& stored, std::uint64_t begin,
                                 std::uint64_t count) const;
  [[nodiscard]] Image read_part(const pack::Entry& stored, const PixelBox& box) const;
  [[nodiscard]] const pack::Entry& entry(std::int64_t index) const;

  std::filesystem::path path_;
  InputFile file_;
  pack::Contents contents_;
};

/// options.train_split or val_split below data_dir, or else train.pack, and val.pack. Empty where
/// there is none.
[[nodiscard]] std::filesystem::path find_pack(const DatasetOptions& options, Split split);

struct PackOptions {
  bool as_pixels = false;       ///< decoded RGB; otherwise files
  std::int64_t short_side = 0;  ///< images with a longer one are shrunk to it; 0: none are
  int quality = 90;             ///< of the JPEG files that shrunk images become
  /// Told how many images are done; false stops.
  std::function<bool(std::int64_t done)> on_progress{};
};

/// Writes all of `dataset` into one file, atomically. Files whose images are not shrunk are taken
/// over byte for byte, so that training sees the same pixels. Throws on the first broken image.
/// False where it was stopped: then nothing was written.
bool write_pack(const std::filesystem::path& path, const Dataset& dataset,
                const PackOptions& options);

}  // namespace fovea
