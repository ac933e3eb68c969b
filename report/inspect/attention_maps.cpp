// Attention maps in f32 on the CPU, computed from tapped tensors.
#include "report/inspect/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "ops/matmul.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

SquareMap zeros_of(std::int64_t size) {
  return {size, std::vector<float>(static_cast<std::size_t>(size * size))};
}

/// Values of a small tensor as f32 on the CPU.
std::vector<float> to_floats(const Tensor& x) {
  const Tensor plain = x.detach().to(Device{}).to(DType::f32).contiguous();
  return {plain.data<float>(), plain.data<float>() + plain.numel()};
}

/// One [L, L] (or [1, L], ...) slice of a bias with leading axes that may be 1 or missing.
Tensor head_slice(Tensor bias, const BlockAttention::HeadIndex& index) {
  while (bias.rank() < 4) bias = ops::unsqueeze(bias, 0);
  bias = ops::select(bias, 0, bias.size(0) == 1 ? 0 : index.image);
  return ops::select(bias, 0, bias.size(0) == 1 ? 0 : index.head);
}

SquareMap softmax_rows(const SquareMap& logits) {
  const Tensor x = empty({logits.size, logits.size});
  std::copy(logits.values.begin(), logits.values.end(), x.data<float>());
  return {logits.size, to_floats(ops::softmax(x))};
}

SquareMap sum_of(SquareMap a, const SquareMap& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

/// Block number in a name: 3 in "attn/3/qkv" for `before` "attn/" and `after` "/qkv".
std::optional<std::int64_t> block_of(std::string_view name, std::string_view before,
                                     std::string_view after) {
  if (!name.starts_with(before) || !name.ends_with(after)) return std::nullopt;
  return parse_integer(name.substr(before.size(), name.size() - before.size() - after.size()));
}

/// Collects a block's tapped tensors; the block is complete when the next one starts.
class Collector {
 public:
  Collector(const TokenLayout& layout, const BlockVisitor& visit)
      : layout_(layout), visit_(visit) {}

  void see(std::string_view name, const Tensor& value) {
    if (const auto block = block_of(name, "attn/", "/qkv")) of(*block).qkv = value.detach();
    if (const auto block = block_of(name, "attn/", "/bias")) of(*block).bias = value.detach();
    if (const auto block = block_of(name, "phi_p/", "")) of(*block).phi_p = value.detach();
  }
  void flush() {
    if (block_ >= 0) visit_(BlockAttention(block_, std::move(shown_), layout_));
    shown_ = {};
  }

 private:
  BlockAttention::Shown& of(std::int64_t block) {
    if (block != block_) flush();
    block_ = block;
    return shown_;
  }

  const TokenLayout& layout_;
  const BlockVisitor& visit_;
  std::int64_t block_ = -1;
  BlockAttention::Shown shown_;
};

}  // namespace

double TokenLayout::image_side() const {
  return std::sqrt(static_cast<double>(grid_height * grid_width) * cell_height * cell_width);
}

PatchGrid TokenLayout::grid_of(std::int64_t tokens) const {
  const std::int64_t patches = tokens - prefix;
  for (std::int64_t inset = 0; 2 * inset < std::min(grid_height, grid_width); ++inset) {
    const PatchGrid grid{grid_height - 2 * inset, grid_width - 2 * inset, inset};
    if (grid.size() == patches) return grid;
  }
  fail("inspect: got ", tokens, " tokens, expected ", prefix, " and a grid of ", grid_height, " x ",
       grid_width, " patches or its middle");
}

TokenLayout token_layout(const Model& model) {
  const TokenInfo tokens = model.tokens();
  check(model.info().task != TaskKind::detection, "inspect: ", model.info().name,
        " is a detector; ", program_call("inspect"), " detection shows its attention");
  check(tokens.blocks > 0, "inspect: ", model.info().name,
        " has no attention, expected a transformer (vit, deit, cpvt, pervit, pit)");
  check(tokens.softmax, "inspect: ", model.info().name,
        " has differential attention, which is not one map per head");
  check(!tokens.hides_some, "inspect: the blocks of ", model.info().name,
        " see only some patches of an image, so it has no attention maps; ",
        program_call("inspect"),
        " mae shows its reconstructions, and a classifier made with --finetune has maps");
  const auto [height, width] = tokens.grid.size;
  const auto cell = static_cast<double>(tokens.cell);
  return {tokens.blocks,
          tokens.heads,
          tokens.grid.prefix,
          height,
          width,
          cell,
          cell,
          model.store().find(Role::token).defined()};
}

BlockAttention::BlockAttention(std::int64_t block, Shown shown, const TokenLayout& layout)
    : block_(block), shown_(std::move(shown)), layout_(layout) {
  check(shown_.qkv.defined() || shown_.bias.defined() || shown_.phi_p.defined(), "inspect: block ",
        block, " recorded no attention");
  if (!shown_.qkv.defined()) return;
  check(shown_.qkv.rank() == 3 && shown_.qkv.size(2) % (3 * heads()) == 0, "inspect: block ", block,
        ": got qkv ", shown_.qkv.shape(), ", expected [B, L, 3 D] with D divisible by ", heads(),
        " heads");
}

std::int64_t BlockAttention::images() const {
  if (shown_.qkv.defined()) return shown_.qkv.size(0);
  return shown_.bias.defined() && shown_.bias.rank() == 4 ? shown_.bias.size(0) : 1;
}

std::int64_t BlockAttention::tokens() const {
  if (shown_.qkv.defined()) return shown_.qkv.size(1);
  return shown_.bias.defined() ? shown_.bias.size(-1) : shown_.phi_p.size(-1) + layout_.prefix;
}

SquareMap BlockAttention::content(const HeadIndex& index) const {
  const std::int64_t L = tokens();
  if (!has_content()) return zeros_of(L);
  const std::int64_t D = shown_.qkv.size(2) / 3, d = D / heads();
  const Tensor image =
      ops::select(shown_.qkv, 0, index.image).to(Device{}).to(DType::f32);    // [L, 3D]
  const Tensor q = ops::slice(image, 1, index.head * d, index.head * d + d);  // [L, d]
  const Tensor k = ops::slice(image, 1, D + index.head * d, D + index.head * d + d);
  SquareMap map{L, to_floats(ops::matmul(q.contiguous(), k.contiguous(), {.b = true}))};
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
  for (float& value : map.values) value *= scale;
  return map;
}

SquareMap BlockAttention::position(const HeadIndex& index) const {
  const std::int64_t L = tokens();
  if (shown_.bias.defined()) {
    return {L, to_floats(ops::expand(head_slice(shown_.bias, index), {L, L}))};
  }
  SquareMap map = zeros_of(L);
  if (!has_phi_p()) return map;
  const SquareMap phi = gate(index);
  for (std::int64_t q = layout_.prefix; q < L; ++q) {
    for (std::int64_t k = layout_.prefix; k < L; ++k) {
      const float value = phi.row(q - layout_.prefix)[static_cast<std::size_t>(k - layout_.prefix)];
      // At least the smallest normal float, because log(0) is -inf.
      map.values[static_cast<std::size_t>(q * L + k)] = std::log(std::max(value, 1e-38F));
    }
  }
  return map;
}

SquareMap BlockAttention::weights(const HeadIndex& index) const {
  return softmax_rows(sum_of(content(index), position(index)));
}

SquareMap BlockAttention::patch_weights(const HeadIndex& index) const {
  return softmax_rows(without_prefix(sum_of(content(index), position(index)), layout_.prefix));
}

SquareMap BlockAttention::gate(const HeadIndex& index) const {
  if (has_phi_p()) {
    Tensor phi = shown_.phi_p;
    while (phi.rank() > 3) phi = ops::select(phi, 0, 0);
    return {phi.size(-1), to_floats(ops::select(phi, 0, index.head))};
  }
  SquareMap map = without_prefix(position(index), layout_.prefix);
  for (float& value : map.values) value = std::exp(value);
  return map;
}

SquareMap without_prefix(const SquareMap& map, std::int64_t prefix) {
  SquareMap result = zeros_of(map.size - prefix);
  for (std::int64_t q = 0; q < result.size; ++q) {
    const std::span<const float> row =
        map.row(prefix + q).subspan(static_cast<std::size_t>(prefix));
    std::copy(row.begin(), row.end(), result.values.begin() + q * result.size);
  }
  return result;
}

void visit_blocks(Model& model, const Tensor& images, const BlockVisitor& visit) {
  const TokenLayout layout = token_layout(model);
  std::int64_t seen = 0;
  const BlockVisitor counting = [&](const BlockAttention& block) {
    ++seen;
    visit(block);
  };
  const NoGrad no_grad;
  Collector collector(layout, counting);
  Context ctx;
  ctx.tap = [&](std::string_view name, const Tensor& value) { collector.see(name, value); };
  static_cast<void>(model.probe(images.to(model.device()), ctx));
  collector.flush();
  check(seen > 0, "inspect: ", model.info().name, " records no attention");
}

}  // namespace fovea
