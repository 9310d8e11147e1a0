#include "tests/parity/matrix/pairwise.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace muster::trainer {
namespace {

using Pair = std::tuple<size_t, int, size_t, int>;  // axis, value, later axis, value

std::set<Pair> PairsOf(const Combination& combination) {
  std::set<Pair> pairs;
  for (size_t a = 0; a < combination.size(); ++a) {
    for (size_t b = a + 1; b < combination.size(); ++b) {
      pairs.emplace(a, combination[a], b, combination[b]);
    }
  }
  return pairs;
}

}  // namespace

std::vector<Combination> Product(const std::vector<int>& sizes,
                                 const std::function<bool(const Combination&)>& allows) {
  std::vector<Combination> product = {{}};
  for (const int size : sizes) {
    std::vector<Combination> longer;
    for (const Combination& prefix : product) {
      for (int value = 0; value < size; ++value) {
        longer.push_back(prefix);
        longer.back().push_back(value);
      }
    }
    product = longer;
  }
  std::erase_if(product, [&](const Combination& combination) { return !allows(combination); });
  return product;
}

std::vector<Combination> PairwiseCover(const std::vector<Combination>& product) {
  std::set<Pair> missing;
  for (const Combination& combination : product) missing.merge(PairsOf(combination));
  std::vector<Combination> cover;
  while (!missing.empty()) {
    const Combination* best = nullptr;
    size_t most = 0;
    for (const Combination& combination : product) {
      size_t adds = 0;
      for (const Pair& pair : PairsOf(combination)) adds += missing.count(pair);
      if (adds <= most) continue;
      most = adds;
      best = &combination;
    }
    for (const Pair& pair : PairsOf(*best)) missing.erase(pair);
    cover.push_back(*best);
  }
  return cover;
}

}  // namespace muster::trainer
