// A vision transformer and its training from scratch: softmax, attention, blocks, AdamW, the loop.
// The library gives tensors, the tape, pictures and nine ops: matmul, linear, add (+), mul (*),
// reshape, transpose, layer_norm, gelu and cross_entropy.
//
//   example_vit_from_scratch [--epochs 3] [--steps N] [--batch 64] [--seed 1]    trains
//   example_vit_from_scratch --compare    compares logits, loss and gradients with the library's
//
// Shapes: B images, N tokens of width D, H heads of width D / H, K classes. A const Tensor is a
// constant handle, whose numbers may change.
#include <fovea/fovea.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numbers>
#include <string>
#include <vector>

using namespace fovea;

namespace {

constexpr std::int64_t kPatch = 4, kGrid = 32 / kPatch;  // images are 32 x 32 pixels
constexpr std::int64_t kTokens = kGrid * kGrid, kPixels = 3 * kPatch * kPatch;
constexpr std::int64_t kWidth = 64, kHeads = 4, kDepth = 4, kClasses = 10;

/// Softmax turns each row x, along the last axis, into positive numbers with sum 1:
///
///   y_i = exp(x_i) / sum_j exp(x_j)        dx_i = y_i (dy_i - sum_j dy_j y_j)
///
/// dx and dy are the gradients of x and y. Subtracting the largest x changes no y and keeps exp()
/// from overflowing. record() puts the derivative on the tape, and backward() calls it.
template <class T>
Tensor softmax_of(const Tensor& input) {
  const OpLabel op("softmax");  // errors name it
  const Tensor in = input.detach().contiguous(), out = empty(in.shape(), in.options());
  const std::int64_t width = in.size(-1);
  for (std::int64_t row = 0; row < in.numel(); row += width) {
    const T* const x = in.data<T>() + row;
    T* const y = out.data<T>() + row;
    const T largest = *std::max_element(x, x + width);
    T sum = 0;
    for (std::int64_t i = 0; i < width; ++i) y[i] = std::exp(x[i] - largest);
    for (std::int64_t i = 0; i < width; ++i) sum += y[i];
    for (std::int64_t i = 0; i < width; ++i) y[i] /= sum;
  }
  return record(op, out, /*inputs=*/{input}, /*saved=*/{out}, [width](const GradArgs& g) -> Grads {
    const Tensor grad = empty(g.dy.shape(), g.dy.options());
    for (std::int64_t row = 0; row < grad.numel(); row += width) {
      const T *const y = g.saved[0].data<T>() + row, *const dy = g.dy.data<T>() + row;
      T* const dx = grad.data<T>() + row;
      T dot = 0;
      for (std::int64_t i = 0; i < width; ++i) dot += dy[i] * y[i];
      for (std::int64_t i = 0; i < width; ++i) dx[i] = y[i] * (dy[i] - dot);
    }
    return {grad};
  });
}
Tensor softmax(const Tensor& x) {
  return x.dtype() == DType::f64 ? softmax_of<double>(x) : softmax_of<float>(x);
}

/// The vision transformer (Dosovitskiy et al. 2020), with the mean of all tokens in place of a
/// class token. Parameters have timm's names, except that timm keeps q, k and v in one matrix.
class VisionTransformer {
 public:
  VisionTransformer(std::uint64_t seed, DType dtype) : seed_(seed), options_{dtype, {}} {
    add_linear("patch_embed.proj", kPixels, kWidth);
    add("pos_embed", random({1, kTokens, kWidth}));
    for (int i = 0; i < kDepth; ++i) {
      const std::string name = "blocks." + std::to_string(i);
      add_norm(name + ".norm1");
      for (const char* layer : {"q", "k", "v", "proj"}) {
        add_linear(name + ".attn." + layer, kWidth, kWidth);
      }
      add_norm(name + ".norm2");
      add_linear(name + ".mlp.fc1", kWidth, 4 * kWidth);
      add_linear(name + ".mlp.fc2", 4 * kWidth, kWidth);
    }
    add_norm("fc_norm");
    add_linear("head", kWidth, kClasses);
  }

  /// images [B, 3, 32, 32] -> logits [B, K], by the paper's equations (1) to (4).
  Tensor operator()(const Tensor& images) const {
    Tensor x = linear(patches(images), "patch_embed.proj") + at("pos_embed");      // (1) [B, N, D]
    for (int i = 0; i < kDepth; ++i) x = block(x, "blocks." + std::to_string(i));  // (2), (3)
    const Tensor mean = full({1, kTokens}, 1.0 / kTokens, options_);               // a row of 1 / N
    const Tensor pooled = ops::reshape(ops::matmul(mean, x), {x.size(0), kWidth});  // [B, D]
    return linear(norm(pooled, "fc_norm"), "head");                                 // (4) [B, K]
  }

  const Tensor& at(const std::string& name) const { return parameters_.at(name); }
  const std::map<std::string, Tensor>& parameters() const { return parameters_; }

 private:
  void add(const std::string& name, const Tensor& values) {
    parameters_[name] = values.set_requires_grad();
  }
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", random({out, in}));
    add(name + ".bias", zeros({out}, options_));
  }
  void add_norm(const std::string& name) {
    add(name + ".weight", ones({kWidth}, options_));
    add(name + ".bias", zeros({kWidth}, options_));
  }
  /// Small normal numbers, a function of the seed and of how many parameters there are already.
  Tensor random(const Shape& shape) const {
    return rand_normal(shape, {.deviation = 0.06}, {seed_, parameters_.size()}, options_);
  }

  /// x weight^T + bias.
  Tensor linear(const Tensor& x, const std::string& name) const {
    return ops::linear(x, at(name + ".weight"), at(name + ".bias"));
  }
  /// (x - mean) / deviation * weight + bias, with mean and deviation of each token.
  Tensor norm(const Tensor& x, const std::string& name) const {
    return ops::layer_norm(x, at(name + ".weight"), at(name + ".bias"));
  }

  /// The pixels of each patch as one row, [B, 3, 32, 32] -> [B, N, 3 p p], by way of
  /// [B, 3, rows, p, columns, p] and [B, rows, columns, 3, p, p].
  static Tensor patches(const Tensor& images) {
    const std::int64_t B = images.size(0);
    Tensor x = ops::reshape(images, {B, 3, kGrid, kPatch, kGrid, kPatch});
    x = ops::transpose(ops::transpose(ops::transpose(x, 3, 4), 1, 2), 2, 3);
    return ops::reshape(x, {B, kTokens, kPixels});
  }
  /// Gives each head its channels: [B, N, D] -> [B, H, N, D / H].
  static Tensor heads(const Tensor& x) {
    return ops::transpose(ops::reshape(x, {x.size(0), kTokens, kHeads, kWidth / kHeads}), 1, 2);
  }

  /// softmax(q k^T / sqrt(D / H)) v: each token receives a mean of all tokens' values, weighted
  /// by how well its query matches their keys. [B, N, D] -> [B, N, D].
  Tensor attention(const Tensor& x, const std::string& name) const {
    const Tensor q = heads(linear(x, name + ".q"));
    const Tensor k = heads(linear(x, name + ".k"));
    const Tensor v = heads(linear(x, name + ".v"));
    const double scale = 1 / std::sqrt(static_cast<double>(kWidth / kHeads));
    const Tensor scores = ops::matmul(q, ops::transpose(k, 2, 3)) * scale;       // [B, H, N, N]
    const Tensor means = ops::transpose(ops::matmul(softmax(scores), v), 1, 2);  // [B, N, H, D / H]
    return linear(ops::reshape(means, x.shape()), name + ".proj");
  }

  /// Attention moves information between tokens; the perceptron works on each token alone. Both are
  /// added to x, so the gradient also has a path around them. [B, N, D] -> [B, N, D].
  Tensor block(Tensor x, const std::string& name) const {
    x = x + attention(norm(x, name + ".norm1"), name + ".attn");           // (2)
    const Tensor y = linear(norm(x, name + ".norm2"), name + ".mlp.fc1");  // [B, N, 4 D]
    return x + linear(ops::gelu(y), name + ".mlp.fc2");                    // (3)
  }

  std::uint64_t seed_;
  TensorOptions options_;
  std::map<std::string, Tensor> parameters_;
};

/// AdamW (Loshchilov and Hutter 2019). For each number p of a parameter with gradient g:
///
///   m <- b1 m + (1 - b1) g       running mean of the gradients
///   v <- b2 v + (1 - b2) g^2     running mean of their squares
///   p <- p - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay p)
///
/// m and v start at 0 and are too small at first: step t divides them by 1 - b^t, the sum of the
/// weights that the gradients so far have in them.
class AdamW {
 public:
  explicit AdamW(const VisionTransformer& model) {
    for (const auto& [name, p] : model.parameters()) {
      const float decay = p.rank() == 2 ? 0.05F : 0;  // matrices; no biases, norms or positions
      const std::vector<float> zero(static_cast<std::size_t>(p.numel()));
      slots_.push_back({p, decay, zero, zero});
    }
  }

  void step(float lr) {
    constexpr float b1 = 0.9F, b2 = 0.999F, eps = 1e-8F;
    ++t_;
    const float m_sum = 1 - std::pow(b1, t_), v_sum = 1 - std::pow(b2, t_);
    for (auto& [parameter, decay, ms, vs] : slots_) {
      const Tensor gradient = parameter.grad();
      float* const p = parameter.data<float>();
      const float* const g = gradient.data<float>();
      for (std::size_t i = 0; i < ms.size(); ++i) {
        float &m = ms[i], &v = vs[i];
        m = b1 * m + (1 - b1) * g[i];
        v = b2 * v + (1 - b2) * g[i] * g[i];
        p[i] -= lr * (m / m_sum / (std::sqrt(v / v_sum) + eps) + decay * p[i]);
      }
      parameter.bump_version();  // a tape that still needs the old numbers now reports an error
      parameter.set_grad({});    // the next backward() starts from zero
    }
  }

 private:
  struct Slot {
    Tensor parameter;
    float decay;
    std::vector<float> m, v;
  };
  std::vector<Slot> slots_;
  float t_ = 0;  ///< steps, for std::pow
};

/// The percentage of held-out pictures whose largest logit is that of their class.
double accuracy(const VisionTransformer& model) {
  const NoGrad no_tape;
  Loader pictures(open_dataset({}, Split::test), evaluation_pipeline({}),
                  evaluation_loader_options(/*batch_size=*/100, /*workers=*/1));
  double right = 0, all = 0;
  while (pictures.has_next()) {
    const Batch batch = pictures.next();
    const Tensor logits = model(batch.images);
    for (std::int64_t b = 0; b < batch.size(); ++b, ++all) {
      const float* const row = logits.data<float>() + b * kClasses;
      const auto guess = std::max_element(row, row + kClasses) - row;
      right += guess == batch.labels.data<std::int64_t>()[b] ? 1 : 0;
    }
  }
  return 100 * right / all;
}

/// Rises linearly in the first twentieth of the run, then falls to 0 as a cosine.
float learning_rate(double done) {
  const double warmup = done / 0.05, cosine = 0.5 + 0.5 * std::cos(std::numbers::pi * done);
  return static_cast<float>(2e-3 * std::min(warmup, cosine));
}

using Flags = std::map<std::string, std::int64_t>;

int train(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.at("--seed"));
  const VisionTransformer model(seed, DType::f32);
  AdamW optimizer(model);
  Loader pictures(open_dataset({}, Split::train), training_pipeline({.crop_padding = 2, .flip = 0}),
                  {.batch_size = flags.at("--batch"), .seed = seed});
  const std::int64_t epoch = pictures.batches_per_epoch(), last = flags.at("--epochs") * epoch;
  double sum = 0;
  for (std::int64_t step = 1; step <= std::min(last, flags.at("--steps")); ++step) {
    const Batch batch = pictures.next();
    const Tensor loss = ops::cross_entropy(model(batch.images), batch.labels);
    backward(loss);
    optimizer.step(learning_rate(static_cast<double>(step) / static_cast<double>(last)));
    sum += loss.item();
    if (step % 25 == 0) std::printf("step %4d  loss %.3f\n", static_cast<int>(step), sum / 25);
    if (step % 25 == 0) sum = 0;
    if (step % epoch == 0) std::printf("held out: %.2f %% top-1\n", accuracy(model));
    std::fflush(stdout);
  }
  return 0;
}

/// The values, or the gradients, that this model has for a parameter of the library, which keeps q,
/// k and v in one tensor called qkv.
std::vector<double> numbers(const VisionTransformer& model, const std::string& name,
                            bool gradients) {
  const std::size_t at = name.find("qkv");
  std::vector<double> all;
  for (const char* part : {"q", "k", "v"}) {
    const bool is_whole = at == std::string::npos;
    const Tensor& p = model.at(is_whole ? name : std::string(name).replace(at, 3, part));
    const std::vector<double> values = (gradients ? p.grad() : p).to_vector();
    all.insert(all.end(), values.begin(), values.end());
    if (is_whole) break;
  }
  return all;
}

/// Prints ||a - b|| / ||b|| and returns whether it is small.
bool is_close(const std::string& name, const std::vector<double>& a, const std::vector<double>& b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    apart += (a.at(i) - b[i]) * (a.at(i) - b[i]);
    size += b[i] * b[i];
  }
  const double distance = std::sqrt(apart / size);
  std::printf("%-28s %.1e\n", name.c_str(), distance);
  return distance <= 1e-12;
}

/// Runs the library's model and this one with the same random weights on the same images.
int compare() {
  const TensorOptions f64{DType::f64, {}};
  const VisionTransformer here(/*seed=*/1, DType::f64);
  const nlohmann::json sizes = {{"embed_dim", kWidth},  {"depth", kDepth},
                                {"num_heads", kHeads},  {"num_classes", kClasses},
                                {"class_token", false}, {"global_pool", "avg"}};
  const auto library =
      model_as<Classifier>(make_model("vit_tiny_patch4_32", sizes, /*seed=*/1, f64));
  const std::vector<Parameter>& parameters = library->store().parameters();
  {
    const NoGrad no_tape;
    std::uint64_t stream = 0;
    for (const auto& [name, p] : here.parameters()) {
      p.copy_(rand_normal(p.shape(), {.deviation = 0.2}, {2, ++stream}, f64));
    }
    for (const Parameter& p : parameters) {
      p.tensor.copy_(from_values(p.tensor.shape(), numbers(here, p.name, false), f64));
    }
  }

  const Tensor images = rand_normal({10, 3, 32, 32}, {}, {.seed = 3}, f64), labels = arange(10);
  Context context;
  context.activations = DType::f64;
  const Tensor logits = here(images), their_logits = library->forward(images, context).logits;
  const Tensor loss = ops::cross_entropy(logits, labels);
  const Tensor their_loss = ops::cross_entropy(their_logits, labels);
  backward(loss);
  backward(their_loss);

  bool ok = is_close("logits", logits.to_vector(), their_logits.to_vector());
  ok &= is_close("loss", loss.to_vector(), their_loss.to_vector());
  for (const Parameter& p : parameters) {
    ok &= is_close(p.name, numbers(here, p.name, true), p.tensor.grad().to_vector());
  }
  std::printf("%s 1e-12\n", ok ? "PASS: all within" : "FAIL: not all within");
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--compare") return compare();
  Flags flags{{"--epochs", 3}, {"--steps", 1'000'000}, {"--batch", 64}, {"--seed", 1}};
  for (int i = 1; i < argc; i += 2) {
    const std::int64_t number = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (number < 1 || !flags.contains(argv[i])) {
      std::fprintf(stderr, "error: got %s, expected --compare or a flag and a number\n", argv[i]);
      return 1;
    }
    flags[argv[i]] = number;
  }
  return train(flags);
}
