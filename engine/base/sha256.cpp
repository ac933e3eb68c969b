// The compression function, block by block.
#include "engine/base/sha256.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/files.h"

namespace fovea {
namespace {

constexpr std::size_t kBlockBytes = 64;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
std::array<std::uint32_t, 64> round_constants() {
  std::array<std::uint32_t, 64> constants{};
  std::size_t found = 0;
  for (std::uint32_t n = 2; found < constants.size(); ++n) {
    bool is_prime = true;
    for (std::uint32_t d = 2; d * d <= n; ++d) is_prime = is_prime && n % d != 0;
    if (!is_prime) continue;
    const long double root = std::cbrt(static_cast<long double>(n));
    constants[found++] = static_cast<std::uint32_t>((root - std::floor(root)) * 0x1p32L);
  }
  return constants;
}

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

}  // namespace

void Sha256::add_block(const char* block) {
  static const std::array<std::uint32_t, 64> constants = round_constants();
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) w[i] = word_at(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
}

void Sha256::add(std::string_view bytes) {
  bytes_ += bytes.size();
  if (!pending_.empty()) {
    const std::size_t missing = std::min(kBlockBytes - pending_.size(), bytes.size());
    pending_ += bytes.substr(0, missing);
    bytes.remove_prefix(missing);
    if (pending_.size() < kBlockBytes) return;
    add_block(pending_.data());
    pending_.clear();
  }
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) add_block(bytes.data());
  pending_ += bytes;
}

std::string Sha256::finish() {
  const std::uint64_t bits = 8 * bytes_;
  std::string end("\x80");
  while ((pending_.size() + end.size()) % kBlockBytes != 56) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(bits >> shift & 0xFF);
  add(end);
  std::string digest;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) digest += "0123456789abcdef"[word >> shift & 0xF];
  }
  return digest;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  const InputFile file(path);
  Sha256 sha;
  for (std::uint64_t done = 0; done < file.size(); done += kPiece) {
    sha.add(file.text_at(done, std::min(kPiece, file.size() - done)));
  }
  return sha.finish();
}

}  // namespace fovea
