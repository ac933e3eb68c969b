// Packed data sets: one file per split. pack_format.h documents the byte layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/packed/pack_format.h"
#include "engine/base/files.h"

namespace fovea {

class PackDataset : public FileDataset {
 public:
  /// Throws if the split has no pack, and on a damaged one.
  PackDataset(const DatasetOptions& options, Split split);

  [[nodiscard]] std::int64_t size() const override { return std::ssize(contents_.entries); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return contents_.classes;
  }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  /// Of an image stored as pixels, reads only the rows of the part.
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return entry(index).label; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override;
  void verify(std::int64_t index) const override;  ///< including its checksum
  /// Pictures that the pack's maker turned stay so, whatever its reader asks for.
  [[nodiscard]] ExifOrientation exif_orientation() const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  /// A pack stores no names: the checksum of the image's bytes takes the place of one.
  void list_entry(std::int64_t index, ListEntry& list) const override;

 protected:
  [[nodiscard]] DecodeOptions decode_options(std::int64_t index) const override;

 private:
  /// Reads `count` of the stored bytes from `begin` on. Throws ImageError if they cannot be read.
  [[nodiscard]] std::string read(const pack::ImageEntry& stored, std::uint64_t begin,
                                 std::uint64_t count) const;
  [[nodiscard]] Image read_part(const pack::ImageEntry& stored, const PixelBox& box) const;
  [[nodiscard]] const pack::ImageEntry& entry(std::int64_t index) const;

  std::filesystem::path path_;
  InputFile file_;
  pack::Contents contents_;
  bool is_turned_;  ///< some of its pictures are
};

/// options.train_split or val_split below data_dir, by default train.pack or val.pack. Empty if
/// there is none.
[[nodiscard]] std::filesystem::path find_pack(const DatasetOptions& options, Split split);

struct PackOptions {
  bool as_pixels = false;       ///< store decoded RGB; otherwise files
  std::int64_t short_side = 0;  ///< shrink images with a longer short side to it; 0: never
  int quality = 90;             ///< JPEG quality of shrunk images
  /// Receives the number of finished images; returning false stops.
  std::function<bool(std::int64_t done)> on_progress{};
};

/// Writes `dataset` to one file, atomically. Files whose images are not shrunk are copied byte for
/// byte, so that training sees the same pixels; those of a set that turns them by their EXIF data
/// are turned when they are read. Throws on the first broken image. Returns false if
/// stopped; nothing is written then.
bool write_pack(const std::filesystem::path& path, const Dataset& dataset,
                const PackOptions& options);

}  // namespace fovea
