// Counts the memory requests of a warp as the hardware serves them.
#include "tests/cuda/emulator/counters.h"

#include <algorithm>

namespace fovea::emulate {
namespace {

/// Sorts the values and drops repeats.
const std::vector<std::uintptr_t>& distinct(std::vector<std::uintptr_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const auto member :
       {&Counters::launches, &Counters::global_requests, &Counters::global_bytes,
        &Counters::vector_bytes, &Counters::sectors, &Counters::block_sectors,
        &Counters::shared_requests, &Counters::wavefronts, &Counters::extra_wavefronts,
        &Counters::mma, &Counters::distinct_sectors, &Counters::mma_tf32,
        &Counters::exponentials}) {
    this->*member += other.*member;
  }
  return *this;
}

bool SectorSet::insert(std::uintptr_t sector) {
  auto bit = pages_[sector / kPage][sector % kPage];
  const bool is_new = !bit;
  bit = true;
  return is_new;
}

void AccessCounter::start_launch() {
  counters_ = {.launches = 1};
  places_.clear();
  used_.clear();
  read_.clear();
  written_.clear();
}

void AccessCounter::add_mma(bool is_tf32) {
  ++counters_.mma;
  counters_.mma_tf32 += is_tf32 ? 1 : 0;
}

void AccessCounter::add(unsigned lane, const void* place, const void* address, std::size_t bytes,
                        Target target) {
  Place& at = places_[place];
  const std::size_t turn = at.turns[lane]++;
  if (at.requests.empty()) used_.push_back(&at);
  if (turn == at.requests.size()) at.requests.push_back({bytes, target, 0, {}});
  Request& request = at.requests[turn];
  request.lanes |= 1u << lane;
  request.addresses[lane] = reinterpret_cast<std::uintptr_t>(address);
}

void AccessCounter::finish_warp() {
  for (Place* const place : used_) {
    for (const Request& request : place->requests) {
      if (request.target == Target::shared) {
        count_shared(request);
      } else {
        count_global(request);
      }
    }
    place->requests.clear();
    place->turns = {};
  }
  used_.clear();
}

void AccessCounter::count_global(const Request& request) {
  constexpr std::uintptr_t kSector = 32;
  sectors_.clear();
  addresses_.clear();
  Order::for_lanes(request.lanes, [&](unsigned lane) {
    const std::uintptr_t address = request.addresses[lane];
    for (std::size_t at = 0; at < request.bytes; at += kSector / 2) {
      sectors_.push_back((address + at) / kSector);
    }
    sectors_.push_back((address + request.bytes - 1) / kSector);
    addresses_.push_back(address);
  });
  const std::size_t bytes = request.bytes * distinct(addresses_).size();
  ++counters_.global_requests;
  counters_.global_bytes += bytes;
  counters_.vector_bytes += request.bytes == 16 ? bytes : 0;
  SectorSet& touched = request.target == Target::read ? read_ : written_;
  for (const std::uintptr_t sector : distinct(sectors_)) {
    ++counters_.sectors;
    counters_.distinct_sectors += touched.insert(sector) ? 1 : 0;
    counters_.block_sectors += block_[request.target == Target::written].insert(sector) ? 1 : 0;
  }
}

/// Accesses of 8 bytes are served per half warp, of 16 bytes per quarter warp. In one cycle each
/// bank returns one word, shared by all lanes that request it.
void AccessCounter::count_shared(const Request& request) {
  constexpr std::uintptr_t kBanks = 32, kWord = 4;
  const std::size_t words = std::max<std::size_t>(1, request.bytes / kWord);
  const auto lanes_a_turn = static_cast<unsigned>(std::max<std::size_t>(1, kWarpSize / words));
  ++counters_.shared_requests;
  for (unsigned first = 0; first < kWarpSize; first += lanes_a_turn) {
    words_.clear();
    for (unsigned lane = first; lane < std::min(first + lanes_a_turn, kWarpSize); ++lane) {
      if ((request.lanes >> lane & 1u) == 0) continue;
      for (std::size_t w = 0; w < words; ++w) words_.push_back(request.addresses[lane] / kWord + w);
    }
    std::array<unsigned, kBanks> words_of{};
    std::uint64_t turns = 0;
    for (const std::uintptr_t word : distinct(words_)) {
      turns = std::max<std::uint64_t>(turns, ++words_of[word % kBanks]);
    }
    counters_.wavefronts += turns;
    counters_.extra_wavefronts += turns > 1 ? turns - 1 : 0;
  }
}

}  // namespace fovea::emulate
