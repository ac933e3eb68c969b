// NYU depth v2, the labelled part: N. Silberman et al., "Indoor Segmentation and Support Inference
// from RGBD Images" (2012). 1,449 pictures of rooms with depth.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/dense/nyu/hdf5.h"

namespace fovea {

/// Two official files in options.data_dir, or in nyu or nyu_depth_v2 below it:
///   nyu_depth_v2_labeled.mat  HDF5: images u8 [N, 3, W, H], depths f32 [N, W, H] in metres,
///   filled,
///                             and rawDepths as measured, 0 where unknown
///   splits.mat                MATLAB 5: trainNdxs and testNdxs, numbers of 795 and 654 images
/// A sample has the map "depth": f32 in metres, 0 where unknown, resized by the nearest value; in
/// the test split also "raw_depth", if the file has rawDepths. All images belong to the one class
/// "picture".
class NyuDepth : public Dataset {
 public:
  /// Throws Error on missing or damaged files, on arrays of other types or shapes, and in a build
  /// without libhdf5.
  NyuDepth(const DatasetOptions& options, Split split);

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return std::ssize(numbers_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return classes_; }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return size_; }

 private:
  void check_arrays(bool wants_raw);
  [[nodiscard]] std::int64_t number(std::int64_t index) const;  ///< in the file, from 0 on
  [[nodiscard]] Image depth(const std::string& array, std::int64_t index) const;

  std::filesystem::path path_;
  Hdf5File file_;
  ImageSize size_;
  bool has_raw_ = false;
  std::vector<std::int64_t> numbers_;
  std::vector<std::string> classes_ = {"picture"};
};

}  // namespace fovea
