// Reads images from a pack, and writes packs.
#include "data/sources/packed/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/geometry/resize.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/split_folders.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/program_call.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

fs::path require_pack(const DatasetOptions& options, Split split) {
  fs::path path = find_pack(options, split);
  const char* what = split == Split::train ? "train" : "val";
  check(!path.empty(), options.data_dir.string(), ": contains no ", what, ".pack; ",
        program_call("pack"), " creates one, --", what, "-split sets another path");
  return path;
}

/// The size with the image's ratio and a shorter side of at most `limit`.
ImageSize limited(ImageSize size, std::int64_t limit) {
  const std::int64_t shorter = std::min(size.height, size.width);
  if (limit == 0 || shorter <= limit) return size;
  const auto scale = [&](std::int64_t side) {
    const double scaled =
        static_cast<double>(side) * static_cast<double>(limit) / static_cast<double>(shorter);
    return static_cast<std::int64_t>(std::llround(scaled));
  };
  return {scale(size.height), scale(size.width)};
}

pack::Blob make_blob(const Dataset& dataset, std::int64_t index, const PackOptions& options) {
  Sample sample = dataset.get(index);
  check(sample.targets.empty(), "pack: got boxes or dense maps with image ", index,
        ", expected pictures with labels");
  Image& image = sample.image;
  const ImageSize size = image.size();
  const ImageSize wanted = limited(size, options.short_side);
  if (wanted != size) image = resize(image, wanted);
  pack::Blob blob;
  blob.width = static_cast<std::uint32_t>(image.width);
  blob.height = static_cast<std::uint32_t>(image.height);
  blob.label = static_cast<std::uint32_t>(sample.label);
  blob.orientation = dataset.exif_orientation();
  const std::optional<std::string> file = dataset.file(index);
  if (options.as_pixels || (!file && wanted == size)) {
    require_rgb8(image, "pack");
    blob.encoding = pack::Encoding::rgb;
    blob.bytes.assign(image.pixels.begin(), image.pixels.end());
  } else if (wanted == size) {
    blob.bytes = *file;
  } else {
    JpegOptions jpeg;
    jpeg.quality = options.quality;
    blob.bytes = encode_jpeg(image, jpeg);
  }
  return blob;
}

}  // namespace

fs::path find_pack(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  const char* const usual = split == Split::train ? "train.pack" : "val.pack";
  const fs::path path = options.data_dir / (wanted.empty() ? usual : wanted);
  return path.extension() == ".pack" && is_file(path) ? path : fs::path();
}

PackDataset::PackDataset(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation),
      path_(require_pack(options, split)),
      file_(path_),
      contents_(pack::read_contents(file_, path_.string())),
      is_turned_(std::ranges::any_of(contents_.entries,
                                     [](const auto& stored) { return stored.turned == 1; })) {
  check(size() > 0, path_.string(), ": contains no images");
}

ExifOrientation PackDataset::exif_orientation() const {
  return is_turned_ ? ExifOrientation::apply : FileDataset::exif_orientation();
}

const pack::ImageEntry& PackDataset::entry(std::int64_t index) const {
  check_index(index, path_.string());
  return contents_.entries[index];
}

Sample PackDataset::get(std::int64_t index) const {
  if (entry(index).encoding == pack::Encoding::file) return FileDataset::get(index);
  return get(index, [](ImageSize size) { return PixelBox{0, size.height, 0, size.width}; }, {});
}

Sample PackDataset::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  const pack::ImageEntry& stored = entry(index);
  if (stored.encoding == pack::Encoding::file) return FileDataset::get(index, choose, shrink_to);
  const PixelBox box = choose({stored.height, stored.width});
  check(0 <= box.top && box.bottom <= stored.height && 0 <= box.left && box.right <= stored.width,
        describe(index), ": the requested part is outside the image");
  return {read_part(stored, box), stored.label, {}};
}

std::string PackDataset::read(const pack::ImageEntry& stored, std::uint64_t begin,
                              std::uint64_t count) const try {
  return file_.text_at(stored.offset + begin, count);
} catch (const Error& error) {
  throw ImageError(error.what());
}

Image PackDataset::read_part(const pack::ImageEntry& stored, const PixelBox& box) const {
  const auto bytes_of = [](std::int64_t pixels) {
    return static_cast<std::uint64_t>(pixels * Image::kChannels);
  };
  const std::string rows = read(stored, bytes_of(box.top * stored.width),
                                bytes_of((box.bottom - box.top) * stored.width));
  Image image(box.bottom - box.top, box.right - box.left);
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::memcpy(image.at(y, 0), rows.data() + bytes_of(y * stored.width + box.left),
                bytes_of(image.width));
  }
  return image;
}

/// A file is turned if the pack's maker said so, or if its reader does.
DecodeOptions PackDataset::decode_options(std::int64_t index) const {
  DecodeOptions options = FileDataset::decode_options(index);
  if (entry(index).turned == 1) options.orientation = ExifOrientation::apply;
  return options;
}

std::optional<std::string> PackDataset::file(std::int64_t index) const {
  const pack::ImageEntry& stored = entry(index);
  if (stored.encoding != pack::Encoding::file) return std::nullopt;
  return read(stored, 0, stored.length);
}

void PackDataset::verify(std::int64_t index) const {
  const pack::ImageEntry& stored = entry(index);
  if (crc32c(read(stored, 0, stored.length)) != stored.crc)
    throw ImageError(describe(index) + ": its checksum is wrong");
  const Image image = stored.encoding == pack::Encoding::file
                          ? decode_image(as_u8(*file(index)), describe(index),
                                         {.orientation = stored.orientation()})
                          : get(index).image;
  if (image.height != stored.height || image.width != stored.width)
    throw ImageError(describe(index) + ": its size differs from the index");
}

std::string PackDataset::describe(std::int64_t index) const {
  return path_.string() + ": image " + std::to_string(index);
}

void PackDataset::list_entry(std::int64_t index, ListEntry& list) const {
  const pack::ImageEntry& stored = entry(index);
  list.name.append(std::to_string(stored.crc)).append("/").append(std::to_string(stored.length));
  list.label = stored.label;
}

bool write_pack(const fs::path& path, const Dataset& dataset, const PackOptions& options) {
  check(options.short_side >= 0, "pack: got a short side of ", options.short_side,
        ", expected 0 or more");
  constexpr std::int64_t batch = 64;  // images prepared in parallel, then written in order
  struct Stopped {};                  // thrown to leave the middle of a file
  try {
    write_file_atomically(path, [&](const std::function<void(std::string_view)>& append) {
      pack::Writer writer(append);
      for (std::int64_t first = 0; first < dataset.size(); first += batch) {
        const std::int64_t count = std::min(batch, dataset.size() - first);
        std::vector<pack::Blob> blobs(static_cast<std::size_t>(count));
        parallel_for(count, 1, [&](std::int64_t i, std::int64_t) {
          blobs[i] = make_blob(dataset, first + i, options);
        });
        for (const pack::Blob& blob : blobs) writer.add(blob);
        if (options.on_progress && !options.on_progress(first + count)) throw Stopped();
      }
      writer.finish(dataset.class_names());
    });
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

}  // namespace fovea
