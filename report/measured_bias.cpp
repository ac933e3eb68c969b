// Measuring the shape bias of models, with tables and files of the results.
#include "report/measured_bias.h"

#include "engine/base/csv.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/output_folder.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"

namespace fovea {
namespace {

/// One category per class of the model, with the name of its folder of pictures.
std::vector<Category> categories_by_name(const std::string& images, const ModelClasses& model) {
  std::vector<std::string> names = model.names;
  for (std::int64_t k = std::ssize(names); k < model.count; ++k) names.push_back(numbered_class(k));
  std::error_code ignored;  // "builtin" has no folder; open_cue_conflict() reports a missing one
  for (const auto& entry : std::filesystem::directory_iterator(images, ignored)) {
    const std::string folder = visible_text(entry.path().filename().string());
    if (const auto label = find_class(model, folder))
      names[static_cast<std::size_t>(*label)] = folder;
  }
  return categories_of(names);
}

}  // namespace

ShownCues open_cues(const CueRequest& request, const ModelClasses& model) {
  ShownCues shown;
  shown.categories =
      request.class_map.empty()
          ? categories_by_name(request.images, model)
          : parse_category_map(read_file(request.class_map), request.class_map.string(), model);
  const std::vector<std::string> names = category_names(shown.categories);
  shown.cues = request.images == "builtin" ? draw_cue_conflict(names)
                                           : open_cue_conflict(request.images, names);
  return shown;
}

std::string categories_notice(const CueRequest& request, const ModelClasses& model,
                              const std::vector<Category>& categories) {
  if (request.class_map.empty() || model.names.empty()) return "";
  std::vector<std::string> texts;
  for (const Category& category : categories) {
    std::vector<std::string> classes;
    for (const std::int64_t k : category.classes)
      classes.push_back(model.names.at(static_cast<std::size_t>(k)));
    texts.push_back(category.name + " is " + first_few(classes));
  }
  return request.class_map.string() + ": " + join(texts, "; ");
}

std::string bias_table(std::span<const MeasuredBias> models) {
  std::vector<std::vector<std::string>> rows{
      {"checkpoint", "size", "images", "shape", "texture", "either %", "shape bias %"}};
  for (const MeasuredBias& m : models) {
    const ShapeBias::CategoryRow all = m.bias().all();
    rows.push_back({m.checkpoint, to_string(m.size), std::to_string(all.images),
                    std::to_string(all.shape), std::to_string(all.texture),
                    shown_percent(all.either()), shown_percent(all.bias())});
  }
  return text_table(rows);
}

std::string bias_csv(std::span<const MeasuredBias> models) {
  Csv csv(
      "checkpoint,model,pictures,height,width,crop_pct,images,bad_images,shape,texture,either,"
      "shape_bias,mean_of_categories,seconds,categories_by");
  for (const MeasuredBias& m : models) {
    const ShapeBias bias = m.bias();
    const ShapeBias::CategoryRow all = bias.all();
    csv.row(m.checkpoint, m.model, m.images, m.size.height, m.size.width, m.crop_pct, all.images,
            m.responses.pass.bad_images.size(), all.shape, all.texture, percent_cell(all.either()),
            percent_cell(all.bias()), percent_cell(bias.mean_bias()), m.responses.pass.seconds,
            m.categories_by);
  }
  return csv.text();
}

std::vector<std::filesystem::path> write_bias(const std::filesystem::path& folder,
                                              const MeasuredBias& model) {
  OutputFolder files(folder);
  const ShapeBias bias = model.bias();
  files.write("shape_bias.csv", bias.csv());
  files.write("shape_bias.svg", bias.svg());
  files.write("shape_bias_images.csv", csv_of_decisions(model.cues, model.responses.decisions));
  return files.files();
}

}  // namespace fovea
