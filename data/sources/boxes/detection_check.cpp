// Counts objects, and judges the counts.
#include "data/sources/boxes/detection_check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

// Below this a DETR that starts from random weights hardly learns: its authors trained on 118,000
// images, and reports of sets under 10,000 agree.
constexpr std::int64_t kFewImages = 10'000;

// COCO's evaluation counts so many detections of an image.
constexpr std::int64_t kMostDetections = 100;

bool reaches_beyond(const Annotation& o, ImageSize size) {
  return o.x + o.width > static_cast<double>(size.width) + 1 ||
         o.y + o.height > static_cast<double>(size.height) + 1;
}

/// Whether (x, y, width, height) are the corners of a box inside the image.
bool are_corners(const Annotation& o, ImageSize size) {
  return o.width > o.x && o.height > o.y && o.width <= static_cast<double>(size.width) + 1 &&
         o.height <= static_cast<double>(size.height) + 1;
}

/// Whether the area is above that of the box and a pixel around it, or a placeholder of 0 or 1.
bool has_odd_area(const Annotation& o) {
  constexpr double kSmallBox = 16;  // pixels; an object of one pixel has a smaller box
  const double box = o.width * o.height;
  return o.area > (o.width + 2) * (o.height + 2) || (o.area <= 1 && box >= kSmallBox);
}

void count_object(const Annotation& object, ImageSize size, DetectionCounts& counts) {
  ++counts.objects;
  ++counts.by_label.at(static_cast<std::size_t>(object.label));
  if (reaches_beyond(object, size)) ++counts.beyond;
  if (object.x < -1 || object.y < -1) ++counts.before;
  if (are_corners(object, size)) ++counts.corner_like;
  if (std::max({object.x, object.y, object.width, object.height}) <= 1) ++counts.relative;
  if (training_boxes({object}, size).empty()) {
    counts.dropped.push_back(object.id);
  } else if (has_odd_area(object)) {
    ++counts.odd_areas;
  }
}

void count_image(const DetectionSet& set, std::int64_t index, DetectionCounts& counts) {
  const ImageSize size = set.stored_size(index);
  const std::int64_t before = counts.objects, dropped = std::ssize(counts.dropped);
  for (const Annotation& object : set.annotations(index)) {
    if (object.crowd) {
      ++counts.crowds;
    } else {
      count_object(object, size, counts);
    }
  }
  ++counts.images;
  const auto kept =
      static_cast<std::size_t>(counts.objects - before - (std::ssize(counts.dropped) - dropped));
  if (kept == 0) ++counts.empty_images;
  if (kept >= counts.by_count.size()) counts.by_count.resize(kept + 1);
  ++counts.by_count[kept];
}

DetectionCounts no_objects(const DetectionSet& set) {
  DetectionCounts counts;
  counts.by_label.resize(static_cast<std::size_t>(set.classes()));
  return counts;
}

void add(DetectionCounts& sum, const DetectionCounts& part) {
  for (const auto count :
       {&DetectionCounts::images, &DetectionCounts::empty_images, &DetectionCounts::objects,
        &DetectionCounts::crowds, &DetectionCounts::beyond, &DetectionCounts::before,
        &DetectionCounts::corner_like, &DetectionCounts::relative, &DetectionCounts::odd_areas})
    sum.*count += part.*count;
  sum.dropped.insert(sum.dropped.end(), part.dropped.begin(), part.dropped.end());
  for (const auto list : {&DetectionCounts::by_label, &DetectionCounts::by_count}) {
    if ((sum.*list).size() < (part.*list).size()) (sum.*list).resize((part.*list).size());
    for (std::size_t k = 0; k < (part.*list).size(); ++k) (sum.*list)[k] += (part.*list)[k];
  }
}

/// "1 box", "3 boxes".
std::string counted(std::int64_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}
std::string boxes(std::int64_t count) { return counted(count, "box", "boxes"); }

/// The ids, of many only the first.
std::string annotations(const std::vector<std::int64_t>& ids) {
  std::vector<std::string> texts;
  for (const std::int64_t id : ids) texts.push_back(std::to_string(id));
  return (ids.size() == 1 ? "annotation " : "annotations ") + first_few(texts);
}

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
  if (counts.before > 0) {
    findings.notices.push_back(concat(boxes(counts.before), " of ", counts.objects,
                                      " begin left of their image or above it and are clipped"));
  }
  if (!counts.dropped.empty()) {
    findings.notices.push_back(
        concat(boxes(std::ssize(counts.dropped)), " of ", counts.objects,
               " have no area inside their image and are left out: ", annotations(counts.dropped)));
  }
}

/// Images with more than so many objects.
std::int64_t images_above(const DetectionCounts& counts, std::int64_t limit) {
  std::int64_t images = 0;
  for (std::int64_t k = limit + 1; k < std::ssize(counts.by_count); ++k)
    images += counts.by_count[static_cast<std::size_t>(k)];
  return images;
}

/// More objects in an image than a detector can find, or than the evaluation counts. Short, as they
/// stand on the first screen.
void note_crowded_images(const DetectionCounts& counts, std::int64_t queries,
                         std::vector<std::string>& notices) {
  const std::int64_t most = std::ssize(counts.by_count) - 1;
  const auto images_over = [&](std::int64_t limit) {
    return concat(counted(images_above(counts, limit), "image has", "images have"), " over ", limit,
                  " objects; ");
  };
  if (queries > 0 && most > queries) {
    notices.push_back(concat(images_over(queries), "--num-queries ", most, " finds them"));
  }
  if (most > kMostDetections) {
    notices.push_back(concat(images_over(kMostDetections), kMostDetections, " detections count"));
  }
}

void note_odd_areas(const DetectionCounts& counts, std::vector<std::string>& notices) {
  if (counts.odd_areas == 0) return;
  notices.push_back(concat(
      counted(counts.odd_areas, "object has an area", "objects have areas"),
      " that cannot be right (0, 1 or more than the box): the numbers of small, medium and large ",
      "objects sort by it"));
}

/// The name as people read it: without case and blanks.
std::string plain_name(const std::string& name) {
  std::string plain = lower_case(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '\t' || c == '_'; });
  return plain;
}

/// Categories that a person takes for one.
void note_like_names(const DetectionSet& set, std::vector<std::string>& notices) {
  std::map<std::string, std::int64_t> seen;
  std::vector<std::string> alike;
  for (const std::int64_t id : set.category_ids()) {
    const std::string& name = set.class_names().at(static_cast<std::size_t>(id));
    const auto [first, is_new] = seen.emplace(plain_name(name), id);
    if (is_new) continue;
    alike.push_back(concat(in_quotes(set.class_names().at(static_cast<std::size_t>(first->second))),
                           " (", first->second, ") and ", in_quotes(name), " (", id, ")"));
  }
  if (alike.empty()) return;
  notices.push_back("categories with the same name but for case and blanks count as different: " +
                    first_few(alike));
}

/// Outputs of the model that no category uses. Ids usually start at 1, so output 0 is not a gap.
void note_gaps(const std::vector<std::int64_t>& ids, std::vector<std::string>& notices) {
  const std::int64_t least = ids.front(), greatest = ids.back(), outputs = greatest + 1;
  if (outputs > 2 * std::ssize(ids)) {
    notices.push_back(concat("the category ids ", least, " to ", greatest, " make ", outputs,
                             " outputs for ", counted(std::ssize(ids), "category", "categories"),
                             "; --compact-ids numbers them 1 to ", ids.size()));
    return;
  }
  const std::int64_t unused = greatest - least + 1 - std::ssize(ids);
  if (least > 1) {
    notices.push_back(concat("the category ids begin at ", least, ": outputs 0 to ", least - 1,
                             " of the model stay unused; ids from 1 in the annotation files make ",
                             "it smaller"));
  }
  if (unused > 0) {
    notices.push_back(concat("the category ids ", least, " to ", greatest, " have ",
                             counted(unused, "gap", "gaps"),
                             ": these outputs of the model stay unused"));
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
  note_gaps(ids, findings.notices);
  note_like_names(set, findings.notices);
  std::vector<std::string> missing;
  for (const std::int64_t id : ids)
    if (counts.by_label.at(id) == 0) missing.push_back(set.class_names().at(id));
  if (!missing.empty() && counts.objects > 0) {
    findings.notices.push_back(concat("no objects of ",
                                      counted(std::ssize(missing), "category", "categories"), ": ",
                                      first_few(missing)));
  }
}

std::string crowds_of(const DetectionCounts& counts) {
  return concat(counts.crowds, " of ", counts.objects + counts.crowds,
                " objects are crowds or difficult");
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
  if (counts.crowds > 0) {
    findings.notices.push_back(crowds_of(counts) + " and left out of training");
  }
  note_crowded_images(counts, needs.queries, findings.notices);
  note_odd_areas(counts, findings.notices);
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

std::vector<std::string> evaluation_notices(const DetectionSet& set, std::int64_t queries) {
  const DetectionCounts counts = count_objects(set);
  std::vector<std::string> notices;
  if (counts.objects == 0) {
    notices.push_back(concat("no object", counts.crowds > 0 ? " besides crowds" : "", " in ",
                             counts.images, " images: no AP, no best epoch"));
    return notices;
  }
  if (counts.crowds > 0) {
    notices.push_back(crowds_of(counts) + ": they do not count");
  }
  note_crowded_images(counts, queries, notices);
  note_odd_areas(counts, notices);
  return notices;
}

void check_same_categories(const DetectionSet& train, const DetectionSet& test) {
  const std::vector<std::int64_t>& known = train.category_ids();
  for (const std::int64_t id : test.category_ids()) {
    const bool is_known = std::binary_search(known.begin(), known.end(), id);
    check(is_known && train.class_names()[id] == test.class_names()[id],
          "the test images have the category ", id, " (", test.class_names()[id],
          "), which in the training images is ",
          is_known ? train.class_names()[id] : std::string("missing"));
  }
}

}  // namespace fovea
