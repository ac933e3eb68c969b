// COCO's annotation files: their content, its order, and the errors for damaged files.
#include "data/sources/boxes/coco.h"

#include <doctest/doctest.h>

#include "data/sources/split_overlap.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Two images in falling order of ids, three categories with gaps, a crowd, an outline.
constexpr std::string_view kFile = R"({
  "info": {"year": 2017, "tags": [[["a"]]]},
  "images": [
    {"id": 9, "file_name": "b.png", "width": 31, "height": 22, "license": 3, "coco_url": null},
    {"license": 1, "height": 21, "width": 31, "file_name": "a.png", "id": 4}],
  "annotations": [
    {"segmentation": [[1.5, 2, 3.25]], "area": 12.5, "iscrowd": 0, "image_id": 4,
     "bbox": [1, 2.25, 10, 5], "category_id": 3, "id": 17},
    {"id": 18, "image_id": 9, "category_id": 1, "bbox": [-2, 0, 5, 6], "area": 30, "iscrowd": 0},
    {"id": 5, "image_id": 4, "category_id": 6, "bbox": [0, 0, 20, 20], "area": 300, "iscrowd": 1,
     "segmentation": {"counts": [1, 2], "size": [21, 31], "id": 9}},
    {"id": 6, "image_id": 4, "category_id": 1, "bbox": [25, 15, 10, 10]},
    {"id": 7, "image_id": 4, "category_id": 1, "bbox": [40, 2, 5, 5], "area": 25, "iscrowd": 0}],
  "categories": [{"supercategory": "x", "id": 6, "name": "bus"}, {"id": 1, "name": "person"},
                 {"id": 3, "name": "car"}]
})";

CocoFile parsed(std::string_view text) {
  return {parse_coco_lists(MemoryBytes(text, "f.json"), "f.json"), "f.json"};
}

std::string coco_error(std::string_view text) {
  return message_of([&] { (void)parsed(text); });
}

/// A file with one list's content, and usual ones for the others.
std::string with_images(const std::string& images) {
  return R"({"images": [)" + images + R"(], "annotations": [],
             "categories": [{"id": 1, "name": "a"}]})";
}
std::string with_annotations(const std::string& annotations) {
  return R"({"images": [{"id": 1, "file_name": "a", "width": 9, "height": 9}], "annotations": [)" +
         annotations + R"(], "categories": [{"id": 1, "name": "a"}]})";
}
std::string with_categories(const std::string& categories) {
  return R"({"images": [{"id": 1, "file_name": "a", "width": 9, "height": 9}],
             "annotations": [], "categories": [)" +
         categories + "]}";
}

struct CocoFolder {
  TemporaryFolder folder;
  DatasetOptions options;

  CocoFolder() {
    options.name = "coco";
    options.data_dir = folder.path();
    for (const char* split : {"train2017", "val2017"}) {
      tests::write_picture(folder.path() / split / "a.png", 1);  // 21 x 31
      tests::write_picture(folder.path() / split / "b.png", 2);
    }
    fs::create_directories(folder.path() / "annotations");
    write("annotations/instances_train2017.json", kFile);
    write("annotations/instances_val2017.json", kFile);
  }
  void write(const char* name, std::string_view text) const {
    write_file_atomically(folder.path() / name, text);
  }
};

}  // namespace

TEST_CASE("images and categories of COCO are sorted by id, objects stay in the file's order") {
  const CocoFile file = parsed(kFile);
  REQUIRE(file.images().size() == 2);
  CHECK(file.images()[0].id == 4);
  CHECK(file.images()[0].file_name == "a.png");
  CHECK(file.images()[0].size == ImageSize{21, 31});
  CHECK(file.categories()[2].name == "bus");
  REQUIRE(file.objects(0).size() == 4);
  CHECK(file.objects(0)[0] == Annotation{17, 3, 1, 2.25, 10, 5, 12.5, false});
  CHECK(file.objects(0)[1] == Annotation{5, 6, 0, 0, 20, 20, 300, true});
  CHECK(file.objects(0)[2] == Annotation{6, 1, 25, 15, 10, 10, 100, false});  // the box's area
  REQUIRE(file.objects(1).size() == 1);
  CHECK(file.objects(1)[0].x == -2);
}

TEST_CASE("a COCO file is read the same in blocks of any content") {
  std::string text(kFile);
  text.insert(text.find("\"images\""), "\"filler\": \"" + std::string(3 << 20, 'x') + "\", ");
  CHECK(parsed(text).objects(0).size() == 4);
}

TEST_CASE(
    "crowds are kept for evaluation and not trained on; boxes are clipped, empty ones dropped") {
  const CocoFolder data;
  const auto set = require_boxes(open_dataset(data.options, Split::train), "test");
  CHECK(set->annotations(0).size() == 4);
  CHECK(set->annotations(0)[1].crowd);
  const Sample sample = set->get(0);
  const std::vector<ObjectBox> expected = {{1, 2.25, 11, 7.25, 3}, {25, 15, 31, 21, 1}};
  CHECK(*sample.targets.boxes == expected);
  const std::vector<ObjectBox> second = {{0, 0, 3, 6, 1}};
  CHECK(*set->get(1).targets.boxes == second);
  CHECK(set->get(1).image == tests::numbered_image(2));
}

TEST_CASE("labels of COCO are its category ids, with names for the gaps") {
  const CocoFolder data;
  const auto set = require_boxes(open_dataset(data.options, Split::test), "test");
  CHECK(set->category_ids() == std::vector<std::int64_t>{1, 3, 6});
  CHECK(set->class_names() == std::vector<std::string>{"unused 0", "person", "unused 2", "car",
                                                       "unused 4", "unused 5", "bus"});
  CHECK(set->image_id(1) == 9);
  CHECK(set->stored_size(1) == ImageSize{22, 31});
  CHECK(set->describe(0) == (data.folder.path() / "val2017/a.png").string());
  CHECK(set->label(0) == 0);
  ListEntry entry;
  set->list_entry(1, entry);
  CHECK(entry.name == "b.png");
  CHECK_THROWS_WITH_AS((void)set->image_id(2), "coco: got index 2, expected 0 to 1", Error);
}

TEST_CASE("with compact ids the categories of COCO are 1 to n, and the files' ids are known") {
  CocoFolder data;
  data.options.compact_ids = true;
  const auto train = require_boxes(open_dataset(data.options, Split::train), "test");
  CHECK(train->category_ids() == std::vector<std::int64_t>{1, 2, 3});
  CHECK(train->class_names() == std::vector<std::string>{"unused 0", "person", "car", "bus"});
  CHECK(train->stored_ids().ids() == std::vector<std::int64_t>{1, 3, 6});
  CHECK(train->annotations(0)[0].label == 2);
  CHECK(train->get(0).targets.boxes->front().label == 2);
  CHECK(images_of(train, {1}, "")->stored_ids().id_of(3) == 6);

  data.write("annotations/instances_val2017.json", with_categories(R"({"id": 6, "name": "bus"})"));
  const auto test = require_boxes(open_dataset(data.options, Split::test), "test");
  CHECK(test->category_ids() == std::vector<std::int64_t>{3});
  data.write("annotations/instances_val2017.json", with_categories(R"({"id": 4, "name": "cow"})"));
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::test),
                       doctest::Contains("the category 4 (cow) is not one of training"), Error);
}

TEST_CASE("a category id beyond any model's outputs is refused, with the flag that numbers them") {
  CocoFolder data;
  data.write("annotations/instances_train2017.json",
             with_categories(R"({"id": 5000001, "name": "a"}, {"id": 5000002, "name": "b"})"));
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("expected at most 65535; --compact-ids numbers the "
                                         "categories 1 to 2"),
                       Error);
  data.options.compact_ids = true;
  CHECK(open_dataset(data.options, Split::train)->classes() == 3);
  data.options.name = "builtin";
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("--compact-ids: only applies to coco"), Error);
}

TEST_CASE("numbers without a category have no id") {
  const CategoryIds plain, compact({4, 9});
  CHECK(plain.number_of(7) == 7);
  CHECK(plain.id_of(7) == 7);
  CHECK(compact.number_of(9) == 2);
  CHECK(compact.number_of(5) == -1);
  CHECK(compact.number_of(10) == -1);
  CHECK(compact.id_of(1) == 4);
  CHECK(compact.id_of(0) == -1);
  CHECK(compact.id_of(3) == -1);
  CHECK_THROWS_AS(CategoryIds({9, 4}), Error);
}

TEST_CASE("one picture of COCO under two ids is told, with both") {
  const CocoFolder data;
  CHECK(open_dataset(data.options, Split::test)->notice().empty());
  std::string text(kFile);
  text.replace(text.find("b.png"), 5, "./a.png");
  data.write("annotations/instances_val2017.json", text);
  CHECK(open_dataset(data.options, Split::test)
            ->notice()
            .find(": 1 picture is listed under two ids, each with a part of the objects: a.png (4 "
                  "and 9)") != std::string::npos);
}

TEST_CASE(
    "training pictures of COCO are found among the test pictures, by name or by their boxes") {
  const CocoFolder data;
  const auto train = open_dataset(data.options, Split::train);
  const auto overlap = [&] {
    return split_overlap_notice(*open_dataset(data.options, Split::test), *train);
  };
  CHECK(overlap().starts_with("2 of 2 test pictures are also training pictures"));
  std::string text(kFile);
  text.replace(text.find("a.png"), 5, "c.png");
  data.write("annotations/instances_val2017.json", text);
  fs::rename(data.folder.path() / "val2017/a.png", data.folder.path() / "val2017/c.png");
  CHECK(overlap().starts_with("2 of 2"));
  tests::write_picture(data.folder.path() / "val2017/c.png", 1);
  Image other = tests::numbered_image(2);
  other.pixels[0] ^= 1;
  write_png(data.folder.path() / "val2017/b.png", other);
  CHECK(overlap().starts_with("1 of 2 test pictures is"));
  tests::write_picture(data.folder.path() / "val2017/c.png", 1);
  write_png(data.folder.path() / "val2017/c.png", other);
  CHECK(overlap().empty());
}

TEST_CASE("pictures of COCO in both parts are found although other ones have their names") {
  const CocoFolder data;  // whose names say nothing, as in parts that are numbered from 1 each
  std::string text(kFile);
  text.replace(text.find("b.png"), 1, "x");
  text.replace(text.find("a.png"), 1, "b");
  text.replace(text.find("x.png"), 1, "a");
  data.write("annotations/instances_val2017.json", text);
  tests::write_picture(data.folder.path() / "val2017/b.png", 1);
  tests::write_picture(data.folder.path() / "val2017/a.png", 2);
  CHECK(split_overlap_notice(*open_dataset(data.options, Split::test),
                             *open_dataset(data.options, Split::train)) ==
        "2 of 2 test pictures are also training pictures");
}

TEST_CASE("a part of a picture has the part's boxes") {
  const CocoFolder data;
  const auto set = open_dataset(data.options, Split::test);
  const Sample part = set->get(0, [](ImageSize) { return PixelBox{4, 20, 6, 30}; }, {});
  const std::vector<ObjectBox> expected = {{0, 0, 5, 3.25, 3}, {19, 11, 24, 16, 1}};
  CHECK(*part.targets.boxes == expected);
}

TEST_CASE("other files and folders of COCO are named by flags") {
  CocoFolder data;
  data.write("own.json", kFile);
  tests::write_picture(data.folder.path() / "a.png", 1);
  data.options.val_annotations = "own.json";
  data.options.val_split = ".";
  CHECK(open_dataset(data.options, Split::test)->get(0).image == tests::numbered_image(1));
  data.options.val_annotations = "none.json";
  CHECK_THROWS_AS((void)open_dataset(data.options, Split::test), Error);
  data.options.val_split = "gone";
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::test),
                       doctest::Contains("gone: no such folder, expected the pictures of the "
                                         "annotation file; --val-split names another folder"),
                       Error);
  DatasetOptions builtin;
  builtin.annotations = "own.json";
  CHECK_THROWS_WITH_AS((void)open_dataset(builtin, Split::test),
                       doctest::Contains("only apply to coco, but the data set is builtin"), Error);
  data.options.class_map = "map.txt";
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::test),
                       doctest::Contains("--class-map"), Error);
}

TEST_CASE("missing parts of COCO are named, with the flag that names others") {
  const CocoFolder data;
  fs::remove(data.folder.path() / "annotations/instances_val2017.json");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::test),
                       doctest::Contains("--val-annotations names another file"), Error);
}

TEST_CASE("a picture of another size than its annotations state is broken") {
  const CocoFolder data;
  const auto set = open_dataset(data.options, Split::train);
  tests::write_picture(data.folder.path() / "train2017/a.png", 5);
  CHECK_THROWS_WITH_AS((void)set->get(0),
                       doctest::Contains("the picture is 25x31 (height x width), but its "
                                         "annotations are for 21x31"),
                       ImageError);
  CHECK_THROWS_AS((void)set->get(0,
                                 [](ImageSize) {
                                   return PixelBox{0, 1, 0, 1};
                                 },
                                 {}),
                  ImageError);
  CHECK_THROWS_AS(set->verify(0), ImageError);
  set->verify(1);
  fs::remove(data.folder.path() / "train2017/b.png");
  CHECK_THROWS_AS(set->verify(1), ImageError);
}

TEST_CASE("what is wrong with a COCO file is named, with its entry") {
  CHECK(coco_error("[]") ==
        "f.json: is a list, expected an object with the lists images, annotations, categories");
  CHECK(coco_error("3") ==
        "f.json: got a single value, expected an object with the lists images, annotations, "
        "categories");
  CHECK(coco_error("").find("is not valid JSON") != std::string::npos);
  CHECK(coco_error("\x1f\x8b\x08 and more") ==
        "f.json: is compressed with gzip; unpack it with gunzip");
  CHECK(coco_error(R"({"other": )" + std::string(100, '[')).find("nested more than 16 levels") !=
        std::string::npos);
  CHECK(coco_error(R"({"images": [], "categories": []})") ==
        "f.json: has no annotations, expected an object with the lists images, annotations, "
        "categories");
  CHECK(coco_error(R"({"images": {}})") == "f.json: images: got an object, expected a list");
  CHECK(coco_error(R"({"images": 3})") == "f.json: images: got 3, expected a list");
  CHECK(coco_error(R"({"images": [], "images": []})") == "f.json: has images twice");
  CHECK(coco_error(with_images("[]")) == "f.json: images[0]: got a list, expected an object");
  CHECK(coco_error(with_images("")) == "f.json: has no images, expected at least one");
  CHECK(coco_error(with_images(R"({"id": 1, "width": 3, "height": 4})")) ==
        "f.json: images[0]: has no file_name");
  CHECK(coco_error(with_images(R"({"id": 1, "width": 3, "height": 0, "file_name": "a"})")) ==
        "f.json: images[0]: got a height of 0 and a width of 3, expected 1 to 1000000 pixels");
  CHECK(coco_error(with_images(R"({"id": 1.5})")) ==
        "f.json: images[0]: id: got 1.5, expected a whole number");
  CHECK(coco_error(with_images(R"({"id": 1, "id": 2})")) == "f.json: images[0]: has id twice");
  const std::string image = R"({"id": 1, "width": 3, "height": 3, "file_name": "a"})";
  CHECK(coco_error(with_images(image + "," + image)) == "f.json: images: the id 1 occurs twice");
  CHECK(coco_error(with_categories("")) == "f.json: has no categories, expected at least one");
  CHECK(coco_error(with_categories(R"({"id": -1, "name": "a"})")).find("id: got -1") !=
        std::string::npos);
  CHECK(coco_error(with_categories(R"({"id": 3000000000, "name": "a"})"))
            .find("expected 0 to 2147483647") != std::string::npos);
  CHECK(coco_error(with_categories(R"({"id": 1, "name": 5})")) ==
        "f.json: categories[0]: name: got 5, expected a string");
}

TEST_CASE("what is wrong with an annotation is named") {
  const auto annotation = [](const std::string& members) {
    return coco_error(
        with_annotations(R"({"id": 1, "image_id": 1, "category_id": 1)" + members + "}"));
  };
  CHECK(annotation(R"(, "bbox": [1, 2, 3, 4])").empty());
  CHECK(annotation("") == "f.json: annotations[0]: has no bbox");
  CHECK(annotation(R"(, "bbox": [1, 2, 3])") ==
        "f.json: annotations[0]: bbox: got 3 numbers, expected 4 numbers: x, y, width, height");
  CHECK(annotation(R"(, "bbox": [1, [2], 3, 4])") ==
        "f.json: annotations[0]: bbox: got a list, expected 4 numbers: x, y, width, height");
  CHECK(annotation(R"(, "bbox": {"x": 1})") ==
        "f.json: annotations[0]: bbox: got an object, expected 4 numbers: x, y, width, height");
  CHECK(annotation(R"(, "bbox": [1, 2, 3, 4], "iscrowd": 2)") ==
        "f.json: annotations[0]: iscrowd: got 2, expected 0 or 1");
  CHECK(annotation(R"(, "bbox": [1, 2, 3, 4], "area": -5)") ==
        "f.json: annotations[0]: area: got -5, expected 0 or more");
  CHECK(annotation(R"(, "bbox": [1, 2, 3, 4], "area": NaN)").find("is not valid JSON at byte") !=
        std::string::npos);
  CHECK(annotation(R"(, "bbox": [1, 2, 3, 1e400])").find("is too large") != std::string::npos);
  CHECK(coco_error(with_annotations(
            R"({"id": 1, "image_id": 2, "category_id": 1, "bbox": [1, 2, 3, 4]})")) ==
        "f.json: annotations[0]: image_id: got 2, which is not the id of an image");
  CHECK(coco_error(with_annotations(
            R"({"id": 1, "image_id": 1, "category_id": 0, "bbox": [1, 2, 3, 4]})")) ==
        "f.json: annotations[0]: category_id: got 0, which is not the id of a category");
}

TEST_CASE("a COCO file that is cut anywhere is refused") {
  for (std::size_t length = 0; length + 1 < kFile.size(); ++length)
    CHECK_FALSE(coco_error(kFile.substr(0, length)).empty());
  CHECK(coco_error(kFile).empty());
}

}  // namespace fovea
