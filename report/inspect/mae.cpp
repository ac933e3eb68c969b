// mae: original images, the encoder's view, reconstructions and inpainting from visible neighbours,
// side by side (MAE fig. 2).
#include "data/figures/contact_sheet.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/model_as.h"
#include "report/inspect/command.h"
#include "train/tasks/masked_autoencoding.h"

namespace fovea::inspect {
namespace {

PictureTile tile_of(const Tensor& image, const Normalization& normalization,
                    std::string caption = "") {
  PictureTile tile;
  tile.map = contact_sheet(image, normalization);
  tile.caption = std::move(caption);
  return tile;
}

TileGrid start_picture(const Inspection& what, const Mae& mae) {
  const MaeConfig& c = mae.config();
  TileGrid grid;
  grid.title = "Reconstruction of masked patches";
  grid.notes = {model_note(what), "The encoder sees " + std::to_string(c.kept()) + " of " +
                                      std::to_string(c.image.patches()) + " patches of " +
                                      std::to_string(c.image.patch_size) + " x " +
                                      std::to_string(c.image.patch_size) +
                                      " pixels. Below: mean error on the masked patches."};
  if (c.norm_pix_loss) {
    grid.notes.emplace_back(
        "Predictions are normalised per patch; shown with the image's own mean and std.");
  }
  grid.column_labels = {"image", "visible patches", "reconstruction", "inpainting baseline"};
  const auto [height, width] = c.image.img_size;
  grid.aspect = static_cast<double>(height) / static_cast<double>(width);
  return grid;
}

}  // namespace

void mae(const Inspection& what, OutputFolder& output) {
  check(what.model->info().task == TaskKind::masked_autoencoding,
        "inspect mae: ", what.model->info().name, " is not a masked autoencoder; ",
        program_call("train_mae"), " trains one");
  Mae& model = model_as<Mae>(*what.model);
  const InspectImages images = open_images(what, 8);
  TileGrid grid = start_picture(what, model);
  Csv csv("image,loss,fill_loss");
  for (std::int64_t i = 0; i < images.size(); ++i) {
    const Tensor image = images.batch(i, 1);
    const Tensor index = full({1}, static_cast<double>(i), {DType::i64, {}});
    Context ctx;
    const MaeViews views =
        show_errors(model, image, held_out_noise(index, model.config().image.patches()), ctx);
    const MaeErrors& errors = views.errors;
    grid.row_labels.push_back(images.name(i));
    grid.rows.push_back(
        {tile_of(image, what.normalization), tile_of(views.seen, what.normalization),
         tile_of(views.reconstructed, what.normalization, short_number(errors.loss)),
         tile_of(errors.filled, what.normalization, short_number(errors.fill_loss))});
    csv.row(images.name(i), errors.loss, errors.fill_loss);
    if (what.progress) what.progress(i + 1, images.size());
  }
  output.write("mae.svg", svg_of_tiles(grid));
  output.write("mae.csv", csv.text());
}

}  // namespace fovea::inspect
