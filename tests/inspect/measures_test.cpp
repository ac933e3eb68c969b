// The numbers behind the pictures: check values of the official code, and formulas against loops
// that follow them to the letter.
#include "report/inspect/measures.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/random.h"
#include "models/registry.h"
#include "report/inspect/position_maps.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using doctest::Approx;

namespace {

TokenLayout square_layout(std::int64_t side, std::int64_t heads = 1) {
  TokenLayout layout;
  layout.blocks = 1;
  layout.heads = heads;
  layout.grid_height = layout.grid_width = side;
  return layout;
}

SquareMap ones_of(std::int64_t size) {
  return {size, std::vector<float>(static_cast<std::size_t>(size * size), 1.0F)};
}

SquareMap random_rows(std::int64_t size, bool normalised) {
  const Tensor values = rand_uniform({size, size}, {0.01, 1}, {11});
  SquareMap map{size, {}};
  for (std::int64_t q = 0; q < size; ++q) {
    double sum = 0;
    for (std::int64_t k = 0; k < size; ++k) sum += values.at(q * size + k);
    for (std::int64_t k = 0; k < size; ++k) {
      map.values.push_back(static_cast<float>(values.at(q * size + k) / (normalised ? sum : 1.0)));
    }
  }
  return map;
}

float at(const SquareMap& map, std::int64_t q, std::int64_t k) {
  return map.row(q)[static_cast<std::size_t>(k)];
}

/// A block of 2 images, 2 heads of width 3, one class token and a grid of 2 x 3.
struct Synthetic {
  TokenLayout layout;
  Tensor qkv = rand_normal({2, 7, 18}, {0, 1}, {5});
  Tensor bias = rand_normal({2, 2, 7, 7}, {0, 1}, {6});

  Synthetic() {
    layout.blocks = 1;
    layout.heads = 2;
    layout.prefix = 1;
    layout.grid_height = 2;
    layout.grid_width = 3;
  }
  [[nodiscard]] BlockAttention block() const { return {0, {qkv, bias, {}}, layout}; }
  /// q_i k_j / sqrt(3).
  [[nodiscard]] double content(std::int64_t image, std::int64_t head, std::int64_t i,
                               std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < 3; ++d) {
      sum += qkv.at((image * 7 + i) * 18 + head * 3 + d) *
             qkv.at((image * 7 + j) * 18 + 6 + head * 3 + d);
    }
    return sum / std::sqrt(3.0);
  }
  [[nodiscard]] double term(std::int64_t image, std::int64_t head, std::int64_t i,
                            std::int64_t j) const {
    return bias.at(((image * 2 + head) * 7 + i) * 7 + j);
  }
};

}  // namespace

TEST_CASE("radii of the peripheral regions on 14 x 14") {
  const auto radii = region_radii({14, 14, 0});
  const std::array<double, 4> expected = {1.190767, 3.367997, 5.833543, 7.898654};
  for (std::size_t i = 0; i < kRegions; ++i) CHECK(std::abs(radii[i] - expected[i]) < 1e-6);
  CHECK(ring_of(radii, 0) == 0);
  CHECK(ring_of(radii, 1) == 0);
  CHECK(ring_of(radii, std::sqrt(2.0)) == 1);
  CHECK(ring_of(radii, 7.8) == 3);
  CHECK(ring_of(radii, 7.9) == kRegions);
}

TEST_CASE("mean normalised distance on 14 x 14") {
  const NormalizedDistance distance({14, 14, 0});
  CHECK(std::abs(distance.mean() - 1.120117568) < 1e-9);
  CHECK(nonlocality(ones_of(196), distance) == Approx(distance.mean()));
  CHECK(NormalizedDistance({1, 1, 0}).mean() == 0);
}

TEST_CASE("uniform attention: distance and offset over the side") {
  struct Row {
    std::int64_t side;
    double distance, offset;
  };
  for (const Row& row :
       {Row{4, 0.502004, 0.374419}, Row{14, 0.520055, 0.381873}, Row{28, 0.521079, 0.382414}}) {
    TokenLayout layout = square_layout(row.side);
    const auto side = static_cast<double>(row.side);
    const Locality cells = uniform_locality({row.side, row.side, 0}, layout);
    CHECK(std::abs(cells.distance / side - row.distance) < 1e-6);
    CHECK(std::abs(cells.offset / side - row.offset) < 1e-6);
    layout.cell_height = layout.cell_width = 16;  // a share of the side does not depend on pixels
    const Locality pixels = uniform_locality({row.side, row.side, 0}, layout);
    CHECK(pixels.distance / layout.image_side() == Approx(row.distance).epsilon(1e-5));
  }
}

TEST_CASE("distance, offset and what is near follow their formulas on a grid that is not square") {
  const PatchGrid grid{3, 5, 0};
  TokenLayout layout = square_layout(0);
  layout.grid_height = 3;
  layout.grid_width = 5;
  layout.cell_height = 2;
  layout.cell_width = 4;
  const SquareMap weights = random_rows(15, true);
  double distance = 0, offset = 0, near = 0;
  for (int q = 0; q < 15; ++q) {
    double y = 0, x = 0;
    for (int k = 0; k < 15; ++k) {
      const double dy = 2.0 * (q / 5 - k / 5), dx = 4.0 * (q % 5 - k % 5);
      distance += at(weights, q, k) * std::sqrt(dy * dy + dx * dx) / 15;
      y += at(weights, q, k) * 2.0 * (k / 5);
      x += at(weights, q, k) * 4.0 * (k % 5);
    }
    offset += std::hypot(y - 2.0 * (q / 5), x - 4.0 * (q % 5)) / 15;
    for (int k = 0; k < 15; ++k) {
      const int dy = q / 5 - k / 5, dx = q % 5 - k % 5;
      if (dy * dy + dx * dx <= 1) near += at(weights, q, k) / 15;
    }
  }
  const Locality got = locality_of(weights, grid, layout);
  CHECK(got.distance == Approx(distance).epsilon(1e-6));
  CHECK(got.offset == Approx(offset).epsilon(1e-5));
  CHECK(got.near == Approx(near).epsilon(1e-6));
  CHECK(layout.image_side() == Approx(std::sqrt(6.0 * 20.0)));
  CHECK(contains(message_of([&] { (void)locality_of(ones_of(14), grid, layout); }),
                 "got a map of 14 patches for a grid of 3 x 5"));
}

TEST_CASE("regions: sums follow eq. 11, means divide by the ring's pairs") {
  const PatchGrid grid{14, 14, 0};
  const RegionShares sums = region_shares(ones_of(196), grid, false);
  CHECK(std::abs(sums.value[0] - 924.0 / 38416) < 1e-12);  // each patch and its neighbours: 2.4 %
  CHECK(sums.region() != Region::central);
  const RegionShares means = region_shares(ones_of(196), grid, true);
  for (const double mean : means.value) CHECK(mean == Approx(1));

  const SquareMap phi = random_rows(196, false);
  std::array<double, 4> expected{};
  const auto radii = region_radii(grid);
  for (int q = 0; q < 196; ++q) {
    for (int k = 0; k < 196; ++k) {
      const double d = std::hypot(q / 14 - k / 14, q % 14 - k % 14);
      for (std::size_t i = 0; i < 4; ++i) {
        const bool inside = d < radii[i] && (i == 0 || d >= radii[i - 1]);
        expected[i] += inside ? at(phi, q, k) / 38416 : 0;
      }
    }
  }
  const RegionShares got = region_shares(phi, grid, false);
  for (std::size_t i = 0; i < 4; ++i) CHECK(got.value[i] == Approx(expected[i]));
}

TEST_CASE("maps of a block: content, bias, softmax with and without the class token") {
  const Synthetic given;
  const BlockAttention block = given.block();
  CHECK(block.images() == 2);
  CHECK(block.tokens() == 7);
  CHECK(block.grid().height == 2);
  const BlockAttention::HeadIndex place{1, 1};
  const SquareMap weights = block.weights(place), patches = block.patch_weights(place);
  for (int q = 0; q < 7; ++q) {
    double all = 0, patch_sum = 0;
    const auto e = [&](int k) {
      return std::exp(given.content(1, 1, q, k) + given.term(1, 1, q, k));
    };
    for (int k = 0; k < 7; ++k) {
      all += e(k);
      patch_sum += k > 0 ? e(k) : 0;
    }
    for (int k = 0; k < 7; ++k) {
      CHECK(at(weights, q, k) == Approx(e(k) / all).epsilon(1e-5));
      if (q > 0 && k > 0)
        CHECK(at(patches, q - 1, k - 1) == Approx(e(k) / patch_sum).epsilon(1e-5));
    }
  }
  CHECK(at(block.gate(place), 2, 4) == Approx(std::exp(given.term(1, 1, 3, 5))).epsilon(1e-5));
}

TEST_CASE("a bias or a gate that all images and heads share, and attention without content") {
  const Synthetic given;
  const Tensor shared = rand_normal({7, 7}, {0, 1}, {9});
  const BlockAttention block(3, {given.qkv, shared, {}}, given.layout);
  CHECK(at(block.position({1, 1}), 2, 5) == Approx(shared.at(2 * 7 + 5)));

  const Tensor phi = rand_uniform({2, 6, 6}, {0.1, 0.9}, {10});
  const BlockAttention gated(3, {given.qkv, {}, phi}, given.layout);
  CHECK(at(gated.gate({0, 1}), 2, 5) == Approx(phi.at((6 + 2) * 6 + 5)));
  CHECK(at(gated.position({0, 1}), 3, 6) == Approx(std::log(phi.at((6 + 2) * 6 + 5))));
  CHECK(at(gated.position({0, 1}), 0, 6) == 0);

  TokenLayout layout = given.layout;
  layout.prefix = 0;
  const BlockAttention blind(0, {{}, {}, phi}, layout);
  CHECK_FALSE(blind.has_content());
  double sum = 0;
  for (int k = 0; k < 6; ++k) sum += phi.at(3 * 6 + k);
  CHECK(at(blind.weights({0, 0}), 3, 2) == Approx(phi.at(3 * 6 + 2) / sum));
  CHECK(contains(message_of([&] { BlockAttention(0, {}, layout); }),
                 "block 0 recorded no attention"));
}

TEST_CASE("nonlocality and impact: a gate multiplies, a bias joins the shifted exponential") {
  const Synthetic given;
  const PatchGrid grid{2, 3, 0};
  const NormalizedDistance distance(grid);
  const Tensor phi = rand_uniform({2, 6, 6}, {0.1, 0.9}, {10});
  for (const bool gated : {true, false}) {
    CAPTURE(gated);
    BlockAttention::Shown shown{given.qkv, given.bias, {}};
    if (gated) shown = {given.qkv, {}, phi};
    double c_sum = 0, p_sum = 0, a_sum = 0, ac = 0, ap = 0;
    for (int q = 0; q < 6; ++q) {
      const auto s = [&](int k) { return given.content(1, 0, q + 1, k + 1); };
      const auto b = [&](int k) {
        return gated ? std::log(phi.at(q * 6 + k)) : given.term(1, 0, q + 1, k + 1);
      };
      double most = s(0), most_sum = s(0) + b(0);
      for (int k = 1; k < 6; ++k) {
        most = std::max(most, s(k));
        most_sum = std::max(most_sum, s(k) + b(k));
      }
      for (int k = 0; k < 6; ++k) {
        const double c = std::exp(s(k) - most), p = std::exp(b(k));
        const double a = gated ? c * p : std::exp(s(k) + b(k) - most_sum);
        const double r = std::hypot((q / 3 - k / 3) * 2.0, (q % 3 - k % 3) * 1.0);
        c_sum += c * r / 36;
        p_sum += p * r / 36;
        a_sum += a * r / 36;
        ac += (a - c) * (a - c);
        ap += (a - p) * (a - p);
      }
    }
    const BlockAttention block(0, shown, given.layout);
    const Mixture got = mixture_of(block, {1, 0}, distance);
    CHECK(got.omega_c == Approx(c_sum).epsilon(1e-5));
    CHECK(got.omega_p == Approx(p_sum).epsilon(1e-5));
    CHECK(got.omega_a == Approx(a_sum).epsilon(1e-5));
    CHECK(got.psi_c == Approx(1 / std::sqrt(ac)).epsilon(1e-5));
    CHECK(got.psi_p == Approx(1 / std::sqrt(ap)).epsilon(1e-5));
  }
}

TEST_CASE("PerViT before training: position attention as in the official code") {
  struct Row {
    std::int64_t block;
    double at_query, at_corner, mean, omega;
    Region region;
  };
  const std::vector<Row> rows = {
      {0, 0.949159, 0.000446, 0.110009, 0.039785, Region::para_central},
      {1, 0.953772, 0.001291, 0.130511, 0.051766, Region::para_central},
      {4, 0.965334, 0.030521, 0.247415, 0.146606, Region::para_central},
      {5, 0.968528, 0.083618, 0.329921, 0.234894, Region::mid_peripheral},
      {8, 0.976490, 0.689630, 0.795929, 0.845721, Region::mid_peripheral},
      {11, 0.982475, 0.981853, 0.982013, 1.099890, Region::mid_peripheral}};
  const auto model = make_model("pervit_tiny_224", {{"emb_dims", {8, 8, 8, 8}},
                                                    {"conv_stem", false},
                                                    {"patch_size", 2},
                                                    {"img_size", {28, 28}},
                                                    {"num_classes", 3}});
  const Tensor image = zeros({1, 3, 28, 28});
  std::size_t checked = 0;
  visit_blocks(*model, image, [&](const BlockAttention& block) {
    for (const Row& row : rows) {
      if (row.block != block.block()) continue;
      CAPTURE(row.block);
      ++checked;
      const SquareMap phi = block.gate({0, 2});
      const std::int64_t q = block.grid().center();
      double mean = 0;
      for (const float value : phi.values) mean += value / 38416.0;
      CHECK(std::abs(at(phi, q, q) - row.at_query) < 2e-6);
      CHECK(std::abs(at(phi, q, 0) - row.at_corner) < 2e-6);
      CHECK(std::abs(mean - row.mean) < 2e-6);
      CHECK(std::abs(nonlocality(phi, NormalizedDistance(block.grid())) - row.omega) < 2e-6);
      CHECK(region_shares(phi, block.grid(), false).region() == row.region);
      CHECK(region_shares(phi, block.grid(), true).region() == Region::central);
    }
  });
  CHECK(checked == rows.size());
}

TEST_CASE("what a configuration says about tokens") {
  const auto layout_of = [](const std::string& name, const nlohmann::json& overrides) {
    return token_layout(*make_model(name, overrides));
  };
  const TokenLayout vit = layout_of("vit_tiny_patch4_32", {{"depth", 2}});
  CHECK(vit.blocks == 2);
  CHECK(vit.heads == 3);
  CHECK(vit.prefix == 1);
  CHECK(vit.grid_of(65).size() == 64);
  CHECK(vit.cell_height == 4);
  CHECK(layout_of("deit_tiny_distilled_patch16_224", {{"depth", 1}}).prefix == 2);
  const TokenLayout pervit = layout_of("pervit_tiny_224", nullptr);
  CHECK(pervit.blocks == 12);
  CHECK(pervit.prefix == 0);
  CHECK(pervit.grid_height == 14);
  const PatchGrid smaller = vit.grid_of(1 + 36);  // a convolution without padding
  CHECK(smaller.height == 6);
  CHECK(smaller.inset == 1);
  CHECK(contains(message_of([&] { (void)vit.grid_of(1 + 35); }), "got 36 tokens, expected 1 and"));
}
