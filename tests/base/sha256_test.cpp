// Published test vectors of SHA-256.
#include "engine/base/sha256.h"

#include <doctest/doctest.h>

namespace fovea {
namespace {

std::string sha256(std::string_view text, std::size_t piece = 1000) {
  Sha256 sha;
  for (std::size_t i = 0; i < text.size(); i += piece) sha.add(text.substr(i, piece));
  return sha.finish();
}

}  // namespace

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const char* const expected = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
  CHECK(sha256(two_blocks) == expected);
  for (const std::size_t piece : {5, 40, 63, 64, 65}) CHECK(sha256(two_blocks, piece) == expected);
  const std::string million(1'000'000, 'a');
  for (const std::size_t piece : {77, 128, 1000, 1'000'000}) {
    CHECK(sha256(million, piece) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

}  // namespace fovea
