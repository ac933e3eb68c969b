// The commands of bench/peer.py.
#include "bench/peer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/photographs.h"
#include "bench/spec_json.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/parallel.h"

namespace fovea::bench {
namespace {

using nlohmann::json;

constexpr std::int64_t kSide = 1024;  ///< of the products

std::string lack_of(const json& answer) { return answer.value("lacks", ""); }

}  // namespace

Peer::Peer(std::string kind, Device device, Options options)
    : kind_(std::move(kind)), device_(device), options_(options) {
  process_.emplace(kind_);
  const json info = process_->ask({{"cmd", "info"}, {"device", to_string(device_)}});
  missing_ = lack_of(info);
  name_ = info.value("name", kind_);
  about_ = info.value("about", "");
  libraries_ = info.value("libraries", json::object());
  unlimited_ = info.value("unlimited", json::array());
}

std::string Peer::about() const {
  if (!missing_.empty()) return name_ + ": " + visible_text(missing_);
  return about_.empty() ? name_ : name_ + ", " + about_;
}

bool Peer::is_for(const WorkloadSpec& spec) const {
  if (kind_ == "eager") return spec.mode != "load" || !photographs().empty();
  if (kind_ == "compile" || kind_ == "autotune") return spec.mode != "load";
  return spec.mode == "infer" || spec.mode == "decode";
}

std::string Peer::set_up(const WorkloadSpec& spec, std::int64_t parameters) {
  if (!missing_.empty()) return missing_;
  if (!options_.one_process) process_.emplace(kind_);
  const json answer = process_->ask(with_setup(spec));
  if (answer.contains("lacks")) return lack_of(answer);
  const auto theirs = answer["parameters"].get<std::int64_t>();
  if (theirs == parameters) return lack_of(process_->ask({{"cmd", "warm"}}));
  const std::string differ = "its " + spec.id + " has " + std::to_string(theirs) +
                             " parameters, ours " + std::to_string(parameters) +
                             ": not the same model";
  check(!spec.config.empty(), "peer: ", differ, "; correct bench/peer.py or bench/peer_models/");
  return differ;
}

double Peer::seconds() { return process_->ask({{"cmd", "rep"}})["seconds"]; }

std::optional<double> Peer::peak_mb(const WorkloadSpec& spec) const {
  PeerProcess fresh(kind_);
  (void)fresh.ask(with_setup(spec));
  const json answer = fresh.ask({{"cmd", "peak"}})["peak_mb"];
  return answer.is_number() ? std::optional(answer.get<double>()) : std::nullopt;
}

const ProductRates& Peer::products(const std::string& precision) {
  if (const auto known = products_.find(precision); known != products_.end()) return known->second;
  return products_[precision] = measure_products(precision);
}

std::string Peer::objection(const std::string& precision) {
  const ProductRates& rates = products(precision);
  const std::string library = libraries_.value(precision, "its library");
  if (rates.is_slow()) {
    return concat(library, " multiplies ", precision, " at ", std::lround(rates.theirs), " of our ",
                  std::lround(rates.ours), " GFLOP/s");
  }
  const bool is_limited =
      std::find(unlimited_.begin(), unlimited_.end(), precision) == unlimited_.end();
  return is_limited ? "" : concat(library, " cannot be limited to ", peer_limit());
}

/// More turns are taken if the peer is slower, which may be chance on a busy machine.
ProductRates Peer::measure_products(const std::string& precision) {
  ProductRates best;
  if (!missing_.empty()) return best;
  const json command{{"cmd", "gemm"},           {"n", kSide},
                     {"precision", precision},  {"threads", num_threads()},
                     {"limited", peer_limit()}, {"device", to_string(device_)}};
  const auto dtype = parse_name<DType>("precision", precision);
  for (int turn = 0; turn < 3 || (turn < 20 && best.is_slow()); ++turn) {
    const json answer = process_->ask(command);
    if (answer.contains("lacks")) return {};
    best.theirs = std::max(best.theirs, answer["gflops"].get<double>());
    best.ours = std::max(best.ours, measure_gemm_gflops(kSide, {dtype, device_}));
  }
  return best;
}

json Peer::with_setup(const WorkloadSpec& spec) const {
  json command = json_of(spec);
  command["cmd"] = "setup";
  command["threads"] = num_threads();
  command["processes"] = options_.processes;
  command["limited"] = peer_limit();
  if (spec.mode == "load") command["folder"] = (photographs() / "jpeg").string();
  return command;
}

}  // namespace fovea::bench
