// Parameters by name: creation, initial values and weight decay.
#include "models/scope.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/random.h"
#include "engine/single_copy.h"
#include "models/shapes_only.h"

namespace fovea {
namespace {

/// FNV-1a. A parameter's random stream is a function of its name.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// timm 0.3.2: no decay for biases and tensors with at most one axis.
Decay default_decay(std::string_view name, const Shape& shape) {
  return shape.rank() <= 1 || name == "bias" ? Decay::no : Decay::yes;
}

}  // namespace

Init constant(double value) {
  return [value](const Tensor& parameter, RandomKey) { parameter.fill_(value); };
}

Init trunc_normal(double deviation) {
  return [deviation](const Tensor& parameter, RandomKey key) {
    const Tensor drawn = rand_normal(parameter.shape(), {0, deviation}, key);
    float* values = drawn.data<float>();
    const std::int64_t count = drawn.numel();
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::abs(values[i]) <= 2) continue;
      Rng again(key.seed, stream_of(key.stream, 1, static_cast<std::uint64_t>(i)));
      while (std::abs(values[i]) > 2) values[i] = static_cast<float>(deviation * again.normal());
    }
    parameter.copy_(drawn);
  };
}

Init normal(double deviation) {
  return [deviation](const Tensor& parameter, RandomKey key) {
    parameter.copy_(rand_normal(parameter.shape(), {0, deviation}, key));
  };
}

Init uniform(double bound) {
  return [bound](const Tensor& parameter, RandomKey key) {
    parameter.copy_(rand_uniform(parameter.shape(), {-bound, bound}, key));
  };
}

Init torch_default(std::int64_t fan_in) {
  return uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

Init xavier(std::int64_t in, std::int64_t out) {
  return uniform(std::sqrt(6 / static_cast<double>(in + out)));
}

Init times(const Init& values, double factor) {
  return [values, factor](const Tensor& parameter, RandomKey key) {
    values(parameter, key);
    std::vector<double> scaled = parameter.to_vector();
    for (double& value : scaled) value *= factor;
    parameter.copy_(from_values(parameter.shape(), scaled, {DType::f64, {}}));
  };
}

Tensor ParameterStore::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? Tensor() : found->second;
}

Tensor ParameterStore::find(Role role) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [role](const Parameter& p) { return p.role == role; });
  return found == parameters_.end() ? Tensor() : found->tensor;
}

std::int64_t ParameterStore::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters_) {
    if (p.tensor.requires_grad()) count += p.tensor.numel();
  }
  return count;
}

void ParameterStore::zero_grad() const {
  for (const Parameter& p : parameters_) p.tensor.set_grad({});
}

void ParameterStore::keep_single_copies() const {
  for (const Parameter& p : parameters_) keep_single_copy(p.tensor);
}

Scope Scope::operator/(std::string_view child) const {
  Scope inner = *this;
  if (!inner.path_.empty()) inner.path_ += '.';
  inner.path_ += child;
  return inner;
}

Scope Scope::operator/(std::int64_t child) const { return *this / std::to_string(child); }

Scope Scope::as(Role role) const {
  Scope same = *this;
  same.role_ = role;
  return same;
}

Scope Scope::decoder() const {
  Scope same = *this;
  same.in_decoder_ = true;
  return same;
}

Scope Scope::xavier() const {
  Scope same = *this;
  same.is_xavier_ = true;
  return same;
}

Init Scope::linear_weight(std::int64_t in, std::int64_t out) const {
  return is_xavier_ ? fovea::xavier(in, out) : trunc_normal(0.02);
}

Scope Scope::over(const TokenGrid& grid) const {
  Scope same = *this;
  same.grid_ = grid;
  return same;
}

Scope Scope::block(std::int64_t index) const {
  Scope inner = *this / index;
  inner.block_ = index;
  return inner;
}

Tensor Scope::param(std::string_view name, const Shape& shape, const Init& init) const {
  return param(name, shape, init, default_decay(name, shape));
}

Tensor Scope::param(std::string_view name, const Shape& shape, const Init& init,
                    Decay decay) const {
  store_->parameters_.push_back(make(name, shape, init, store_->options_, decay));
  const Tensor tensor = store_->parameters_.back().tensor;
  tensor.set_requires_grad();
  return tensor;
}

Tensor Scope::fixed(std::string_view name, const Shape& shape, const Init& init) const {
  Parameter& fixed =
      store_->parameters_.emplace_back(make(name, shape, init, store_->options_, Decay::no));
  fixed.is_fixed = true;
  return fixed.tensor;
}

Tensor Scope::buffer(std::string_view name, const Shape& shape, const Init& init) const {
  return buffer(name, shape, init, store_->options_.dtype);
}

Tensor Scope::buffer(std::string_view name, const Shape& shape, const Init& init,
                     DType dtype) const {
  const TensorOptions options{dtype, store_->options_.device};
  store_->buffers_.push_back(make(name, shape, init, options, Decay::no));
  return store_->buffers_.back().tensor;
}

void Scope::adopt(const ParameterStore& other) const {
  const auto take = [this](const std::vector<Parameter>& from, std::vector<Parameter>& to) {
    for (const Parameter& p : from) {
      Parameter same = p;
      same.name = (*this / p.name).path_;
      check(!store_->find(same.name).defined(), "Scope: parameter ", same.name, " already exists");
      same.tensor.set_name(same.name);
      store_->by_name_.emplace(same.name, same.tensor);
      to.push_back(std::move(same));
    }
  };
  take(other.parameters_, store_->parameters_);
  take(other.buffers_, store_->buffers_);
}

Parameter Scope::make(std::string_view name, const Shape& shape, const Init& init,
                      TensorOptions options, Decay decay) const {
  const std::string path = (*this / name).path_;
  check(!store_->find(path).defined(), "Scope: parameter ", path, " already exists");
  Tensor tensor;
  if (ShapesOnly* shapes = ShapesOnly::current()) {
    tensor = shapes->make(shape, options);
  } else {
    tensor = empty(shape, options);
    init(tensor, {store_->seed_, hash_of(path)});
  }
  tensor.set_name(path);
  store_->by_name_.emplace(path, tensor);
  return {path, tensor, decay, role_, block_, in_decoder_, /*is_fixed=*/false, grid_};
}

}  // namespace fovea
