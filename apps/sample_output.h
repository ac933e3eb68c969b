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
  std::filesystem::path folder;  ///< for pictures; empty: none
  std::filesystem::path npz;     ///< empty: none
  std::int64_t count = 0;        ///< number of samples
  std::int64_t columns = 8;      ///< of the grid
  std::uint64_t seed = 0;
  std::string settings;  ///< JSON about the samples, written beside them
};

/// A sample and what it was made from.
struct LabelledPicture {
  Image picture;
  std::int64_t index = 0, label = 0;
};

class SampleOutput {
 public:
  explicit SampleOutput(SampleFiles files);

  /// Writes the next pictures, all of one size.
  void add(const std::vector<LabelledPicture>& pictures);
  /// Writes the grid and the settings and completes the .npz file. The grid has the pictures added
  /// so far; a .npz file that lacks some does not appear.
  void finish();
  /// Writes film.png: pictures in rows of `columns`, one row per sample and one column per step.
  void write_film(const std::vector<Image>& pictures, std::int64_t columns);

  /// Messages about the files written.
  [[nodiscard]] std::vector<std::string> summary() const;

 private:
  void write_picture(const LabelledPicture& sample);

  SampleFiles files_;
  std::optional<NpzWriter> npz_;
  std::vector<std::int64_t> labels_;
  std::vector<Image> grid_;  ///< the first pictures
  std::vector<std::string> written_;
};

/// Whether the folder has samples that were not made as `settings` say; their number and the first
/// index may differ, since several programs can share the work.
[[nodiscard]] bool has_other_samples(const std::filesystem::path& folder,
                                     const std::string& settings);
/// `base`, `base`-2 and so on: the first folder without other samples.
[[nodiscard]] std::filesystem::path free_sample_folder(const std::filesystem::path& base,
                                                       const std::string& settings);

/// "000012-class3-seed0.png"
[[nodiscard]] std::string sample_name(std::int64_t index, std::int64_t label, std::uint64_t seed);

}  // namespace fovea
