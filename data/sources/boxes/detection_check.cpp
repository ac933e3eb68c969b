// Counts objects, and judges the counts.
#include "data/sources/boxes/detection_check.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

// Below this a DETR that starts from random weights hardly learns: its authors trained on 118,000
// images, and reports of sets under 10,000 agree.
constexpr std::int64_t kFewImages = 10'000;

bool reaches_beyond(const Annotation& o, ImageSize size) {
  return o.x + o.width > static_cast<double>(size.width) + 1 ||
         o.y + o.height > static_cast<double>(size.height) + 1;
}

/// Whether (x, y, width, height) are the corners of a box inside the image.
bool are_corners(const Annotation& o, ImageSize size) {
  return o.width > o.x && o.height > o.y && o.width <= static_cast<double>(size.width) + 1 &&
         o.height <= static_cast<double>(size.height) + 1;
}

void count_image(const DetectionSet& set, std::int64_t index, DetectionCounts& counts) {
  const std::vector<Annotation> all = set.annotations(index);
  const ImageSize size = set.stored_size(index);
  const std::int64_t kept = std::ssize(training_boxes(all, size));
  std::int64_t objects = 0;
  for (const Annotation& object : all) {
    if (object.crowd) {
      ++counts.crowds;
      continue;
    }
    ++objects;
    ++counts.by_label.at(static_cast<std::size_t>(object.label));
    if (reaches_beyond(object, size)) ++counts.beyond;
    if (are_corners(object, size)) ++counts.corner_like;
    if (std::max({object.x, object.y, object.width, object.height}) <= 1) ++counts.relative;
  }
  ++counts.images;
  counts.objects += objects;
  counts.dropped += objects - kept;
  if (kept == 0) ++counts.empty_images;
}

DetectionCounts no_objects(const DetectionSet& set) {
  DetectionCounts counts;
  counts.by_label.resize(static_cast<std::size_t>(set.classes()));
  return counts;
}

void add(DetectionCounts& sum, const DetectionCounts& part) {
  for (const auto count :
       {&DetectionCounts::images, &DetectionCounts::empty_images, &DetectionCounts::objects,
        &DetectionCounts::crowds, &DetectionCounts::dropped, &DetectionCounts::beyond,
        &DetectionCounts::corner_like, &DetectionCounts::relative})
    sum.*count += part.*count;
  for (std::size_t k = 0; k < sum.by_label.size(); ++k) sum.by_label[k] += part.by_label[k];
}

/// "1 box", "3 boxes".
std::string counted(std::int64_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}
std::string boxes(std::int64_t count) { return counted(count, "box", "boxes"); }

/// Errors in what the numbers of boxes mean. Of a sound set hardly a box reaches beyond its image.
void judge_boxes(const DetectionCounts& counts, DetectionFindings& findings) {
  const auto objects = static_cast<double>(counts.objects);
  const auto beyond = static_cast<double>(counts.beyond);
  if (counts.relative == counts.objects) {
    findings.errors.push_back(
        concat("no number of a box is above 1, so they look like shares of the image; expected ",
               "x, y, width, height in pixels"));
  } else if (beyond > 0.1 * objects && static_cast<double>(counts.corner_like) > 0.99 * objects) {
    findings.errors.push_back(
        concat(boxes(counts.beyond), " of ", counts.objects, " reach beyond their image, and all ",
               "would fit as corners x0, y0, x1, y1; expected x, y, width, height"));
  } else if (counts.beyond > 0) {
    findings.notices.push_back(concat(boxes(counts.beyond), " of ", counts.objects,
                                      " reach beyond their image and are clipped"));
  }
  if (counts.dropped > 0) {
    findings.notices.push_back(concat(boxes(counts.dropped), " of ", counts.objects,
                                      " have no area inside their image and are left out"));
  }
}

void judge_categories(const DetectionSet& set, const DetectionCounts& counts,
                      const DetectorNeeds& needs, DetectionFindings& findings) {
  const std::vector<std::int64_t>& ids = set.category_ids();
  const std::int64_t greatest = ids.back();
  if (greatest >= needs.classes) {
    findings.errors.push_back(concat("the category ids go up to ", greatest, " (",
                                     set.class_names().at(greatest), "), but the model has ",
                                     needs.classes, " classes, 0 to ", needs.classes - 1,
                                     "; --num-classes ", greatest + 1, " fits"));
  }
  const std::int64_t unused = greatest + 1 - std::ssize(ids);
  if (unused > 0) {
    findings.notices.push_back(concat("the category ids 0 to ", greatest, " have ",
                                      counted(unused, "gap", "gaps"),
                                      ": these outputs of the model stay unused"));
  }
  std::vector<std::string> missing;
  for (const std::int64_t id : ids)
    if (counts.by_label.at(id) == 0) missing.push_back(set.class_names().at(id));
  if (!missing.empty() && counts.objects > 0) {
    findings.notices.push_back(concat("no objects of ",
                                      counted(std::ssize(missing), "category", "categories"), ": ",
                                      first_few(missing)));
  }
}

}  // namespace

DetectionCounts count_objects(const DetectionSet& set) {
  constexpr std::int64_t piece = 512;
  const std::int64_t pieces = (set.size() + piece - 1) / piece;
  std::vector<DetectionCounts> parts(static_cast<std::size_t>(pieces), no_objects(set));
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      for (std::int64_t i = p * piece; i < std::min((p + 1) * piece, set.size()); ++i)
        count_image(set, i, parts[p]);
  });
  DetectionCounts sum = no_objects(set);
  for (const DetectionCounts& part : parts) add(sum, part);
  return sum;
}

DetectionFindings check_detection_set(const DetectionSet& set, const DetectorNeeds& needs) {
  const DetectionCounts counts = count_objects(set);
  DetectionFindings findings;
  judge_categories(set, counts, needs, findings);
  if (counts.objects == 0) {
    findings.errors.push_back(concat("none of the ", counts.images, " images has an object",
                                     counts.crowds > 0 ? " besides crowds" : ""));
    return findings;
  }
  judge_boxes(counts, findings);
  if (counts.empty_images > 0) {
    findings.notices.push_back(concat(counts.empty_images, " of ", counts.images,
                                      " images have no objects: all of them is background"));
  }
  if (needs.from_nothing && counts.images < kFewImages) {
    findings.notices.push_back(
        concat(counts.images, " images are few for a detector that starts from nothing, which ",
               "takes 10,000 or more; --finetune starts from a detector trained on COCO, ",
               "--backbone-checkpoint from a trained backbone"));
  }
  return findings;
}

void check_same_categories(const DetectionSet& train, const DetectionSet& test) {
  if (train.category_ids() == test.category_ids() && train.class_names() == test.class_names())
    return;
  for (const std::int64_t id : test.category_ids()) {
    const bool known = id < train.classes();
    check(known && train.class_names()[id] == test.class_names()[id],
          "the test images have the category ", id, " (", test.class_names()[id],
          "), which in the training images is ",
          known ? train.class_names()[id] : std::string("missing"));
  }
  fail("the test images have ", test.category_ids().size(), " categories, expected the ",
       train.category_ids().size(), " of the training images");
}

}  // namespace fovea
