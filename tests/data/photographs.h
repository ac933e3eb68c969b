// Small data sets of pictures, made for tests: class folders, and tar files written by hand.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "data/image.h"
#include "engine/base/files.h"

namespace fovea::tests {

/// A picture that no other number gives, `number` + 20 rows high.
inline Image numbered_image(int number) {
  Image image(20 + number, 31);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(number * 37 + static_cast<int>(i / 3 % 97));
  return image;
}

/// A PNG file, so that tests of sources need no libjpeg.
inline void write_picture(const std::filesystem::path& path, int number) {
  std::filesystem::create_directories(path.parent_path());
  write_png(path, numbered_image(number));
}

/// train: cat 0 1 2, dog 3 4, "emu" 5 in a folder of its own; val: cat 6, dog 7.
inline void make_class_folders(const std::filesystem::path& root) {
  write_picture(root / "train/cat/b.png", 1);
  write_picture(root / "train/cat/a.png", 0);
  write_picture(root / "train/cat/c.PNG", 2);
  write_picture(root / "train/dog/d 1.png", 3);
  write_picture(root / "train/dog/d 2.png", 4);
  write_picture(root / "train/emu/deeper/e.png", 5);
  write_picture(root / "val/cat/x.png", 6);
  write_picture(root / "val/dog/y.png", 7);
  write_file_atomically(root / "train/cat/notes.txt", "no picture");
  write_file_atomically(root / "train/SOURCES.csv", "nothing");
}

/// No index files outside of the test's own folder.
inline DatasetOptions photographs(const std::filesystem::path& root, const std::string& name) {
  DatasetOptions options;
  options.name = name;
  options.data_dir = root;
  options.index_cache = "none";
  return options;
}

/// One member of a tar file: header, content, padding.
inline std::string tar_member(std::string_view path, std::string_view content, char type = '0') {
  std::string block(512, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) {
    block.replace(at, text.size(), text);
  };
  const auto octal = [](std::size_t value, int digits) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%0*zo", digits, value);
    return std::string(text.data());
  };
  put(0, path.substr(0, 100));
  put(100, "0000644");
  put(124, octal(content.size(), 11));
  put(136, "00000000000");
  put(148, "        ");
  block[156] = type;
  put(257, std::string_view("ustar\00000", 8));
  std::size_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  std::string member = block + std::string(content);
  member.resize((member.size() + 511) / 512 * 512);
  return member;
}

inline std::string tar_end() { return std::string(1024, '\0'); }

/// A sample in WebDataset's form.
inline std::string tar_sample(const std::string& key, int number, int label) {
  return tar_member(key + ".cls", std::to_string(label)) +
         tar_member(key + ".png", encode_png(numbered_image(number)));
}

}  // namespace fovea::tests
