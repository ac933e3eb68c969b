// The errors and notices about a detector's data set before the first step.
#include "data/sources/boxes/detection_check.h"

#include <doctest/doctest.h>

#include "data/sources/drawn/scenes.h"
#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// Images of 100 x 200 with given objects.
class Stated : public DetectionSet {
 public:
  Stated(std::vector<std::vector<Annotation>> images, std::vector<std::int64_t> ids)
      : images_(std::move(images)), ids_(std::move(ids)) {
    for (std::int64_t id = 0; id <= ids_.back(); ++id) names_.push_back("c" + std::to_string(id));
  }
  void rename(std::vector<std::string> names) { names_ = std::move(names); }

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override { return ids_; }
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override {
    return images_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override { return index; }
  [[nodiscard]] ImageSize stored_size(std::int64_t /*index*/) const override { return {100, 200}; }

 private:
  std::vector<std::vector<Annotation>> images_;
  std::vector<std::int64_t> ids_;
  std::vector<std::string> names_;
};

Annotation object(std::int64_t label, double x, double y, double width, double height) {
  return {1, label, x, y, width, height, width * height, false};
}

std::string said(const std::vector<std::string>& lines) { return join(lines, " | "); }

/// Boxes all over the image, as corners or with sizes.
Stated scattered(bool corners) {
  std::vector<std::vector<Annotation>> images;
  for (int k = 0; k < 50; ++k) {
    const double x = 3 * k, y = k, width = 20 + k % 7, height = 10 + k % 5;
    images.push_back(
        {corners ? object(0, x, y, x + width, y + height) : object(0, x, y, width, height)});
  }
  return {images, {0}};
}

}  // namespace

TEST_CASE("a sound detection set passes without a word") {
  const Scenes scenes(Split::train, {.train_size = 300});
  const DetectionFindings findings = check_detection_set(scenes, {.classes = 6});
  CHECK(said(findings.errors).empty());
  CHECK(said(findings.notices).empty());
  const DetectionCounts counts = count_objects(scenes);
  CHECK(counts.images == 300);
  CHECK(counts.objects > 900);
  CHECK(counts.by_label.size() == 6);
}

TEST_CASE("boxes given as corners are reported, boxes with sizes are not") {
  CHECK(said(check_detection_set(scattered(false), {.classes = 1}).errors).empty());
  const DetectionFindings findings = check_detection_set(scattered(true), {.classes = 1});
  CHECK(said(findings.errors).find("would fit as corners x0, y0, x1, y1") != std::string::npos);
}

TEST_CASE("boxes that are shares of the image are an error") {
  const Stated set({{object(0, 0.1, 0.2, 0.5, 0.5)}, {object(0, 0, 0, 1, 1)}}, {0});
  CHECK(said(check_detection_set(set, {.classes = 1}).errors).find("shares of the image") !=
        std::string::npos);
}

TEST_CASE("category ids beyond the head are an error that names --num-classes") {
  const Stated set({{object(1, 2, 2, 5, 5), object(5, 2, 2, 5, 5)}}, {1, 3, 5});
  CHECK(said(check_detection_set(set, {.classes = 5}).errors) ==
        "the category ids go up to 5 (c5), but the model has 5 classes, 0 to 4; --num-classes 6 "
        "fits");
  const DetectionFindings fits = check_detection_set(set, {.classes = 6});
  CHECK(fits.errors.empty());
  CHECK(said(fits.notices) ==
        "the category ids 1 to 5 have 2 gaps: these outputs of the model stay unused | no objects "
        "of 1 category: c3");
}

TEST_CASE("empty images, clipped boxes and boxes without area are counted") {
  Annotation crowd = object(0, 0, 0, 50, 50);
  crowd.crowd = true;
  Annotation flat = object(0, 5, 5, 0, 9), outside = object(0, 250, 0, 9, 9);
  flat.id = 12;
  outside.id = 40;
  const Stated set(
      {{object(0, 150, 10, 60, 20), flat}, {}, {crowd}, {outside}, {object(0, 5, 5, 9, 9)}}, {0});
  const DetectionFindings findings = check_detection_set(set, {.classes = 1});
  CHECK(findings.errors.empty());
  CHECK(said(findings.notices) ==
        "2 boxes of 4 reach beyond their image and are clipped | 2 boxes of 4 have no area inside "
        "their image and are left out: annotations 12, 40 | 1 of 5 objects are crowds or difficult "
        "and left out of training | 3 of 5 images have no objects: all of them is background");
  const DetectionCounts counts = count_objects(set);
  CHECK(counts.crowds == 1);
  CHECK(counts.dropped == std::vector<std::int64_t>{12, 40});
}

TEST_CASE("boxes that begin left of the image or above it are counted") {
  const Stated set({{object(0, -3, 5, 9, 9), object(0, 5, -2, 9, 9), object(0, -1, -1, 9, 9)}},
                   {0});
  CHECK(said(check_detection_set(set, {.classes = 1}).notices) ==
        "2 boxes of 3 begin left of their image or above it and are clipped");
}

TEST_CASE("more objects than queries or than detections that count are noted, with how many") {
  const auto images = [](int crowded, int objects) {
    std::vector<std::vector<Annotation>> all(4, {object(0, 5, 5, 9, 9)});
    for (int k = 0; k < crowded; ++k)
      all[static_cast<std::size_t>(k)].resize(static_cast<std::size_t>(objects),
                                              object(0, 5, 5, 9, 9));
    return Stated(all, {0});
  };
  const DetectorNeeds needs{.classes = 1, .queries = 20};
  CHECK(check_detection_set(images(2, 20), needs).notices.empty());
  CHECK(said(check_detection_set(images(1, 30), needs).notices) ==
        "1 image has over 20 objects; --num-queries 30 finds them");
  CHECK(said(check_detection_set(images(2, 130), {.classes = 1, .queries = 140}).notices) ==
        "2 images have over 100 objects; 100 detections count");
  CHECK(said(evaluation_notices(images(2, 30), 20)) ==
        "2 images have over 20 objects; --num-queries 30 finds them");
}

TEST_CASE("areas that no object in its box can have are noted") {
  const auto with_area = [](double area) {
    Annotation one = object(0, 5, 5, 20, 10);
    one.area = area;
    return Stated({{one, object(0, 5, 5, 9, 9)}}, {0});
  };
  for (const double sound : {200.0, 150.0, 12.0, 220.0})  // of a line; of a box that was rounded
    CHECK(check_detection_set(with_area(sound), {.classes = 1}).notices.empty());
  for (const double odd : {0.0, 1.0, 20'000.0}) {
    CAPTURE(odd);
    CHECK(said(check_detection_set(with_area(odd), {.classes = 1}).notices)
              .find("1 object has an area that cannot be right") == 0);
  }
}

TEST_CASE("ids that leave most outputs unused name --compact-ids, and id 0 is no gap") {
  const auto notices = [](const std::vector<std::int64_t>& ids) {
    std::vector<Annotation> one_each;
    for (const std::int64_t id : ids) one_each.push_back(object(id, 5, 5, 9, 9));
    return said(check_detection_set(Stated({one_each}, ids), {.classes = 99}).notices);
  };
  CHECK(notices({0, 1, 2}).empty());
  CHECK(notices({1, 2, 3}).empty());
  CHECK(notices({51, 52}) ==
        "the category ids 51 to 52 make 53 outputs for 2 categories; --compact-ids numbers them 1 "
        "to 2");
  CHECK(notices({2, 3, 4}) ==
        "the category ids begin at 2: outputs 0 to 1 of the model stay unused; ids from 1 in the "
        "annotation files make it smaller");
}

TEST_CASE("categories whose names differ in case or blanks only are noted with their ids") {
  Stated set({{object(0, 5, 5, 9, 9), object(1, 5, 5, 9, 9), object(2, 5, 5, 9, 9)}}, {0, 1, 2});
  set.rename({"Red cell", "red_cell", "platelet"});
  CHECK(said(check_detection_set(set, {.classes = 3}).notices) ==
        "categories with the same name but for case and blanks count as different: \"Red cell\" "
        "(0) and \"red_cell\" (1)");
  set.rename({"cat", "dog", "cat"});
  CHECK(
      said(check_detection_set(set, {.classes = 3}).notices).find("\"cat\" (0) and \"cat\" (2)") !=
      std::string::npos);
}

TEST_CASE("an evaluation names what does not count in it") {
  Annotation crowd = object(0, 0, 0, 50, 50);
  crowd.crowd = true;
  const Stated some({{crowd, object(0, 5, 5, 9, 9)}}, {0}), none({{crowd}, {}}, {0});
  CHECK(said(evaluation_notices(some, 0)) ==
        "1 of 2 objects are crowds or difficult: they do not count");
  CHECK(said(evaluation_notices(none, 0)) ==
        "no object besides crowds in 2 images: no AP, no best epoch");
}

TEST_CASE("a set without objects is an error") {
  CHECK(said(check_detection_set(Stated({{}, {}}, {0}), {.classes = 1}).errors) ==
        "none of the 2 images has an object");
}

TEST_CASE("few images are noted if training starts from nothing") {
  const Stated set({{object(0, 5, 5, 9, 9)}}, {0});
  CHECK(check_detection_set(set, {.classes = 1}).notices.empty());
  const auto notices = check_detection_set(set, {.classes = 1, .from_nothing = true}).notices;
  CHECK(said(notices).find("1 images are few") == 0);
  CHECK(said(notices).find("--backbone-checkpoint") != std::string::npos);
}

TEST_CASE("the categories of test images must be among those of the training images") {
  const Stated train({{}}, {0, 2}), other({{}}, {0, 1, 2}), fewer({{}}, {2});
  check_same_categories(train, train);
  CHECK_THROWS_AS(check_same_categories(train, Stated({{}}, {0, 7})), Error);
  CHECK_THROWS_AS(check_same_categories(train, other), Error);
  check_same_categories(train, fewer);
  check_same_categories(other, train);
}

}  // namespace fovea
