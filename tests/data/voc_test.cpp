// PASCAL VOC's annotations and lists.
#include "data/sources/boxes/voc.h"

#include <doctest/doctest.h>

#include "data/sources/boxes/voc_file.h"
#include "data/sources/split_overlap.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

std::string object(const std::string& name, const std::string& corners,
                   const std::string& more = "") {
  const std::vector<std::string> values = [&] {
    std::vector<std::string> words;
    std::size_t begin = 0;
    while (begin < corners.size()) {
      const std::size_t end = std::min(corners.find(' ', begin), corners.size());
      words.push_back(corners.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  }();
  return "<object><name>" + name + "</name>" + more + "<bndbox><xmin>" + values[0] +
         "</xmin><ymin>" + values[1] + "</ymin><xmax>" + values[2] + "</xmax><ymax>" + values[3] +
         "</ymax></bndbox></object>";
}

std::string annotation(const std::string& objects, int height = 21) {
  return "<?xml version=\"1.0\"?>\n<annotation verified=\"yes\"><filename>x</filename><size>"
         "<width>31</width><height>" +
         std::to_string(height) + "</height><depth>3</depth></size>" + objects + "</annotation>\n";
}

std::string voc_error(const std::string& xml) {
  return message_of([&] { (void)parse_voc(xml, "a.xml"); });
}

struct VocFolder {
  TemporaryFolder folder;
  DatasetOptions options;

  VocFolder() {
    options.name = "voc";
    options.data_dir = folder.path();
    add("p1", 1,
        object("dog", "2 3 11 9") + object("cat", "1 1 31 21", "<difficult>1</difficult>"));
    add("p2", 2, object("cat", "5.5 6 20 30"));
    add("p3", 3, "");
    list("train", "p2\np1 -1\n");
    list("val", "\np3\n");
  }
  void add(const std::string& stem, int number, const std::string& objects) const {
    tests::write_picture(folder.path() / "JPEGImages" / (stem + ".png"), number);
    fs::create_directories(folder.path() / "Annotations");
    write_file_atomically(folder.path() / "Annotations" / (stem + ".xml"),
                          annotation(objects, 20 + number));
  }
  void list(const std::string& name, const std::string& text) const {
    fs::create_directories(folder.path() / "ImageSets/Main");
    write_file_atomically(folder.path() / "ImageSets/Main" / (name + ".txt"), text);
  }
};

}  // namespace

#if FOVEA_HAS_PUGIXML

TEST_CASE("VOC counts pixels from 1 and includes the last one") {
  const VocFile file = parse_voc(annotation(object("\n dog\n", "2 3 11\n 9",
                                                   "<part><name>head</name>"
                                                   "</part>")),
                                 "a.xml");
  CHECK(file.size == ImageSize{21, 31});
  REQUIRE(file.objects.size() == 1);
  CHECK(file.objects[0].name == "dog");
  CHECK(file.objects[0].x == 1);
  CHECK(file.objects[0].y == 2);
  CHECK(file.objects[0].width == 10);
  CHECK(file.objects[0].height == 7);
  CHECK(!file.objects[0].difficult);
}

TEST_CASE("VOC lists choose the images; classes are the names of all annotations") {
  const VocFolder data;
  const auto train = require_boxes(open_dataset(data.options, Split::train), "test");
  REQUIRE(train->size() == 2);
  CHECK(train->class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(train->category_ids() == std::vector<std::int64_t>{0, 1});
  CHECK(train->image_id(1) == 2);
  CHECK(train->get(0).image == tests::numbered_image(2));
  const std::vector<ObjectBox> clipped = {{4.5, 5, 20, 22, 0}};
  CHECK(*train->get(0).targets.boxes == clipped);
  const auto test = require_boxes(open_dataset(data.options, Split::test), "test");
  REQUIRE(test->size() == 1);
  CHECK(test->annotations(0).empty());
  CHECK(test->describe(0).find("JPEGImages/p3.png") != std::string::npos);
  ListEntry entry;
  test->list_entry(0, entry);
  CHECK(entry.name == "p3");
}

TEST_CASE("difficult objects of VOC are not trained on, but kept for evaluation") {
  const VocFolder data;
  const auto set = require_boxes(open_dataset(data.options, Split::train), "test");
  const std::vector<Annotation> all = set->annotations(1);
  REQUIRE(all.size() == 2);
  CHECK(all[0] == Annotation{2, 1, 1, 2, 10, 7, 70, false});
  CHECK(all[1] == Annotation{3, 0, 0, 0, 31, 21, 651, true});
  CHECK(set->get(1).targets.boxes->size() == 1);
}

TEST_CASE("an object is difficult if the file says 1 or, as Python writes it, True") {
  for (const auto& row : std::vector<std::pair<std::string, bool>>{{"1", true},
                                                                   {"True", true},
                                                                   {"true", true},
                                                                   {"0", false},
                                                                   {"False", false},
                                                                   {"", false}}) {
    CAPTURE(row.first);
    const std::string more = "<difficult>" + row.first + "</difficult>";
    CHECK(parse_voc(annotation(object("dog", "2 3 11 9", more)), "a.xml").objects[0].difficult ==
          row.second);
  }
}

TEST_CASE("boxes of VOC that begin at pixel 0 are counted: they may be counted from 0") {
  const VocFolder data;
  CHECK(open_dataset(data.options, Split::train)->notice().empty());
  data.add("p2", 2, object("cat", "0 6 20 22") + object("cat", "4 6 20 22"));
  CHECK(open_dataset(data.options, Split::train)
            ->notice()
            .find(": 1 of 4 boxes begin at pixel 0, but PASCAL VOC counts from 1") !=
        std::string::npos);
}

TEST_CASE("pictures that both lists of VOC have are told") {
  const VocFolder data;
  data.list("val", "p3\np1\n");
  CHECK(split_overlap_notice(*open_dataset(data.options, Split::test),
                             *open_dataset(data.options, Split::train)) ==
        "1 of 2 test pictures is also a training picture");
}

TEST_CASE("with a test list VOC trains on trainval; other lists are named by flags") {
  VocFolder data;
  data.list("test", "p3\n");
  CHECK(open_dataset(data.options, Split::train)->size() == 2);
  data.list("trainval", "p1\np2\np3\n");
  CHECK(open_dataset(data.options, Split::train)->size() == 3);
  CHECK(open_dataset(data.options, Split::test)->size() == 1);
  data.options.train_split = "val";
  CHECK(open_dataset(data.options, Split::train)->size() == 1);
  data.options.train_split = "none";
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("no such file, expected a list of images"), Error);
}

TEST_CASE("without lists all annotations of VOC are for training") {
  const VocFolder data;
  fs::remove_all(data.folder.path() / "ImageSets");
  CHECK(open_dataset(data.options, Split::train)->size() == 3);
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::test),
                       doctest::Contains("--val-fraction"), Error);
}

TEST_CASE("a class map gives VOC's classes another order, and must have them all") {
  VocFolder data;
  write_file_atomically(data.folder.path() / "map.txt", "dog\ncow\ncat\n");
  data.options.class_map = "map.txt";
  const auto set = require_boxes(open_dataset(data.options, Split::train), "test");
  CHECK(set->class_names() == std::vector<std::string>{"dog", "cow", "cat"});
  CHECK(set->annotations(1)[0].label == 0);
  write_file_atomically(data.folder.path() / "map.txt", "dog\ncats\n");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("the class \"cat\" is not in the class map"), Error);
}

TEST_CASE("missing parts of VOC are named") {
  const VocFolder data;
  data.list("train", "p1\np9\n");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("train.txt, line 2: lists p9, but there is no "
                                         "Annotations/p9.xml"),
                       Error);
  data.list("train", "p1\np1\n");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("line 2: lists p1 twice"), Error);
  data.list("train", "\n");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("lists no images"), Error);
  fs::rename(data.folder.path() / "Annotations", data.folder.path() / "other");
  CHECK_THROWS_WITH_AS((void)open_dataset(data.options, Split::train),
                       doctest::Contains("expected PASCAL VOC's layout"), Error);
}

TEST_CASE("what is wrong with a VOC file is named, with its object") {
  CHECK(voc_error("").find("a.xml: is not valid XML") == 0);
  CHECK(voc_error("<annotation><size>").find("is not valid XML at byte") != std::string::npos);
  CHECK(voc_error("<svg/>") == "a.xml: got <svg>, expected an <annotation> of PASCAL VOC");
  CHECK(voc_error("<annotation/>") == "a.xml: has no <size>");
  CHECK(voc_error(annotation("", 0)) ==
        "a.xml: <size>: <height>: got 0, expected 1 to 1e+06 pixels");
  CHECK(voc_error(annotation("<object/>")) == "a.xml: object 1: has no <name>");
  CHECK(voc_error(annotation("<object><name> </name></object>")).find("expected the name") !=
        std::string::npos);
  CHECK(voc_error(annotation(object("a", "1 1 2 2") + "<object><name>b</name></object>")) ==
        "a.xml: object 2: has no <bndbox>");
  for (const char* bad : {"nan", "inf", "", "x", "1;2"}) {
    const std::string xml = annotation(object("a", std::string("1 1 2 ") + bad + " "));
    CHECK(voc_error(xml).find("object 1: <ymax>: got") != std::string::npos);
  }
}

TEST_CASE("entities that would grow without bound are refused with their document type") {
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"lol\"><!ENTITY c \"&b;&b;&b;&b;&b;\">]>" +
      annotation(object("&c;", "1 1 2 2")).substr(22);
  CHECK(voc_error(bomb) ==
        "a.xml: has a document type (<!DOCTYPE>), expected a plain <annotation>");
  const std::string deep = [] {
    std::string text;
    for (int k = 0; k < 200'000; ++k) text += "<a>";
    return text;
  }();
  CHECK(voc_error(deep).find("is not valid XML") != std::string::npos);
}

TEST_CASE("a VOC file that is cut anywhere is refused") {
  const std::string xml = annotation(object("dog", "2 3 11 9"));
  for (std::size_t length = 0; length + 2 < xml.size(); ++length)
    CHECK_FALSE(voc_error(xml.substr(0, length)).empty());
}

#else

TEST_CASE("without pugixml VOC's files are refused with advice") {
  CHECK(voc_error("<annotation/>").find("install libpugixml-dev") != std::string::npos);
}

#endif

}  // namespace fovea
