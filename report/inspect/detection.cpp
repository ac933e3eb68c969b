// detection: attention maps of a detector, and the boxes predicted by each query (Carion et al.
// 2020, figures 3, 6 and 7).
#include <algorithm>
#include <cmath>

#include "data/classes/class_match.h"
#include "data/figures/boxes.h"
#include "data/figures/svg.h"
#include "engine/base/csv.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/model_as.h"
#include "report/inspect/command.h"
#include "report/inspect/detector_maps.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea::inspect {
namespace {

constexpr std::int64_t kImagesShown = 4;  // drawn one by one; the boxes by query come from all
constexpr std::size_t kObjectsShown = 6, kQueriesShown = 20;
constexpr double kScore = 0.5;

/// The objects found in an image, best first, at most one per query: those with a score of at
/// least kScore, or else the best one.
std::vector<FoundObject> shown_objects(const DetectorMaps& maps, ClassLoss loss, ImageSize size) {
  const Tensor index = full({1}, 0, {DType::i64, {}});
  const auto all = detections_of(maps.output(), loss, index, [&](std::int64_t) { return size; });
  std::vector<FoundObject> shown;
  for (const FoundObject& object : all.front()) {
    const bool again = std::any_of(shown.begin(), shown.end(), [&](const FoundObject& other) {
      return other.query == object.query;
    });
    const bool counts = object.where.score >= kScore || shown.empty();
    if (counts && !again && shown.size() < kObjectsShown) shown.push_back(object);
  }
  return shown;
}

/// The cell of the map that contains a point of the image in pixels.
std::int64_t cell_at(double x, double y, const DetectorMaps& maps, ImageSize size) {
  const auto place = [](double at, std::int64_t side, std::int64_t cells) {
    const double share = at / static_cast<double>(side) * static_cast<double>(cells);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(share)), 0, cells - 1);
  };
  return place(y, size.height, maps.height()) * maps.width() + place(x, size.width, maps.width());
}

PictureTile map_tile(const std::vector<double>& map, std::int64_t width, const Image& background) {
  PictureTile tile;
  tile.map = paint({map, width, range_of(map)});
  tile.background = background;
  return tile;
}

std::string name_of_class(const Inspection& what, std::int64_t label) {
  return label < std::ssize(what.classes) ? what.classes[static_cast<std::size_t>(label)]
                                          : numbered_class(label);
}

TileArea area_of(const ScoredBox& box, ImageSize size) {
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  return {box.y / height, box.x / width, box.height / height, box.width / width};
}

/// Draws one image, a column per object: its box, the encoder's attention at its centre, and the
/// attention of its query.
void draw_image(const Inspection& what, const InspectImages& images, std::int64_t index,
                OutputFolder& output) {
  auto& model = model_as<Detector>(*what.model);
  const Image picture = images.picture(index), background = pale(picture);
  const DetectorMaps maps(model, images.batch(index, 1));
  TileGrid grid;
  grid.title = "Attention of a detector on " + images.name(index);
  grid.notes = {model_note(what)};
  grid.bar = relative_color_bar("attention weight, each map in its own range");
  grid.aspect = static_cast<double>(picture.height) / static_cast<double>(picture.width);
  grid.row_labels = {"object"};
  if (maps.has_encoder()) grid.row_labels.emplace_back("encoder at its centre");
  grid.row_labels.emplace_back("decoder, its query");
  grid.rows.resize(grid.row_labels.size());
  for (const FoundObject& object :
       shown_objects(maps, model.loss_options().class_loss, picture.size())) {
    const ScoredBox& box = object.where;
    const std::string name = name_of_class(what, box.category);
    grid.column_labels.push_back("query " + std::to_string(object.query));
    PictureTile whole;
    whole.background = picture;
    whole.mark = area_of(box, picture.size());
    whole.caption = name + " " + fixed_text(box.score, 2);
    grid.rows.front().push_back(whole);
    if (maps.has_encoder()) {
      const std::int64_t cell =
          cell_at(box.x + box.width / 2, box.y + box.height / 2, maps, picture.size());
      PictureTile encoder = map_tile(maps.of_cell(cell), maps.width(), background);
      const double rows = 1 / static_cast<double>(maps.height()),
                   columns = 1 / static_cast<double>(maps.width());
      encoder.mark = TileArea{static_cast<double>(cell / maps.width()) * rows,
                              static_cast<double>(cell % maps.width()) * columns, rows, columns};
      grid.rows[1].push_back(encoder);
    }
    PictureTile query = map_tile(maps.of_query(object.query), maps.width(), background);
    query.mark = whole.mark;
    grid.rows.back().push_back(query);
  }
  output.write("detection-" + three_digits(index) + ".svg", svg_of_tiles(grid));
}

/// A box that a query predicted, relative to its image.
struct QueryBox {
  double x, y, width, height;
};

/// DETR's colours: small boxes, large and wide ones, large and tall ones.
std::string_view color_of(const QueryBox& box) {
  constexpr double kSmall = 0.25;  // of a side
  if (std::max(box.width, box.height) < kSmall) return "#009e73";
  return box.width > box.height ? "#d55e00" : "#0072b2";
}

/// One square per query with the centres of its boxes in all images.
std::string draw_queries(const Inspection& what, const std::vector<std::vector<QueryBox>>& boxes,
                         std::int64_t images) {
  constexpr double kSide = 120, kGap = 14, kTop = 66;
  constexpr std::size_t kColumns = 5;
  const std::size_t shown = std::min(boxes.size(), kQueriesShown);
  const auto rows = static_cast<double>((shown + kColumns - 1) / kColumns);
  Svg svg(20 + kColumns * (kSide + kGap) + 6, kTop + rows * (kSide + kGap + 16) + 6);
  svg.text(20, 24, concat("Boxes of each query on ", images, " images"),
           {.anchor = "start", .size = 15, .bold = true});
  svg.text(20, 44, model_note(what), {.anchor = "start"});
  svg.text(20, 60, "Centres; green: small boxes, orange: wide, blue: tall", {.anchor = "start"});
  for (std::size_t q = 0; q < shown; ++q) {
    const double left = 20 + static_cast<double>(q % kColumns) * (kSide + kGap);
    const double top = kTop + 16 + static_cast<double>(q / kColumns) * (kSide + kGap + 16);
    svg.text(left + kSide / 2, top - 4, "query " + std::to_string(q), {.size = 11});
    svg.frame({left, top, kSide, kSide}, "#999999");
    for (const QueryBox& box : boxes[q])
      svg.circle(left + box.x * kSide, top + box.y * kSide, color_of(box));
  }
  return std::move(svg).finish();
}

/// Boxes of all queries on all images; also as rows of a table.
std::vector<std::vector<QueryBox>> boxes_by_query(const Inspection& what,
                                                  const InspectImages& images, Csv& csv) {
  auto& model = model_as<Detector>(*what.model);
  std::vector<std::vector<QueryBox>> all(static_cast<std::size_t>(model.num_queries()));
  for (std::int64_t i = 0; i < images.size(); ++i) {
    const DetectorMaps maps(model, images.batch(i, 1));
    const Tensor& boxes = maps.output().boxes;  // [L, 1, Q, 4]
    const Tensor host = boxes.detach().to(Device{}).to(DType::f32).contiguous();
    const float* row = host.data<float>() + (host.size(0) - 1) * host.size(2) * 4;  // last layer
    for (std::size_t q = 0; q < all.size(); ++q, row += 4) {
      all[q].push_back({row[0], row[1], row[2], row[3]});
      csv.row(images.name(i), q, row[0], row[1], row[2], row[3]);
    }
    if (what.progress) what.progress(i + 1, images.size());
  }
  return all;
}

}  // namespace

void detection(const Inspection& what, OutputFolder& output) {
  check(what.model->info().task == TaskKind::detection,
        "inspect detection: ", what.model->info().name, " is not a detector; ",
        program_call("train_detection"), " trains one");
  const InspectImages images = open_images(what, 100);
  for (std::int64_t i = 0; i < std::min(images.size(), kImagesShown); ++i)
    draw_image(what, images, i, output);
  Csv csv("image,query,cx,cy,width,height");
  const auto boxes = boxes_by_query(what, images, csv);
  output.write("queries.svg", draw_queries(what, boxes, images.size()));
  output.write("queries.csv", csv.text());
}

}  // namespace fovea::inspect
