// A model by name takes some steps on built-in pictures, in a project with headers of the same
// names as fovea's.
#include <fovea/fovea.h>
#include <fovea/report/inspect/measures.h>
#include <cstdio>

#include "data/dataset.h"
#include "engine/base/text.h"

/// True if training lowers the loss.
bool trains() {
  const consumer::Dataset own;
  const auto model = fovea::make_model("linear", {}, /*seed=*/1);
  auto& classifier = fovea::model_as<fovea::Classifier>(*model);
  fovea::Optimizer optimizer(model->store(), {});
  fovea::Loader loader(fovea::open_dataset({}, fovea::Split::train), fovea::training_pipeline({}),
                       {.batch_size = own.images});
  const fovea::Batch batch = loader.next();
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    fovea::Context ctx;
    ctx.training = true;
    const fovea::Tensor loss =
        fovea::ops::cross_entropy(classifier.forward(batch.images, ctx).logits, batch.labels);
    model->store().zero_grad();
    fovea::backward(loss);
    optimizer.step(/*lr=*/1e-2);
    last = loss.item();
    if (step == 0) first = last;
  }
  std::printf("%s: loss %.3f, then %.3f\n", consumer::kGreeting, first, last);
  return last < first;
}
