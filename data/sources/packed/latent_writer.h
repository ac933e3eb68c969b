// Writing of files of latents, image by image, over any number of calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/packed/latent_file.h"
#include "engine/base/new_file.h"
#include "engine/tensor.h"

namespace fovea {

/// Writes a file that appears with finish(). Until then its content is kept, see Unfinished, and a
/// writer with the same arguments continues it after the last image that survived.
class LatentWriter {
 public:
  /// `count` is the number of images. Kept content of other images or settings is removed with
  /// `replaces_others`; else it is an error that names the metadata that differ.
  LatentWriter(const std::filesystem::path& path, LatentInfo info, std::int64_t count,
               bool replaces_others = false);
  ~LatentWriter();  ///< commits, ignoring failures
  LatentWriter(const LatentWriter&) = delete;
  LatentWriter& operator=(const LatentWriter&) = delete;

  /// The number of images so far, with those of earlier writers.
  [[nodiscard]] std::int64_t done() const { return committed_ + std::ssize(labels_); }
  /// The number of them that were left out.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

  /// Adds the next images: moments f32 [B, 2C, h, w] on any device, of images and of the mirrored
  /// images (undefined if the file has none), and labels i64 [B].
  void add(const Tensor& moments, const Tensor& flipped, const Tensor& labels);
  /// Leaves the next images out, because they cannot be read.
  void leave_out(std::int64_t images);
  /// Makes the images so far survive whatever happens. Called every few seconds by add().
  void commit();
  /// Throws unless `count` images were added or left out, and at least one added.
  void finish();

 private:
  void begin(std::string_view header);
  void continue_kept();
  void compare_header(const std::string& header, bool replaces_others);
  void write(const Tensor& moments, std::uint64_t start, const char* what);
  void write_without_gaps();
  [[nodiscard]] std::uint64_t row_bytes() const;

  std::string context_;
  LatentInfo info_;
  NewFile file_;
  std::int64_t count_, committed_ = 0, left_out_ = 0;
  std::vector<std::int64_t> labels_;  ///< of the images that are not committed
  std::uint64_t labels_at_ = 0, moments_at_ = 0, flipped_at_ = 0;  ///< offsets in the file
  std::chrono::steady_clock::time_point last_commit_ = std::chrono::steady_clock::now();
};

}  // namespace fovea
