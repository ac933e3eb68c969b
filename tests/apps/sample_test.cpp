// The program `sample`: classes by number and name, and its files.
#include <doctest/doctest.h>

#include <algorithm>

#include "apps/sample_command.h"
#include "apps/sample_output.h"
#include "engine/base/files.h"
#include "engine/formats/numpy/npz.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

namespace fs = std::filesystem;

Image filled(std::uint8_t value) {
  Image image(2, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(value + i);
  }
  return image;
}

SampleCommand read(std::vector<std::string> words) {
  words.insert(words.begin(), "sample");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return read_sample_command(static_cast<int>(arguments.size()), arguments.data());
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("classes by number and name, in the given order, again and again") {
  const ModelClasses three{3, {"tench (n01440764)", "great white shark", "cock, rooster"}, {}};
  const auto chosen = [&](const std::string& text) { return chosen_classes(text, three); };
  using Labels = std::vector<std::int64_t>;
  CHECK(chosen("") == Labels{0, 1, 2});
  CHECK(chosen("2") == Labels{2});
  CHECK(chosen("2,0,2") == Labels{2, 0, 2});
  CHECK(chosen("great white shark, 0") == Labels{1, 0});
  CHECK(chosen("n01440764") == Labels{0});
  CHECK(chosen("tench") == Labels{0});
  CHECK(chosen("\"cock, rooster\",1") == Labels{2, 1});
  CHECK(contains(message_of([&] { (void)chosen("3"); }), "--classes: got 3, expected 0 to 2"));
  CHECK(contains(message_of([&] { (void)chosen("-1"); }), "--classes: got -1"));
  CHECK(contains(message_of([&] { (void)chosen("great white sharc"); }),
                 "did you mean great white shark?"));
  CHECK(contains(message_of([&] { (void)chosen("0,"); }), "--classes"));
  const ModelClasses unnamed{4};
  CHECK(chosen_classes("3,1", unnamed) == Labels{3, 1});
  CHECK(contains(message_of([&] { (void)chosen_classes("cat", unnamed); }),
                 "--classes: got cat, expected numbers 0 to 3"));
}

TEST_CASE("class and noise of a sample follow from its index, in any batch") {
  SampleCommand command;
  command.count = 5;
  command.first = 10;
  command.batch_size = 3;
  command.seed = 8;
  command.labels = {4, 7};
  const SampleRequest one = command.batch_after(0), two = command.batch_after(3);
  CHECK(one.indices == std::vector<std::int64_t>{10, 11, 12});
  CHECK(one.classes == std::vector<std::int64_t>{4, 7, 4});
  CHECK(two.indices == std::vector<std::int64_t>{13, 14});
  CHECK(two.classes == std::vector<std::int64_t>{7, 4});
  CHECK(two.seed == 8);
}

TEST_CASE("averaged weights are used where the run has them, unless a flag says otherwise") {
  const TemporaryFolder folder;
  const std::string run = folder.path().string();
  CHECK_FALSE(read({run}).load.use_ema);
  write_file_atomically(folder / "last_ema.safetensors", "");
  CHECK(read({run}).load.use_ema);
  CHECK_FALSE(read({run, "--no-use-ema"}).load.use_ema);
  CHECK(read({run}).load.checkpoint == run);
  CHECK(contains(message_of([&] { (void)read({run, run}); }), "expected one"));
  CHECK(contains(message_of([&] { (void)read({}); }), "name a run"));
  CHECK(contains(message_of([&] { (void)read({run, "--eta", "1"}); }), "--sampler ddim"));
  CHECK(read({run, "--eta", "1", "--sampler", "ddim"}).sampling.sampler.eta == 1);
  CHECK(contains(message_of([&] { (void)read({run, "--npz", "a.zip"}); }), "ends in .npz"));
}

TEST_CASE("a file name holds index, class and seed, and sorts by index") {
  CHECK(sample_name(12, 3, 7) == "000012-class3-seed7.png");
  CHECK(sample_name(1234567, 0, 0) == "1234567-class0-seed0.png");
}

TEST_CASE("pictures, their grid and the .npz of the ADM suite") {
  const TemporaryFolder folder;
  SampleOutput output({.folder = folder / "out",
                       .npz = folder / "all.npz",
                       .count = 3,
                       .columns = 2,
                       .seed = 5,
                       .settings = "{}\n"});
  output.add({{filled(0), 4, 7}, {filled(50), 5, 9}});
  CHECK_FALSE(fs::exists(folder / "all.npz"));
  output.add({{filled(100), 6, 7}});
  output.finish();
  CHECK(names_in(folder / "out") ==
        std::vector<std::string>{"000004-class7-seed5.png", "000005-class9-seed5.png",
                                 "000006-class7-seed5.png", "grid.png", "samples.json"});
  CHECK(read_image(folder / "out" / "000005-class9-seed5.png") == filled(50));
  const Image grid = read_image(folder / "out" / "grid.png");
  CHECK(grid.size() == ImageSize{6, 8});
  CHECK(grid.at(4, 0)[0] == 100);
  CHECK(read_file(folder / "all.json") == "{}\n");
  const InputFile file(folder / "all.npz");
  const auto arrays = NpzFile(file, "all.npz").read();
  CHECK(arrays.at("arr_0").shape() == Shape{3, 2, 3, 3});
  CHECK(arrays.at("arr_0").at(18 + 4) == 54);
  CHECK(arrays.at("arr_1").to_vector() == std::vector<double>{7, 9, 7});
}

TEST_CASE("samples that were made otherwise go to another folder") {
  const TemporaryFolder folder;
  const fs::path base = folder / "samples";
  const auto settings_json = [](int seed, int count) {
    return "{\"seed\": " + std::to_string(seed) + ", \"count\": " + std::to_string(count) + "}";
  };
  CHECK(free_sample_folder(base, settings_json(0, 4)) == base);
  fs::create_directory(base);
  write_file_atomically(base / "samples.json", settings_json(0, 4));
  CHECK_FALSE(has_other_samples(base, settings_json(0, 9)));
  CHECK(has_other_samples(base, settings_json(1, 4)));
  CHECK(free_sample_folder(base, settings_json(0, 9)) == base);
  CHECK(free_sample_folder(base, settings_json(1, 4)) == folder / "samples-2");
  fs::create_directory(folder / "samples-2");
  write_file_atomically(folder / "samples-2" / "samples.json", "no JSON");
  CHECK(free_sample_folder(base, settings_json(1, 4)) == folder / "samples-3");
}

TEST_CASE(
    "stopped early: pictures and grid stay, a .npz file without all samples does not appear") {
  const TemporaryFolder folder;
  SampleOutput output(
      {.folder = folder / "out", .npz = folder / "all.npz", .count = 3, .settings = "{}"});
  output.add({{filled(0), 0, 0}});
  output.finish();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"out"});
  CHECK(names_in(folder / "out").size() == 3);
}
