// Reading images out of a pack, and making one.
#include "data/sources/pack.h"

#include <algorithm>
#include <cmath>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"
#include "data/resize.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

fs::path require_pack(const DatasetOptions& options, Split split) {
  fs::path path = find_pack(options, split);
  const char* what = split == Split::train ? "train" : "val";
  check(!path.empty(), options.data_dir.string(), ": holds no ", what,
        ".pack; ./run pack makes one, --", what, "-split names another");
  return path;
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The image's shape with its shorter side at most `limit`.
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
  Image& image = sample.image;
  const ImageSize size{image.height, image.width};
  const ImageSize wanted = limited(size, options.short_side);
  if (wanted != size) image = resize(image, wanted);
  pack::Blob blob;
  blob.width = static_cast<std::uint32_t>(image.width);
  blob.height = static_cast<std::uint32_t>(image.height);
  blob.label = static_cast<std::uint32_t>(sample.label);
  const std::optional<FileBytes> file = dataset.file(index);
  if (options.as_pixels || (!file && wanted == size)) {
    blob.encoding = pack::Encoding::rgb;
    blob.bytes.assign(text_of(image.pixels));
  } else if (wanted == size) {
    blob.bytes.assign(text_of(file->bytes()));
  } else {
    JpegOptions jpeg;
    jpeg.quality = options.quality;
    blob.bytes = encode_jpeg(image, jpeg);
  }
  return blob;
}

}  // namespace

fs::path find_pack(const DatasetOptions& options, Split split) {
  const bool train = split == Split::train;
  const std::string& wanted = train ? options.train_split : options.val_split;
  const fs::path path = options.data_dir / (!wanted.empty() ? wanted
                                            : train         ? "train.pack"
                                                            : "val.pack");
  std::error_code ignored;
  return path.extension() == ".pack" && fs::is_regular_file(path, ignored) ? path : fs::path();
}

Pack::Pack(const DatasetOptions& options, Split split)
    : path_(require_pack(options, split)),
      file_(path_),
      contents_(pack::read_contents(file_.bytes(), path_.string())) {
  check(size() > 0, path_.string(), ": holds no images");
}

const pack::Entry& Pack::entry(std::int64_t index) const {
  check(index >= 0 && index < size(), path_.string(), ": got index ", index, ", expected 0 to ",
        size() - 1);
  return contents_.entries[index];
}

std::span<const std::uint8_t> Pack::bytes(std::int64_t index) const {
  return file_.bytes().subspan(entry(index).offset, entry(index).length);
}

Sample Pack::get(std::int64_t index) const {
  if (entry(index).encoding == pack::Encoding::file) return FileDataset::get(index);
  return get(index, [](ImageSize size) { return PixelBox{0, size.height, 0, size.width}; }, {});
}

Sample Pack::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  const pack::Entry& stored = entry(index);
  if (stored.encoding == pack::Encoding::file) return FileDataset::get(index, choose, shrink_to);
  const PixelBox box = choose({stored.height, stored.width});
  check(0 <= box.top && box.bottom <= stored.height && 0 <= box.left && box.right <= stored.width,
        describe(index), ": the part that was asked for lies outside of it");
  Sample sample{Image(box.bottom - box.top, box.right - box.left), stored.label};
  for (std::int64_t y = box.top; y < box.bottom; ++y) {
    const std::uint8_t* row =
        bytes(index).data() + (y * stored.width + box.left) * Image::kChannels;
    std::copy_n(row, sample.image.width * Image::kChannels, sample.image.at(y - box.top, 0));
  }
  return sample;
}

std::optional<FileBytes> Pack::file(std::int64_t index) const {
  if (entry(index).encoding != pack::Encoding::file) return std::nullopt;
  return FileBytes{{}, bytes(index)};
}

void Pack::verify(std::int64_t index) const {
  if (crc32c(text_of(bytes(index))) != entry(index).crc)
    throw ImageError(describe(index) + ": its checksum is wrong");
  const Image image = get(index).image;
  if (image.height != entry(index).height || image.width != entry(index).width)
    throw ImageError(describe(index) + ": its size is not the one of the index");
}

std::string Pack::describe(std::int64_t index) const {
  return path_.string() + ": image " + std::to_string(index);
}

void write_pack(const fs::path& path, const Dataset& dataset, const PackOptions& options) {
  check(options.short_side >= 0, "pack: got a short side of ", options.short_side,
        ", expected 0 or more");
  constexpr std::int64_t batch = 64;  // images that are made before they are written, in order
  write_file_atomically(path, [&](const std::function<void(std::string_view)>& append) {
    pack::Writer writer(append);
    for (std::int64_t first = 0; first < dataset.size(); first += batch) {
      const std::int64_t count = std::min(batch, dataset.size() - first);
      std::vector<pack::Blob> blobs(static_cast<std::size_t>(count));
      parallel_for(count, 1, [&](std::int64_t i, std::int64_t) {
        blobs[i] = make_blob(dataset, first + i, options);
      });
      for (const pack::Blob& blob : blobs) writer.add(blob);
      if (options.on_progress) options.on_progress(first + count);
    }
    writer.finish(dataset.class_names());
  });
}

}  // namespace fovea
