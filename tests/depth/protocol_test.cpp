// Protocols: reading, writing, and the pixels that count.
#include "models/depth/protocol.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

namespace fovea {

TEST_CASE("a protocol is read from words in any order") {
  const DepthProtocol p = parse_protocol("median+most=8+eigen+raw+least=0.5");
  CHECK(p == DepthProtocol{.crop = DepthCrop::eigen,
                           .least = 0.5,
                           .most = 8,
                           .source = DepthSource::raw,
                           .median = true});
  CHECK(to_text(p) == "eigen+raw+median+least=0.5+most=8");
  CHECK(parse_protocol(to_text(p)) == p);
  CHECK(parse_protocol("full") == DepthProtocol{});
  CHECK(to_text(DepthProtocol{}) == "full");
}

TEST_CASE("several protocols are separated by commas") {
  const auto all = parse_protocols("full,eigen,eigen+median");
  REQUIRE(all.size() == 3);
  CHECK(all[1].crop == DepthCrop::eigen);
  CHECK(all[2].median);
}

TEST_CASE("wrong protocols say what is wrong and what is known") {
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"egen", "got egen, expected words joined by +: full, eigen"},
           {"least=x", "got least=x"},
           {"depth=3", "got depth=3"},
           {"full+", "got an empty word"},
           {"least=9+most=2", "from 9 to 2 m, expected 0 < least < most"},
           {"least=0", "0 < least"},
           {"most=inf", "most=METRES or most=none"},
           {"full,", "separated by commas"},
           {"full,filled", "got full twice"}}) {
    const std::string word = text;
    CAPTURE(word);
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_protocols(text)), doctest::Contains(message),
                         Error);
  }
}

TEST_CASE("the crop of Eigen et al. at NYU's size, and in proportion at others") {
  const DepthWindow nyu = window_of(DepthCrop::eigen, 480, 640);
  CHECK(nyu.top == 45);
  CHECK(nyu.bottom == 471);
  CHECK(nyu.left == 41);
  CHECK(nyu.right == 601);
  const DepthWindow tenth = window_of(DepthCrop::eigen, 48, 64);  // centres in [4.5, 47.1), ...
  CHECK(tenth.top == 4);
  CHECK(tenth.bottom == 47);
  CHECK(tenth.left == 4);
  CHECK(tenth.right == 60);
  const DepthWindow all = window_of(DepthCrop::none, 48, 64);
  CHECK(all.bottom - all.top == 48);
  CHECK(all.right - all.left == 64);
}

TEST_CASE("a description names everything that makes numbers differ") {
  const std::string text = description(parse_protocol("eigen+raw+median+most=8"));
  for (const char* part : {"crop of Eigen et al.", "raw", "0.001 to 8 m", "median", "clipped"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a protocol without an upper limit counts every known depth") {
  const DepthProtocol far = parse_protocol("eigen+most=none");
  CHECK(far.counts(500));
  CHECK(!far.counts(0));
  CHECK(to_text(far) == "eigen+most=none");
  CHECK(parse_protocol(to_text(far)) == far);
  CHECK(description(far).find("from 0.001 m on;") != std::string::npos);
  CHECK(parse_protocol("eigen", far.most) == far);
  CHECK(to_text(far, far.most) == "eigen");
  CHECK(to_text(parse_protocol("eigen"), far.most) == "eigen+most=10");
  CHECK(parse_protocol("eigen+most=80", far.most).most == 80);
  CHECK(parse_protocols("full,eigen", far.most)[1] == far);
}

}  // namespace fovea
