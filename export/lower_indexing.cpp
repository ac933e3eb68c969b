// Lowerings of ops that read by position.
#include <algorithm>

#include "export/lowering.h"

namespace fovea::onnx {
namespace {

std::string gather(const Call& c) {
  return c.node("GatherElements", {c[0], c[1]}, {{"axis", c.integer("axis")}});
}

std::string argmax(const Call& c) {
  return c.node("ArgMax", {c[0]},
                {{"axis", c.integer("axis")}, {"keepdims", c.integer("keepdim")}});
}

std::string index_select(const Call& c) {
  return c.node("Gather", {c[0], c[1]}, {{"axis", c.integer("axis")}});
}

std::string embedding(const Call& c) {
  return c.node("Gather", {c[0], c[1]}, {{"axis", std::int64_t{0}}});
}

std::string topk(const Call& c) {
  const auto found = c.writer().nodes("TopK", {c[0], c.writer().integers({c.integer("k")})}, 2,
                                      {{"axis", c.integer("axis")}});
  c.name_output(1, found[1]);
  return found[0];
}

/// buckets [K, N, M]; a negative one means none.
struct Buckets {
  std::int64_t kinds, queries, keys;
  const std::int64_t* values;

  explicit Buckets(const Tensor& packed)
      : kinds(packed.size(0)),
        queries(packed.size(1)),
        keys(packed.size(2)),
        values(packed.data<std::int64_t>()) {}
};

/// [N, R, M]: how many of the buckets of query and key are r.
Tensor counts_of(const Buckets& b, std::int64_t vectors) {
  const Tensor counts = zeros({b.queries, vectors, b.keys});
  auto* const to = counts.data<float>();
  const std::int64_t* bucket = b.values;
  for (std::int64_t kind = 0; kind < b.kinds; ++kind) {
    for (std::int64_t query = 0; query < b.queries; ++query) {
      for (std::int64_t key = 0; key < b.keys; ++key, ++bucket) {
        if (*bucket >= 0) to[(query * vectors + *bucket) * b.keys + key] += 1;
      }
    }
  }
  return counts;
}

/// y[b, h, i, :] = x[b, h, i, :] table[i, :, :] for a constant table of each query. All blocks
/// share it.
std::string by_query(const Call& c, const Tensor& table) {
  const std::string rows = c.unsqueeze(c[0], 3);  // [B, H, N, 1, R]
  const std::string y = c.node("MatMul", {rows, c.writer().constant("relative_positions", table)});
  return c.node("Squeeze", {y, c.writer().integers({3})});
}

std::string relative_gather(const Call& c) {
  const Tensor packed = c.constant(1).contiguous();
  return by_query(c, counts_of(Buckets(packed), c.shape(0)[3]));
}

std::string relative_sum(const Call& c) {
  const Tensor packed = c.constant(1).contiguous();
  const Tensor counts = counts_of(Buckets(packed), c.integer("count"));
  const auto [n, r, m] = std::array{counts.size(0), counts.size(1), counts.size(2)};
  return by_query(c, counts.alias({n, m, r}, {r * m, 1, m}).contiguous());
}

}  // namespace

LoweringTable indexing_lowerings() {
  return {
      {"argmax", argmax},
      {"embedding", embedding},
      {"gather", gather},
      {"index_select", index_select},
      {"relative_gather", relative_gather},
      {"relative_sum", relative_sum},
      {"topk", topk},
  };
}

}  // namespace fovea::onnx
