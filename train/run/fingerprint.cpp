// SHA-256 over texts, indices and tensors.
#include "train/run/fingerprint.h"

#include <string_view>

#include "engine/autograd.h"
#include "engine/base/sha256.h"
#include "engine/copy.h"
#include "models/scope.h"

namespace fovea {
namespace {

void add_numbers(Sha256& sha, std::span<const std::int64_t> numbers) {
  const auto bytes = std::as_bytes(numbers);
  sha.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void add_tensor(Sha256& sha, const Parameter& p) {
  const Tensor host = p.tensor.detach().to(Device{}).contiguous();
  sha.add(p.name + '\0');
  sha.add({reinterpret_cast<const char*>(host.raw()), static_cast<std::size_t>(host.byte_count())});
}

}  // namespace

void add_images(FingerprintChain& chain, std::int64_t epoch,
                std::span<const std::int64_t> indices) {
  Sha256 sha;
  sha.add(chain.images);
  add_numbers(sha, std::span(&epoch, 1));
  add_numbers(sha, indices);
  chain.images = sha.finish();
}

void add_weights(FingerprintChain& chain, const ParameterStore& store) {
  const NoGrad no_grad;
  Sha256 sha;
  sha.add(chain.last + '\0' + chain.images + '\0');
  for (const Parameter& p : store.parameters()) add_tensor(sha, p);
  for (const Parameter& p : store.buffers()) add_tensor(sha, p);
  chain = {sha.finish(), ""};
}

std::string fingerprint_at(FingerprintChain chain, const ParameterStore& store) {
  if (!chain.images.empty()) add_weights(chain, store);
  return chain.last;
}

}  // namespace fovea
