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
  // How many pairs each combination adds at most: the number never grows.
  std::vector<size_t> bounds(product.size(), missing.size());
  while (!missing.empty()) {
    size_t best = 0, most = 0;
    for (size_t i = 0; i < product.size(); ++i) {
      if (bounds[i] <= most) continue;
      size_t adds = 0;
      for (const Pair& pair : PairsOf(product[i])) adds += missing.count(pair);
      bounds[i] = adds;
      if (adds <= most) continue;
      most = adds;
      best = i;
    }
    for (const Pair& pair : PairsOf(product[best])) missing.erase(pair);
    cover.push_back(product[best]);
  }
  return cover;
}

}  // namespace muster::trainer
