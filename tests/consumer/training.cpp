// A model by name takes some steps on built-in pictures, and one of the project's own on tensors,
// in a project with headers of the same names as fovea's.
#include <fovea/fovea.h>
#include <fovea/report/inspect/measures.h>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "data/dataset.h"
#include "engine/base/text.h"

namespace {

/// A convolution, a norm, dropout and a linear layer, all of fovea.h.
struct OwnNet {
  fovea::ParameterStore store{/*seed=*/1, {}};
  fovea::SameConv conv{fovea::Scope(store) / "conv", 1, 4};
  fovea::GroupNorm norm{fovea::Scope(store) / "norm", 4, 2};
  fovea::Dropout dropout{0.1};
  fovea::Linear head{fovea::Scope(store) / "head", 4 * 4 * 4, 2};

  fovea::Tensor operator()(const fovea::Tensor& images, fovea::Context& ctx) const {
    const fovea::Tensor features = dropout(norm.silu(conv(images, ctx)), ctx);
    return head(fovea::ops::reshape(features, {images.size(0), 4 * 4 * 4}));
  }
};

/// True if the project's own model learns which half of an image is bright.
bool trains_own_layers() {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 8 * 16; ++i) pixels.push_back((i % 4 < 2) == (i / 16 % 2 == 0));
  const fovea::Tensor labels =
      fovea::from_values({8}, std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}, {fovea::DType::i64, {}});
  fovea::TensorBatches batches({fovea::from_values({8, 1, 4, 4}, pixels), labels},
                               {.batch_size = 4});
  const OwnNet net;
  fovea::Optimizer optimizer(net.store, {});
  float last = 1;
  for (int step = 0; step < 40; ++step) {
    const std::vector<fovea::Tensor> batch = batches.next();
    fovea::Context ctx;
    ctx.training = true;
    const fovea::Tensor loss = fovea::ops::cross_entropy(net(batch[0], ctx), batch[1]);
    net.store.zero_grad();
    fovea::backward(loss);
    optimizer.step(/*lr=*/1e-2);
    last = fovea::to_vector<float>(loss).front();
  }
  std::printf("own layers: loss %.3f\n", last);
  return last < 0.3F;
}

}  // namespace

/// True if training lowers the losses.
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
  return last < first && trains_own_layers();
}
