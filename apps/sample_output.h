// The files of `sample`: single pictures, a grid, a film, and the .npz of the ADM suite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/image.h"
#include "engine/formats/numpy/npz_writer.h"

namespace fovea {

struct SampleFiles {
  std::filesystem::path folder;         ///< for pictures; empty: none
  std::filesystem::path npz;            ///< empty: none
  std::int64_t count = 0;               ///< number of samples
  std::int64_t first = 0;               ///< index of the first one
  std::vector<std::int64_t> labels{0};  ///< classes that the indices take in turn
  ImageSize picture{};                  ///< size of every picture
  std::int64_t columns = 8;             ///< of the grid
  std::uint64_t seed = 0;
  std::string settings;  ///< JSON about the samples, written beside them
};

/// A sample and what it was made from.
struct LabelledPicture {
  Image picture;
  std::int64_t index = 0, label = 0;
};

/// Pictures are written as they are made, and a .npz file is kept until it is complete, so that the
/// next call with the same settings continues a stopped one.
class SampleOutput {
 public:
  /// Writes the settings. Throws if the folder or the .npz file has samples of other settings.
  explicit SampleOutput(SampleFiles files);

  /// Whether sample `place` of the call, from 0, needs not be made: the files have it.
  [[nodiscard]] bool has(std::int64_t place) const;
  /// The number of samples of the call that the files have.
  [[nodiscard]] std::int64_t done() const;
  /// Writes the next pictures, all of one size.
  void add(const std::vector<LabelledPicture>& pictures);
  /// Writes the grid of the first samples, with the names of their classes in the folder, of all
  /// its calls, and completes the .npz file if it has all samples.
  void finish();
  /// Writes film.png, or NAME-film.png beside NAME.npz: pictures in rows of `columns`, one row per
  /// sample and one column per step.
  void write_film(const std::vector<Image>& pictures, std::int64_t columns);

  /// Messages about the files written.
  [[nodiscard]] std::vector<std::string> summary() const { return written_; }

 private:
  void open_npz();
  void open_folder();
  void finish_npz();
  void finish_folder();
  [[nodiscard]] std::filesystem::path file_of(std::int64_t place) const;
  [[nodiscard]] std::int64_t label_of(std::int64_t place) const;

  SampleFiles files_;
  std::optional<NpzWriter> npz_;  ///< empty: none, or complete
  std::int64_t rows_ = 0;         ///< of the .npz file
  std::vector<bool> in_folder_;   ///< by place
  std::vector<std::string> written_;
};

/// The folder of the samples of one scale among several.
[[nodiscard]] std::filesystem::path scale_folder(const std::filesystem::path& folder, double scale);
/// Writes guidance.png in `folder` and returns its path: a row per scale, of the first samples in
/// its folder.
std::filesystem::path write_guidance_sheet(const std::filesystem::path& folder,
                                           const std::vector<double>& scales);

/// Why samples with these settings do not belong into the folder, as "cfg_scale: 4.0 and 1.5"; ""
/// if they do: calls of the same settings share a folder, whatever their counts and first indices.
[[nodiscard]] std::string difference_to_samples_in(const std::filesystem::path& folder,
                                                   const std::string& settings);
/// `base`, `base`-2 and so on: the first folder without other samples.
[[nodiscard]] std::filesystem::path free_sample_folder(const std::filesystem::path& base,
                                                       const std::string& settings);

}  // namespace fovea
