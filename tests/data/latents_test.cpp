// Files of latents, and the data set that draws from them.
#include "data/sources/packed/latents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/image_list.h"
#include "data/loading/training_images.h"
#include "data/sources/packed/latent_writer.h"
#include "engine/formats/safetensors.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

constexpr std::int64_t kChannels = 2, kHeight = 2, kWidth = 3, kImages = 6;

LatentInfo info(bool flipped = true) {
  return {{"vae_test", "abc123", 0.5, "8x12, center crop"},
          kChannels,
          {kHeight, kWidth},
          flipped,
          {"cat", "dog"}};
}

/// Image n has the means n + 0.1 k in its k-th place, 100 more if mirrored, and this log-variance.
Tensor moments(std::int64_t first, std::int64_t count, double log_variance, double more) {
  Tensor x = empty({count, 2 * kChannels, kHeight, kWidth});
  const std::int64_t half = kChannels * kHeight * kWidth;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t k = i % (2 * half), n = first + i / (2 * half);
    x.data<float>()[i] = static_cast<float>(
        k < half ? static_cast<double>(n) + 0.1 * static_cast<double>(k) + more : log_variance);
  }
  return x;
}

/// Even images are cats, odd ones dogs.
Tensor labels_of(std::int64_t first, std::int64_t count) {
  Tensor labels = empty({count}, {DType::i64, {}});
  for (std::int64_t i = 0; i < count; ++i) labels.data<std::int64_t>()[i] = (first + i) % 2;
  return labels;
}

void write(const std::filesystem::path& path, double log_variance = -200,
           const LatentInfo& what = info()) {
  LatentWriter writer(path, what, kImages);
  for (const auto& [first, count] : {std::pair(0, 4), std::pair(4, 2)}) {
    writer.add(moments(first, count, log_variance, 0),
               what.has_flipped ? moments(first, count, log_variance, 100) : Tensor(),
               labels_of(first, count));
  }
  writer.finish();
}

std::shared_ptr<const Dataset> open_latents(const std::filesystem::path& path) {
  return open_dataset({.name = "latents", .data_dir = path}, Split::train);
}

Batch batch_of(const std::shared_ptr<const Dataset>& set, double flip, std::int64_t size,
               std::uint64_t seed = 1, Cursor at = {}) {
  TrainingImages images;
  images.loader.batch_size = size;
  images.loader.seed = seed;
  images.loader.workers = 0;
  images.augment.flip = flip;
  return training_loader(images, set, {}, at)->next();
}

std::vector<float> row_of(const Batch& batch, std::int64_t index) {
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    if (batch.indices.at(b) != static_cast<double>(index)) continue;
    const std::int64_t length = batch.images.numel() / batch.size();
    const float* const row = batch.images.data<float>() + b * length;
    return {row, row + length};
  }
  return {};
}

/// The message for the file with one change.
template <class Change>
std::string refusal(const Change& change) {
  const TemporaryFolder folder;
  write(folder / "a");
  SafetensorsFile file = read_safetensors(folder / "a");
  change(file);
  write_safetensors(folder / "b", file.tensors, file.metadata);
  return message_of([&] { LatentFile again(folder / "b"); });
}

}  // namespace

TEST_CASE("a file of latents keeps moments, labels, names and its VAE") {
  const TemporaryFolder folder;
  write(folder / "a");
  const SafetensorsFile file = read_safetensors(folder / "a");
  CHECK(file.tensors.at("moments").shape() == Shape{kImages, 4, 2, 3});
  CHECK(file.tensors.at("labels").to_vector() == std::vector<double>{0, 1, 0, 1, 0, 1});
  CHECK(file.tensors.at("moments").to_vector() == moments(0, kImages, -200, 0).to_vector());
  CHECK(file.tensors.at("moments_flipped").to_vector() ==
        moments(0, kImages, -200, 100).to_vector());
  CHECK(file.metadata.at("format") == "fovea-latents-1");
  const LatentFile latents(folder / "a");
  CHECK(latents.info().source == info().source);
  CHECK(latents.info().classes == info().classes);
  CHECK(latents.info().size == ImageSize{2, 3});
  CHECK(latents.size() == kImages);
  CHECK(latents.label(3) == 1);
}

TEST_CASE("a writer refuses other shapes and counts, and keeps what it has in another file") {
  const TemporaryFolder folder;
  {
    LatentWriter writer(folder / "a", info(), 3);
    const Tensor m = moments(0, 2, 0, 0), labels = zeros({2}, {DType::i64, {}});
    CHECK(contains(message_of([&] { writer.add(m, {}, labels); }), "moments_flipped for 0 images"));
    CHECK(contains(message_of([&] {
                     writer.add(zeros({2, 3, 2, 3}), m, labels);
                   }),
                   "expected f32 [2, 4, 2, 3]"));
    CHECK(contains(message_of([&] { writer.add(m, m, zeros({3}, {DType::i64, {}})); }), "labels"));
    writer.add(m, m, labels);
    CHECK(contains(message_of([&] { writer.add(m, m, labels); }), "got 4 images, expected 3"));
    CHECK(contains(message_of([&] { writer.finish(); }), "got 2 images, expected 3"));
  }
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
  CHECK(std::filesystem::exists(folder / "a.partial"));
}

TEST_CASE("a file that a killed process began is continued after its last committed image") {
  const TemporaryFolder folder;
  write(folder / "whole");
  {
    LatentWriter writer(folder / "a", info(), kImages);
    CHECK(writer.done() == 0);
    writer.add(moments(0, 2, -200, 0), moments(0, 2, -200, 100), labels_of(0, 2));
    writer.commit();
    writer.add(moments(7, 2, -200, 0), moments(7, 2, -200, 100), labels_of(2, 2));
    std::filesystem::copy_file(folder / "a.partial", folder / "killed");
  }
  std::filesystem::rename(folder / "killed", folder / "a.partial");
  LatentWriter writer(folder / "a", info(), kImages);
  CHECK(writer.done() == 2);
  writer.add(moments(2, 4, -200, 0), moments(2, 4, -200, 100), labels_of(2, 4));
  writer.finish();
  CHECK(read_file(folder / "a") == read_file(folder / "whole"));
  CHECK_FALSE(std::filesystem::exists(folder / "a.partial"));
}

TEST_CASE("a file without images that can be read is begun anew by the next call") {
  const TemporaryFolder folder;
  {
    LatentWriter writer(folder / "a", info(), kImages);
    writer.leave_out(2);
    writer.commit();
    writer.leave_out(kImages - 2);
    CHECK(contains(message_of([&] { writer.finish(); }), "none of its"));
  }
  CHECK(LatentWriter(folder / "a", info(), kImages).done() == 0);
}

TEST_CASE("images that cannot be read are left out of a file, also over several calls") {
  const TemporaryFolder folder;
  {
    LatentWriter writer(folder / "a", info(), kImages);
    writer.leave_out(1);
    writer.add(moments(1, 2, -200, 0), moments(1, 2, -200, 100), labels_of(1, 2));
    writer.commit();
  }
  {
    LatentWriter writer(folder / "a", info(), kImages);
    CHECK(writer.done() == 3);
    CHECK(writer.left_out() == 1);
    writer.leave_out(2);
    writer.add(moments(5, 1, -200, 0), moments(5, 1, -200, 100), labels_of(5, 1));
    writer.finish();
  }
  const LatentFile file(folder / "a");
  REQUIRE(file.size() == 3);
  std::vector<float> row(static_cast<std::size_t>(file.info().moments()));
  for (const auto& [place, image] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 5)}) {
    file.read(place, /*flipped=*/false, row);
    CHECK(row[0] == static_cast<float>(image));
    file.read(place, /*flipped=*/true, row);
    CHECK(row[0] == static_cast<float>(image + 100));
    CHECK(file.label(place) == image % 2);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "a.partial"));
}

TEST_CASE("what was begun with other settings is not continued, whatever their sizes") {
  const TemporaryFolder folder;
  {
    LatentWriter writer(folder / "a", info(), kImages);
    writer.add(moments(0, 2, -200, 0), moments(0, 2, -200, 100), labels_of(0, 2));
    writer.commit();
  }
  const std::string kept = read_file(folder / "a.partial");
  LatentInfo other = info();
  other.source.hash = "def456";
  other.others["precision"] = "bf16";
  CHECK(contains(message_of([&] { LatentWriter writer(folder / "a", other, kImages); }),
                 "was begun with other settings (precision, vae_hash); repeat them"));
  CHECK(contains(message_of([&] { LatentWriter writer(folder / "a", info(), 100'000); }),
                 "other settings (labels, moments, moments_flipped)"));
  CHECK(read_file(folder / "a.partial") == kept);
  LatentWriter writer(folder / "a", other, kImages, /*replaces_others=*/true);
  CHECK(writer.done() == 0);
}

TEST_CASE("latents: scale * mean without deviation, of the image or of its mirror image") {
  const TemporaryFolder folder;
  write(folder / "a");
  const auto set = open_latents(folder / "a");
  CHECK(set->image_size() == ImageSize{2, 3});
  for (const double flip : {0.0, 1.0}) {
    const Batch batch = batch_of(set, flip, kImages);
    CHECK(batch.images.shape() == Shape{kImages, kChannels, kHeight, kWidth});
    for (std::int64_t n = 0; n < kImages; ++n) {
      const std::vector<float> row = row_of(batch, n);
      REQUIRE(row.size() == 12);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const double mean = static_cast<double>(n) + 0.1 * static_cast<double>(k) + 100 * flip;
        CHECK(row[k] == doctest::Approx(0.5 * mean).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("half of the images are mirrored, none without moments of mirrored images") {
  const TemporaryFolder folder;
  write(folder / "a");
  write(folder / "b", -200, info(/*flipped=*/false));
  int mirrored = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::int64_t n = 0; n < kImages; ++n) {
      mirrored +=
          row_of(batch_of(open_latents(folder / "a"), 0.5, kImages, seed), n)[0] > 40 ? 1 : 0;
    }
  }
  CHECK(mirrored > 110);
  CHECK(mirrored < 190);
  CHECK(row_of(batch_of(open_latents(folder / "b"), 1, kImages), 2)[0] == doctest::Approx(1));
}

TEST_CASE("noise: a function of seed, epoch and image, with the deviation of the moments") {
  const TemporaryFolder folder;
  write(folder / "a", std::log(9.0));
  const auto set = open_latents(folder / "a");
  const Batch whole = batch_of(set, 0, kImages);
  const Batch part = batch_of(set, 0, 2);
  for (std::int64_t b = 0; b < 2; ++b) {
    const auto n = static_cast<std::int64_t>(part.indices.at(b));
    CHECK(row_of(part, n) == row_of(whole, n));  // in a batch of another size
  }
  CHECK(row_of(batch_of(set, 0, kImages, 2), 0) != row_of(whole, 0));
  CHECK(row_of(batch_of(set, 0, kImages, 1, {1, 0}), 0) != row_of(whole, 0));

  double sum = 0, squares = 0, products = 0;
  int count = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Batch batch = batch_of(set, 0, kImages, seed);
    for (std::int64_t n = 0; n < kImages; ++n) {
      double before = 0;
      const std::vector<float> row = row_of(batch, n);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const double mean = static_cast<double>(n) + 0.1 * static_cast<double>(k);
        const double noise = row[k] / 0.5 - mean;
        sum += noise;
        squares += noise * noise;
        products += noise * before;
        before = noise;
        ++count;
      }
    }
  }
  CHECK(std::abs(sum / count) < 0.1);
  CHECK(squares / count == doctest::Approx(9).epsilon(0.04));
  CHECK(std::abs(products / count) < 0.3);
}

TEST_CASE("latents with three channels are not normalised like colours") {
  const TemporaryFolder folder;
  LatentInfo what = info(false);
  what.channels = 3;
  LatentWriter writer(folder / "a", what, 1);
  writer.add(full({1, 6, 2, 3}, -100), {}, zeros({1}, {DType::i64, {}}));
  writer.finish();
  CHECK(row_of(batch_of(open_latents(folder / "a"), 0, 1), 0)[0] == doctest::Approx(-50));
}

TEST_CASE("splits: a file, a folder of two files, or one file for both") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& wanted, Split split) {
    DatasetOptions options{.name = "latents", .data_dir = folder.path()};
    options.train_split = wanted;
    return find_latents(options, split).filename().string();
  };
  CHECK(file("", Split::train).empty());
  CHECK(contains(message_of([&] { static_cast<void>(open_latents(folder.path())); }),
                 "contains no latents, expected train.safetensors"));
  write(folder / "latents.safetensors");
  CHECK(file("", Split::test) == "latents.safetensors");
  CHECK(is_one_latent_file({.data_dir = folder.path()}));
  write(folder / "other");
  CHECK(file("other", Split::train) == "other");
  write(folder / "train.safetensors");
  CHECK(file("", Split::train) == "train.safetensors");
  CHECK(file("", Split::test).empty());
  write(folder / "val.safetensors");
  CHECK(file("", Split::test) == "val.safetensors");
  CHECK_FALSE(is_one_latent_file({.data_dir = folder.path()}));
  CHECK(is_one_latent_file({.data_dir = folder / "other"}));
}

TEST_CASE("subsets of latents are latents, and latents of another VAE are other images") {
  const TemporaryFolder folder;
  write(folder / "a");
  LatentInfo other = info();
  other.source.hash = "fff";
  write(folder / "b", -200, other);
  const auto dogs = open_dataset(
      {.name = "latents", .data_dir = folder / "a", .val_fraction = 0.3, .classes = "dog"},
      Split::train);
  REQUIRE(dogs->latents() != nullptr);
  CHECK(dogs->latents()->source.hash == "abc123");
  CHECK(dogs->size() < 4);
  CHECK(difference(image_list(*open_latents(folder / "a")), *open_latents(folder / "a")).empty());
  CHECK_FALSE(
      difference(image_list(*open_latents(folder / "a")), *open_latents(folder / "b")).empty());
}

TEST_CASE("latents of one VAE go with that VAE") {
  const LatentSource own = info().source;
  LatentSource other = own;
  CHECK(message_of([&] { require_same_vae({own, "a"}, {other, "b"}); }).empty());
  other.preparation = "16x16";
  CHECK(message_of([&] { require_same_vae({own, "a"}, {other, "b"}); }).empty());
  other.scale = 0.25;
  CHECK(contains(message_of([&] { require_same_vae({own, "a"}, {other, "b"}); }), "another scale"));
  other = own;
  other.hash = "fff";
  const std::string message = message_of([&] { require_same_vae({own, "a"}, {other, "b"}); });
  CHECK(contains(message, "b: is of the VAE \"vae_test\" (weights fff, scale 0.5)"));
  CHECK(contains(message, "another VAE"));
}

TEST_CASE("files that are no latents, or lie, are refused by name") {
  CHECK(refusal([](SafetensorsFile&) {}).empty());
  CHECK(contains(refusal([](auto& f) { f.metadata["format"] = "pt"; }), "its format is \"pt\""));
  CHECK(contains(refusal([](auto& f) { f.tensors.erase("moments"); }), "lacks the tensor moments"));
  CHECK(contains(refusal([](auto& f) { f.tensors.erase("labels"); }), "lacks the tensor labels"));
  CHECK(contains(refusal([](auto& f) { f.tensors["labels"] = zeros({6}); }), "labels are F32"));
  CHECK(contains(refusal([](auto& f) {
                   f.tensors["labels"] = zeros({5}, {DType::i64, {}});
                 }),
                 "N = 5"));
  CHECK(contains(refusal([](auto& f) {
                   f.tensors["moments"] = zeros({6, 3, 2, 3});
                 }),
                 "expected F32 [N, 2C, h, w]"));
  CHECK(contains(refusal([](auto& f) {
                   f.tensors["moments_flipped"] = zeros({6, 4, 2, 2});
                 }),
                 "like its moments"));
  CHECK(contains(refusal([](auto& f) {
                   f.tensors["labels"] = full({6}, 2, {DType::i64, {}});
                 }),
                 "image 0 has the label 2, expected 0 to 1"));
  CHECK(contains(refusal([](auto& f) { f.metadata.erase("vae_hash"); }), "do not name the VAE"));
  CHECK(contains(refusal([](auto& f) { f.metadata["classes"] = "{}"; }), "name no classes"));
  for (const char* scale : {"", "0", "-1", "nan", "inf", "x"}) {
    CHECK(contains(refusal([&](auto& f) { f.metadata["scaling_factor"] = scale; }),
                   "expected a positive number"));
  }
}

TEST_CASE("moments that are not finite, and a file that became shorter, are broken images") {
  const TemporaryFolder folder;
  write(folder / "a", std::nan(""));
  CHECK_THROWS_AS(static_cast<void>(open_latents(folder / "a")->get(1)), ImageError);
  write(folder / "b");
  const auto set = open_latents(folder / "b");
  std::filesystem::resize_file(folder / "b", std::filesystem::file_size(folder / "b") - 8);
  CHECK_NOTHROW(static_cast<void>(set->get(4)));
  CHECK_THROWS_AS(static_cast<void>(set->get(5)), ImageError);
  CHECK(contains(message_of([&] { static_cast<void>(open_latents(folder / "b")); }), "bytes"));
}
