// A custom model: parameters made through a Scope, layers as plain values, AdamW, built-in
// pictures.
#include <fovea/fovea.h>
#include <cstdio>

using namespace fovea;

/// Patch embedding, one transformer block, the mean of the tokens and a linear head.
class TinyNet : public Classifier {
 public:
  TinyNet()
      : Classifier({.name = "tiny", .img_size = {32, 32}, .num_classes = 10, .config = {}},
                   /*seed=*/1, {}),
        patches_(Scope(store()) / "patch_embed", {.img_size = {32, 32}, .patch_size = 8}, 48),
        block_(Scope(store()) / "block", {.embed_dim = 48, .num_heads = 3}, 0),
        head_(Scope(store()) / "head", 48, 10) {}

  ClassifierOutput forward(const Tensor& images, Context& ctx) override {
    const Tensor tokens = block_(patches_(images, ctx), ctx);  // [B, 16, 48]
    return {head_(ops::mean(tokens, {1})), {}};                // [B, 10]
  }

 private:
  PatchEmbed patches_;
  Block block_;
  Linear head_;
};

int main() {
  TinyNet model;
  Optimizer optimizer(model.store(), {});
  Loader loader(open_dataset({}, Split::train), training_pipeline({}), {.batch_size = 64});
  const Batch batch = loader.next();  // the only batch: the model overfits it
  double first = 0, last = 0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    Context ctx;
    ctx.training = true;
    ctx.step = step;
    const Tensor loss = ops::cross_entropy(model.forward(batch.images, ctx).logits, batch.labels);
    model.store().zero_grad();
    backward(loss);
    optimizer.step(/*lr=*/2e-3);
    last = loss.item();
    if (step == 0) first = last;
    if (step % 10 == 0) std::printf("step %2d  loss %.3f\n", static_cast<int>(step), last);
  }
  return last < 0.5 * first ? 0 : 1;
}
