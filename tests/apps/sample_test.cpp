// The program `sample`: classes by number and name, and its files.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "apps/sample_command.h"
#include "apps/sample_output.h"
#include "engine/base/files.h"
#include "engine/formats/numpy/npz.h"
#include "report/measures/sample_list.h"
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

TEST_CASE("several scales of the guidance: different numbers, and no .npz file") {
  CHECK(read({"run"}).scales == std::vector<double>{4});
  CHECK(read({"run", "--cfg-scale", "1.5"}).scales == std::vector<double>{1.5});
  CHECK(read({"--cfg-scale", "2", "run"}).load.checkpoint == "run");
  CHECK(contains(message_of([] {
                   (void)read({"run", "--cfg-scale", "1,-2"});
                 }),
                 "--cfg-scale: got 1,-2, expected numbers from 0 to 1000"));
  CHECK(read({"run", "--cfg-scale", "1,2,4"}).scales == std::vector<double>{1, 2, 4});
  CHECK(contains(message_of([] {
                   (void)read({"run", "--cfg-scale", "2,2"});
                 }),
                 "--cfg-scale: expected one or more different numbers"));
  CHECK(contains(message_of([] {
                   (void)read({"run", "--cfg-scale", "1,2", "--npz", "a.npz"});
                 }),
                 "--npz takes samples of one --cfg-scale, got 2"));
}

TEST_CASE("the sheet of several scales has a row for each, with the scale and the classes' names") {
  const TemporaryFolder folder;
  for (const double scale : {1.0, 2.5}) {
    SampleFiles files;
    files.folder = scale_folder(folder.path(), scale);
    files.count = 3;
    files.labels = {0, 1};
    files.picture = {2, 3};
    files.settings = R"({"class_names": ["cat", "dog"], "classes": [0, 1], "count": 3, "first": 0,
                         "seed": 0})";
    SampleOutput output(files);
    output.add({{filled(10), 0, 0}, {filled(20), 1, 1}, {filled(30), 2, 0}});
    output.finish();
  }
  CHECK(fs::exists(folder.path() / "cfg-2.5" / "grid.png"));
  const fs::path sheet = write_guidance_sheet(folder.path(), {1, 2.5});
  CHECK(sheet == folder.path() / "guidance.png");
  const ImageSize tile{2 * 22 + 9, 3 * 22};  // enlarged to 64 pixels, above its name
  const Image picture = read_image(sheet);
  CHECK(picture.size() == ImageSize{2 * (tile.height + 2) - 2, 4 * (tile.width + 2) - 2});
  CHECK(picture.at(0, tile.width + 2)[0] == 10);
  CHECK(picture.at(tile.height + 2, 2 * (tile.width + 2))[0] == 20);
}

TEST_CASE("class and noise of a sample follow from its index, in any batch") {
  SampleCommand command;
  command.count = 5;
  command.first = 10;
  command.seed = 8;
  command.labels = {4, 7};
  const std::vector<std::int64_t> places{0, 1, 2, 3, 4};
  const std::span<const std::int64_t> all(places);
  const SampleRequest one = command.request_for(all.first(3)),
                      two = command.request_for(all.last(2));
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
  CHECK(contains(message_of([&] { (void)read(std::vector<std::string>()); }), "name a run"));
  CHECK(contains(message_of([&] { (void)read({run, "--eta", "1"}); }), "--sampler ddim"));
  CHECK(read({run, "--eta", "1", "--sampler", "ddim"}).sampling.sampler.eta == 1);
  CHECK(contains(message_of([&] { (void)read({run, "--npz", "a.zip"}); }), "ends in .npz"));
}

namespace {

/// The settings of a call.
std::string settings(int seed, std::int64_t first, std::int64_t count, double scale = 4) {
  return "{\"classes\": [7, 9], \"count\": " + std::to_string(count) +
         ", \"first\": " + std::to_string(first) + ", \"seed\": " + std::to_string(seed) +
         ", \"cfg_scale\": " + std::to_string(scale) + "}";
}

SampleFiles files_of(const TemporaryFolder& folder, std::int64_t first, std::int64_t count) {
  return {.folder = folder / "out",
          .npz = folder / "all.npz",
          .count = count,
          .first = first,
          .labels = {7, 9},
          .picture = {2, 3},
          .columns = 2,
          .seed = 5,
          .settings = settings(5, first, count)};
}

/// Makes what the output lacks, at most `most` samples.
void make(SampleOutput& output, std::int64_t first, std::int64_t count, std::int64_t most = 100) {
  for (std::int64_t place = 0; place < count && most > 0; ++place) {
    if (output.has(place)) continue;
    const std::int64_t index = first + place;
    output.add({{filled(static_cast<std::uint8_t>(50 * index)), index, index % 2 == 0 ? 7 : 9}});
    --most;
  }
}

std::map<std::string, Tensor> arrays_of(const fs::path& npz) {
  const InputFile file(npz);
  return NpzFile(file, npz.string()).read();
}

}  // namespace

TEST_CASE("pictures, their grid and the .npz of the ADM suite") {
  const TemporaryFolder folder;
  SampleOutput output(files_of(folder, 4, 3));
  make(output, 4, 3, 2);
  CHECK_FALSE(fs::exists(folder / "all.npz"));
  make(output, 4, 3);
  output.finish();
  CHECK(names_in(folder / "out") ==
        std::vector<std::string>{"000004-class7-seed5.png", "000005-class9-seed5.png",
                                 "000006-class7-seed5.png", "grid.png", "samples.json"});
  CHECK(read_image(folder / "out" / "000005-class9-seed5.png") == filled(250));
  const Image grid = read_image(folder / "out" / "grid.png");
  CHECK(grid.size() == ImageSize{2 * 55 - 2, 2 * 68 - 2});  // enlarged, with names
  CHECK(grid.at(55, 0)[0] == (300 & 255));
  CHECK(contains(read_file(folder / "all.json"), "\"seed\": 5"));
  const auto arrays = arrays_of(folder / "all.npz");
  CHECK(arrays.at("arr_0").shape() == Shape{3, 2, 3, 3});
  CHECK(arrays.at("arr_0").at(18 + 4) == 254);
  CHECK(arrays.at("arr_1").to_vector() == std::vector<double>{7, 9, 7});
}

TEST_CASE("the list of the calls stands in the folder before the first picture") {
  const TemporaryFolder folder;
  const SampleOutput output(files_of(folder, 0, 3));
  CHECK(contains(read_file(folder / "out" / "samples.json"), "\"calls\""));
  CHECK(fs::exists(folder / "all.json"));
}

TEST_CASE("a killed call is continued: pictures and rows that are there are not made again") {
  const TemporaryFolder folder;
  {
    SampleOutput killed(files_of(folder, 0, 4));
    make(killed, 0, 4, 3);
  }
  CHECK_FALSE(fs::exists(folder / "all.npz"));
  fs::remove(folder / "out" / "000001-class9-seed5.png");
  SampleOutput output(files_of(folder, 0, 4));
  CHECK(output.done() == 2);
  CHECK_FALSE(output.has(1));
  CHECK(output.has(2));
  CHECK_FALSE(output.has(3));
  make(output, 0, 4);
  output.finish();
  const auto arrays = arrays_of(folder / "all.npz");
  for (const std::int64_t row : {0, 1, 2, 3}) {
    CHECK(arrays.at("arr_0").at(18 * row) == static_cast<std::uint8_t>(50 * row));
  }
  CHECK(arrays.at("arr_1").to_vector() == std::vector<double>{7, 9, 7, 9});
  CHECK(SampleOutput(files_of(folder, 0, 4)).done() == 4);  // complete: nothing to do
}

TEST_CASE("calls share a folder: the list has all of them, the grid all their pictures") {
  const TemporaryFolder folder;
  for (const auto& [first, count] : {std::pair(0, 2), std::pair(2, 3), std::pair(0, 1)}) {
    SampleFiles files = files_of(folder, first, count);
    files.npz.clear();
    SampleOutput output(files);
    make(output, first, count);
    output.finish();
  }
  CHECK(read_image(folder / "out" / "grid.png").size() == ImageSize{3 * 55 - 2, 2 * 68 - 2});
  const std::string list = read_file(folder / "out" / "samples.json");
  const auto samples = listed_samples(list);
  REQUIRE(samples.has_value());
  CHECK(samples->size() == 5);
  CHECK(samples->at(3).file == "000003-class9-seed5.png");
  CHECK(contains(list, "\"count\": 5"));
}

TEST_CASE("a second call with other settings is refused by the setting's name") {
  const TemporaryFolder folder;
  {
    SampleOutput first(files_of(folder, 0, 2));
    make(first, 0, 2, 1);
  }
  SampleFiles other = files_of(folder, 0, 2);
  other.settings = settings(5, 0, 2, 1.5);
  CHECK(contains(message_of([&] { SampleOutput output(other); }),
                 "all.npz: has samples of other settings (cfg_scale: 4.0 and 1.5)"));
  other.npz.clear();
  CHECK(contains(message_of([&] { SampleOutput output(other); }),
                 "out: has samples of other settings (cfg_scale: 4.0 and 1.5); choose another "
                 "--output"));
  SampleFiles longer = files_of(folder, 0, 3);
  CHECK(contains(message_of([&] { SampleOutput output(longer); }), "(first or count)"));
  CHECK(free_sample_folder(folder / "out", settings(5, 9, 9)) == folder / "out");
  CHECK(free_sample_folder(folder / "out", settings(5, 0, 2, 1)) == folder / "out-2");
  fs::remove(folder / "out" / "samples.json");
  CHECK(difference_to_samples_in(folder / "out", other.settings) == "samples.json is missing");
  write_file_atomically(folder / "out" / "samples.json", "no JSON");
  CHECK_FALSE(difference_to_samples_in(folder / "out", other.settings).empty());
}

TEST_CASE("stopped early: pictures and grid stay, a .npz file without all samples is kept apart") {
  const TemporaryFolder folder;
  {
    SampleOutput output(files_of(folder, 0, 3));
    make(output, 0, 3, 1);
    output.finish();
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"all.json", "all.npz.partial", "out"});
  CHECK(names_in(folder / "out").size() == 3);
}

TEST_CASE("films of several .npz files in one folder have names of their own") {
  const TemporaryFolder folder;
  for (const char* name : {"a.npz", "b.npz"}) {
    SampleFiles files = files_of(folder, 0, 1);
    files.folder.clear();
    files.npz = folder / name;
    SampleOutput output(files);
    output.write_film({filled(0)}, 1);
  }
  CHECK(fs::exists(folder / "a-film.png"));
  CHECK(fs::exists(folder / "b-film.png"));
}

TEST_CASE("stopped before the first picture: no folder stays that looks like samples") {
  const TemporaryFolder folder;
  SampleFiles files = files_of(folder, 0, 3);
  files.npz.clear();
  SampleOutput output(files);
  output.finish();
  CHECK(fs::is_empty(folder.path()));
}
