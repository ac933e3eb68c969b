// Human-readable printing of tensors.
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "engine/autograd.h"
#include "engine/node.h"
#include "engine/tensor.h"

namespace fovea {
namespace {

constexpr std::int64_t kEdge = 3;  ///< entries shown at each end of a long axis

class Printer {
 public:
  Printer(std::ostream& out, const Tensor& tensor)
      : out_(out), values_(tensor.to_vector()), shape_(tensor.shape()) {}

  void print(int axis, std::int64_t offset) {
    if (axis == shape_.rank()) {
      out_ << std::setw(10) << values_[static_cast<std::size_t>(offset)];
      return;
    }
    std::int64_t step = 1;
    for (int i = axis + 1; i < shape_.rank(); ++i) step *= shape_[i];
    const bool innermost = axis + 1 == shape_.rank();
    const std::string gap =
        innermost ? "," : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    out_ << '[';
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) out_ << gap;
      if (i == kEdge && shape_[axis] > 2 * kEdge) {
        out_ << " ..." << gap;
        i = shape_[axis] - kEdge;
      }
      print(axis + 1, offset + i * step);
    }
    out_ << ']';
  }

  void warn_if_not_finite() {
    std::int64_t nan = 0, infinite = 0;
    for (const double v : values_) {
      nan += std::isnan(v);
      infinite += std::isinf(v);
    }
    if (nan + infinite > 0) out_ << "\n! " << nan << " NaN, " << infinite << " infinite";
  }

 private:
  std::ostream& out_;
  std::vector<double> values_;
  Shape shape_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor.defined()) return out << "tensor (undefined)";
  out << "tensor " << tensor.shape() << ' ' << tensor.dtype() << ' ' << tensor.device();
  if (!tensor.name().empty()) out << " '" << tensor.name() << '\'';
  if (tensor.node()) out << " from " << tensor.node()->name;
  out << '\n';
  std::ostringstream body;
  body << std::setprecision(5);
  Printer printer(body, tensor);
  printer.print(0, 0);
  printer.warn_if_not_finite();
  return out << body.str();
}

std::string to_string(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

}  // namespace fovea
