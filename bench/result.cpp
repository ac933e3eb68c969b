// The columns of the table and the members of the objects.
#include "bench/result.h"

#include <cstdio>

#include "bench/spec_json.h"
#include "engine/base/text.h"
#include "engine/cpu_isa.h"
#include "engine/parallel.h"

namespace fovea::bench {
namespace {

using nlohmann::json;
using Number = std::optional<double>;

/// part / whole, if both were measured.
Number share(double part, double whole) {
  return part > 0 && whole > 0 ? Number(part / whole) : std::nullopt;
}

Number positive(double value) { return value > 0 ? Number(value) : std::nullopt; }

/// A cell of that width, right-aligned.
std::string cell(std::size_t width, const Number& value, int digits) {
  const std::string text = value ? fixed_text(*value, digits) : "-";
  return std::string(width > text.size() ? width - text.size() : 1, ' ') + text;
}

json json_number(const Number& value) { return value ? json(*value) : json(); }

/// The columns that name a line, 40 wide.
std::string named(const std::string& workload, const std::string& mode,
                  const std::string& precision, const std::string& batch) {
  char text[128];
  std::snprintf(text, sizeof text, "%-22s %-6s %-4s %5s", workload.c_str(), mode.c_str(),
                precision.c_str(), batch.c_str());
  return text;
}

std::string line_of(const PeerResult& peer) {
  char name[64];
  std::snprintf(name, sizeof name, "  %-38s", peer.name.c_str());
  std::string line = name + cell(11, peer.img_s, 1) + cell(7, peer.ratio, 2);
  line += std::string(25, ' ') + cell(9, peer.peak_mb, 0);
  if (!peer.note.empty()) line += "  " + visible_text(peer.note);
  return line + "\n";
}

/// A kernel's milliseconds and launches in a step.
std::string line_of(const cuda::KernelTime& kernel) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-38s %10.3f ms, %lld launches a step\n", kernel.name.c_str(),
                1e3 * kernel.seconds / Result::kTimedSteps,
                static_cast<long long>(kernel.launches / Result::kTimedSteps));
  return line;
}

json json_of(const std::vector<cuda::KernelTime>& kernels) {
  json all = json::array();
  for (const cuda::KernelTime& kernel : kernels) {
    all.push_back({{"name", kernel.name},
                   {"launches", kernel.launches / Result::kTimedSteps},
                   {"ms", 1e3 * kernel.seconds / Result::kTimedSteps}});
  }
  return all;
}

json object_of(const Result& r) {
  json object = json_of(r.spec);
  object["threads"] = num_threads();
  object["isa"] = std::string(to_string(cpu_isa()));
  object["ours_img_s"] = r.img_s;
  object["gflops"] = r.gflops;
  object["product_gflops"] = json_number(positive(r.product_gflops));
  object["mfu"] = json_number(share(r.gflops, r.product_gflops));
  object["ceiling_gflops"] = r.ceiling_gflops;
  object["ceiling_share"] = json_number(share(r.gflops, r.ceiling_gflops));
  object["peak_mb"] = json_number(positive(r.peak_mb));
  if (!r.kernels.empty()) object["kernels"] = json_of(r.kernels);
  return object;
}

/// Adds the fields of a peer, or nulls.
void add_peer(json& object, const PeerResult* peer, bool is_fastest) {
  const PeerResult& p = peer != nullptr ? *peer : PeerResult{};
  object["peer_name"] = peer != nullptr ? json(p.name) : json();
  object["peer_img_s"] = json_number(p.img_s);
  object["ratio"] = json_number(p.ratio);
  object["peer_is_fastest"] = peer != nullptr ? json(is_fastest) : json();
  object["peer_peak_mb"] = json_number(p.peak_mb);
  object["peer_gemm_gflops"] = json_number(positive(p.products.theirs));
  object["our_gemm_gflops"] = json_number(positive(p.products.ours));
  object["peer_note"] = p.note.empty() ? json() : json(p.note);
}

}  // namespace

const PeerResult* Result::fastest() const {
  const PeerResult* best = nullptr;
  for (const PeerResult& peer : peers) {
    if (peer.img_s && (best == nullptr || *peer.img_s > *best->img_s)) best = &peer;
  }
  return best;
}

std::string table_head() {
  return named("workload", "mode", "prec", "batch") +
         "      img/s  ratio   GFLOP/s    MFU   share  peak MB\n";
}

std::string table_lines(const Result& r) {
  const PeerResult* const fastest = r.fastest();
  std::string lines = named(r.spec.id, r.spec.mode, r.spec.precision, std::to_string(r.spec.batch));
  lines += cell(11, r.img_s, 1) + cell(7, fastest != nullptr ? fastest->ratio : Number(), 2);
  lines += cell(10, positive(r.gflops), 1) + cell(7, share(r.gflops, r.product_gflops), 2);
  lines += cell(8, share(r.gflops, r.ceiling_gflops), 2) + cell(9, positive(r.peak_mb), 0) + "\n";
  for (const PeerResult& peer : r.peers) lines += line_of(peer);
  for (const cuda::KernelTime& kernel : r.kernels) lines += line_of(kernel);
  return lines;
}

json json_of(const Result& r) {
  json objects = json::array();
  const PeerResult* const fastest = r.fastest();
  for (const PeerResult& peer : r.peers) {
    objects.push_back(object_of(r));
    add_peer(objects.back(), &peer, &peer == fastest);
  }
  if (!r.peers.empty()) return objects;
  objects.push_back(object_of(r));
  add_peer(objects.back(), nullptr, false);
  return objects;
}

}  // namespace fovea::bench
