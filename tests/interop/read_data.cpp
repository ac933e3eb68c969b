// Reads data sets and files for depth_files.py and the scripts of exported models, and writes their
// values as safetensors.
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/depth_png.h"
#include "data/dataset.h"
#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/matlab.h"
#include "engine/formats/safetensors.h"

namespace {

using namespace fovea;

using TensorMap = std::map<std::string, Tensor>;

std::shared_ptr<const Dataset> open_set(const std::vector<std::string>& args) {
  DatasetOptions options;
  options.name = args[1];
  options.data_dir = args[2];
  options.index_cache = "none";
  return open_dataset(options, args[3] == "train" ? Split::train : Split::test);
}

/// Adds the pixels of all images, which have one size, as [N, H, W, C].
void add_pixels(TensorMap& tensors, const std::string& name, const std::vector<Image>& images) {
  const Image& one = images.at(0);
  const DType dtype = one.format.type == PixelType::f32 ? DType::f32 : DType::u8;
  std::string bytes;
  for (const Image& image : images) {
    check(image.size() == one.size(), name, ": the images have different sizes");
    bytes.append(image.pixels.begin(), image.pixels.end());
  }
  const Shape shape{std::ssize(images), one.height, one.width, one.format.channels};
  tensors[name] = from_bytes(shape, dtype, std::as_bytes(std::span(bytes)));
}

/// The images of a data set, and their dense maps by name.
void write_dataset(const std::vector<std::string>& args) {
  const std::shared_ptr<const Dataset> set = open_set(args);
  std::map<std::string, std::vector<Image>> images;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    Sample sample = set->get(i);
    images["images"].push_back(std::move(sample.image));
    for (DenseMap& map : sample.targets.maps) images[map.name].push_back(std::move(map.values));
  }
  TensorMap tensors;
  for (const auto& [name, several] : images) add_pixels(tensors, name, several);
  write_safetensors(args[4], tensors);
}

/// Each image under its index, u8 [H, W, C].
void write_pictures(const std::vector<std::string>& args) {
  const std::shared_ptr<const Dataset> set = open_set(args);
  TensorMap tensors;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    const Image image = set->get(i).image;
    const Shape shape{image.height, image.width, image.format.channels};
    tensors[std::to_string(i)] =
        from_bytes(shape, DType::u8, std::as_bytes(std::span(image.pixels)));
  }
  write_safetensors(args[4], tensors);
}

void write_labels(const std::vector<std::string>& args) {
  const std::shared_ptr<const Dataset> set = open_set(args);
  std::vector<double> labels;
  for (std::int64_t i = 0; i < set->size(); ++i)
    labels.push_back(static_cast<double>(set->label(i)));
  write_safetensors(args[4], {{"labels", from_values({set->size()}, labels, {DType::i64, {}})}});
}

/// The arrays of a MATLAB 5 file.
void write_matlab(const std::string& path, const std::string& output) {
  const MatlabFile file(read_file(path), path);
  TensorMap tensors;
  for (const MatlabFile::Variable& variable : file.variables()) {
    if (variable.is_numeric) tensors[variable.name] = file.read(variable.name);
  }
  write_safetensors(output, tensors);
}

void write_classes(const std::vector<std::string>& args) {
  const std::shared_ptr<const Dataset> set = open_set(args);
  for (const std::string& name : set->class_names()) std::printf("%s\n", name.c_str());
}

void run(const std::vector<std::string>& args) {
  const std::string command = args.empty() ? "" : args[0] + std::to_string(args.size());
  if (command == "dataset5") return write_dataset(args);
  if (command == "pictures5") return write_pictures(args);
  if (command == "labels5") return write_labels(args);
  if (command == "classes4") return write_classes(args);
  if (command == "matlab3") return write_matlab(args[1], args[2]);
  if (command == "depth_png3") {
    const Image metres = decode_depth_png(as_u8(read_file(args[1])), args[1]);
    return write_file_atomically(args[2], encode_depth_png(metres));
  }
  fail("usage: read_data dataset|pictures|labels NAME FOLDER SPLIT OUTPUT | ",
       "classes NAME FOLDER SPLIT | matlab FILE OUTPUT | depth_png FROM TO");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
