#include "trainer/data/data_digest.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace muster::trainer {
namespace {

// Data sets up to this size are compared as a whole, which takes a fraction of a second.
constexpr uint64_t kWholeTokens = uint64_t{16} << 20;
constexpr uint64_t kPlaces = 256;
constexpr uint64_t kEach = 1024;  // tokens

void HashRun(const Tokens& tokens, uint64_t begin, std::vector<int64_t>& run, Hasher64& hasher) {
  tokens.Copy(begin, run);
  hasher.Update({reinterpret_cast<const char*>(run.data()), run.size() * sizeof(int64_t)});
}

void HashWhole(const Tokens& tokens, Hasher64& hasher) {
  std::vector<int64_t> run;
  for (uint64_t at = 0; at < tokens.size(); at += run.size()) {
    run.resize(std::min(uint64_t{1} << 16, tokens.size() - at));
    HashRun(tokens, at, run, hasher);
  }
}

// The two ends are always looked at: files that were cut or appended to differ there.
void HashPlaces(const Tokens& tokens, uint64_t seed, Hasher64& hasher) {
  std::vector<int64_t> run(kEach);
  const uint64_t last = tokens.size() - kEach;
  HashRun(tokens, 0, run, hasher);
  HashRun(tokens, last, run, hasher);
  for (uint64_t place = 0; place < kPlaces; ++place) {
    const uint64_t drawn = Hash64({reinterpret_cast<const char*>(&place), sizeof place}, seed);
    HashRun(tokens, drawn % (last + 1), run, hasher);
  }
}

void Hash(const Tokens& tokens, uint64_t seed, Hasher64& hasher) {
  const uint64_t size = tokens.size();
  hasher.Update({reinterpret_cast<const char*>(&size), sizeof size});
  if (size <= kWholeTokens) {
    HashWhole(tokens, hasher);
  } else {
    HashPlaces(tokens, seed, hasher);
  }
}

}  // namespace

std::optional<DataDigester::Stamp> DataDigester::ReadStamp() const {
  if (file_.empty()) return Stamp{};
  struct stat info;
  if (stat(file_.c_str(), &info) != 0) return std::nullopt;
  return Stamp{info.st_size, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

uint64_t DataDigester::remembered() const {
  return seed_ != 0 && stamp_ && stamp_ == ReadStamp() ? seed_ : 0;
}

DataDigest DataDigester::Digest(uint64_t seed) {
  if (remembered() == seed) return digest_;
  // A change while the tokens are read shows as one afterwards.
  stamp_ = ReadStamp();
  Hasher64 hasher;
  Hash(training_, seed, hasher);
  Hash(validation_, seed, hasher);
  digest_ = {.tokens = training_.size() + validation_.size(),
             .sources = sources_,
             .contents = hasher.value()};
  seed_ = seed;
  return digest_;
}

}  // namespace muster::trainer
