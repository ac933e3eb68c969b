// Writing into tensors, which the tape sees. A tensor whose memory is written from recorded values
// is a result from then on, and so is every view of it. Such a write is recorded on the tensor that
// owns the memory, the base; its views read their parts of the base again when they are next used.
#include <memory>
#include <utility>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/node.h"
#include "engine/tape_watch.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

/// Sizes, strides and first element of a tensor in its storage.
struct ViewGeometry {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  explicit ViewGeometry(const TensorImpl& t)
      : shape(t.shape), strides(t.strides), offset(t.offset) {}
  friend bool operator==(const ViewGeometry&, const ViewGeometry&) = default;
};

/// The same elements, each once: size 1 along the axes that an expanded view repeats.
ViewGeometry without_repeats(ViewGeometry view) {
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.strides[axis] == 0) view.shape[axis] = 1;
  }
  return view;
}

/// Values for the elements of a base, laid out in memory as the base is, so that its views can be
/// cut out of them.
class Layout {
 public:
  Layout(const ViewGeometry& base, const TensorOptions& options) : base_(base) {
    const auto [first, last] = *element_range(base.shape, base.strides, base.offset);
    first_ = first;
    const bool empty = base.shape.numel() == 0;
    memory_ = zeros({empty ? 0 : last - first + 1}, options);
  }
  [[nodiscard]] Tensor whole() const { return part(base_); }
  [[nodiscard]] Tensor part(const ViewGeometry& view) const {
    return memory_.alias(view.shape, view.strides, view.offset - first_);
  }

 private:
  ViewGeometry base_;
  std::int64_t first_ = 0;
  Tensor memory_;
};

/// The gradient of a base, laid out as the base is.
Layout laid_out(const ViewGeometry& base, const Tensor& dy) {
  Layout copy(base, dy.options());
  copy_into(copy.whole(), dy);
  return copy;
}

/// y = base with its part replaced by the source:  dbase = dy outside of the part, dsource = dy in
/// it.
Grads write_gradients(const GradArgs& g, const ViewGeometry& base, const ViewGeometry& part,
                      const TensorOptions& source) {
  const Layout dy = laid_out(base, g.dy);
  Grads dx(2);
  if (g.needs(1)) dx[1] = dy.part(part).clone().to(source.dtype).to(source.device);
  if (g.needs(0)) {
    fill(dy.part(part), 0);
    dx[0] = dy.whole();
  }
  return dx;
}

/// Puts a base on the tape again after a write, or takes it off if only constants are left in it.
void record_write(const char* name, const Tensor& to, const Tensor& source) {
  const std::shared_ptr<TensorImpl> owner = to.impl()->base ? to.impl()->base : to.impl();
  const ViewGeometry base(*owner), part(*to.impl());
  const Tensor y(owner), before = part == base ? Tensor() : y;
  const bool is_recorded = needs_tape({before, source}) && is_float(y.dtype());
  if (!is_recorded && owner->node == nullptr) return;
  const TensorOptions from = source.defined() ? source.options() : y.options();
  std::shared_ptr<Node> node;
  if (is_recorded) {
    const OpLabel op(name);
    const Tensor inputs[] = {before, source};
    node = std::make_shared<Node>(
        op, y, inputs, std::span<const Tensor>(),
        [base, part, from](const GradArgs& g) { return write_gradients(g, base, part, from); });
    tell_recorded(op, inputs, y);
  }
  owner->node = std::move(node);
  ++owner->writes;
}

/// Throws when a write would silently change values that the tape relies on.
void require_writable(const char* op, const Tensor& to, const Tensor& source) {
  if (!grad_enabled()) return;
  const bool is_on_tape = to.requires_grad();
  const TensorImpl& owner = to.impl()->base ? *to.impl()->base : *to.impl();
  check(!owner.requires_grad, op, ": modifies ",
        owner.name.empty() ? concat("a leaf ", owner.shape, " without a name")
                           : "the leaf '" + owner.name + "'",
        " in place while gradients are recorded; wrap it in NoGrad");
  check(!is_on_tape || owner.writes > 0, op,
        ": modifies a tensor on the tape in place; use the op that returns a new tensor");
  const bool keeps_some =
      owner.node != nullptr && !(ViewGeometry(owner) == ViewGeometry(*to.impl()));
  check(
      !keeps_some || !owner.node->freed, op,
      ": the tensor has values of a tape that backward() has freed; fill_() it first, or write to "
      "its detach()");
  const std::shared_ptr<TensorImpl> unseen = to.impl()->unseen_base.lock();
  const bool is_recorded = source.defined() && source.requires_grad();
  check(
      unseen == nullptr || (!is_recorded && unseen->node == nullptr), op,
      ": the destination is a view that was made under NoGrad, so that the gradient of its tensor "
      "would be wrong; make the view outside of NoGrad");
}

}  // namespace

void catch_up(const Tensor& view) {
  TensorImpl& impl = *view.impl();
  impl.writes = impl.base->writes;
  impl.node = nullptr;
  if (impl.base->node == nullptr || !is_float(impl.dtype)) return;
  const ViewGeometry base(*impl.base), part = without_repeats(ViewGeometry(impl));
  const Tensor inputs[] = {Tensor(impl.base)};
  impl.node = std::make_shared<Node>(
      OpLabel("view"), view, inputs, std::span<const Tensor>(),
      [base, part](const GradArgs& g) -> Grads {
        const Layout dx(base, g.dy.options());
        add_into(dx.part(part), g.dy.shape() == part.shape ? g.dy : sum_to(g.dy, part.shape));
        return {dx.whole()};
      });
}

void Tensor::copy_(const Tensor& source) const {
  require_writable("copy_", *this, source);
  copy_into(*this, source);
  if (grad_enabled()) record_write("copy_", *this, source);
}

void Tensor::fill_(double value) const {
  require_writable("fill_", *this, {});
  fill(*this, value);
  if (grad_enabled()) record_write("fill_", *this, {});
}

}  // namespace fovea
