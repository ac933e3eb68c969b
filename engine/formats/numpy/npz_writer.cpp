// Headers of .npy files, in version 1 of NumPy's format.
#include "engine/formats/numpy/npz_writer.h"

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/formats/numpy/layout.h"

namespace fovea {
namespace {

/// "(2, 3)", "(2,)" or "()".
std::string tuple_of(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    text += (axis > 0 ? " " : "") + std::to_string(shape[axis]) + ",";
  }
  if (shape.rank() > 1) text.pop_back();
  return text + ")";
}

std::string npy_header(StoredType type, const Shape& shape) {
  constexpr std::size_t kAlignment = 64, kBefore = 10;  // before the dictionary
  const std::string name(numpy_name(type));
  const char order = size_of(type) == 1 ? '|' : '<';
  std::string dictionary = "{'descr': '" + (order + name) +
                           "', 'fortran_order': False, 'shape': " + tuple_of(shape) + ", }";
  const std::size_t whole = kBefore + dictionary.size() + 1;
  dictionary.append((kAlignment - whole % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string header(kNpyMagic);
  header.append("\1\0", 2);  // version
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace

void NpzWriter::begin(const std::string& name, StoredType type, const Shape& shape) {
  const std::string header = npy_header(type, shape);
  zip_.begin(name + ".npy", header.size() + NumpyLayout{type, shape}.bytes());
  zip_.append(header);
}

std::int64_t NpzWriter::resume(const std::string& name, StoredType type, const Shape& shape) {
  const std::string header = npy_header(type, shape);
  const std::uint64_t bytes = NumpyLayout{type, shape}.bytes();
  check(shape.numel() > 0, "npz: an array that is resumed has elements, got shape ", shape);
  const std::uint64_t row = bytes / static_cast<std::uint64_t>(shape[0]);
  return static_cast<std::int64_t>(
      zip_.resume({name + ".npy", header.size() + bytes}, header, row));
}

void NpzWriter::append(std::span<const std::byte> elements) {
  zip_.append({reinterpret_cast<const char*>(elements.data()), elements.size()});
}

void NpzWriter::add(const std::string& name, const Tensor& tensor) {
  const NoGrad no_grad;
  const Tensor whole = tensor.detach().to(Device{}).contiguous();
  const StoredType type = stored_type(whole.dtype());
  begin(name, type, whole.shape());
  append({reinterpret_cast<const std::byte*>(whole.raw()),
          static_cast<std::size_t>(whole.numel()) * size_of(type)});
}

}  // namespace fovea
