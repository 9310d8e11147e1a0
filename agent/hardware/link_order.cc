#include "agent/hardware/link_order.h"

#include <algorithm>
#include <climits>

namespace muster::agent {
namespace {

using Distances = std::vector<std::vector<int>>;

std::vector<size_t> VisitFrom(size_t first, const Distances& distances, size_t count) {
  std::vector<bool> visited(distances.size(), false);
  std::vector<size_t> order;
  for (size_t next = first; order.size() < count;) {
    order.push_back(next);
    visited[next] = true;
    int nearest = INT_MAX;
    for (size_t i = 0; i < distances.size(); ++i) {
      const int distance = distances[order.back()][i];
      if (visited[i] || distance >= nearest) continue;
      nearest = distance;
      next = i;
    }
  }
  return order;
}

int RingLength(const std::vector<size_t>& order, const Distances& distances) {
  int length = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    length += distances[order[i]][order[(i + 1) % order.size()]];
  }
  return length;
}

}  // namespace

std::vector<size_t> OrderByLinks(const Distances& distances, size_t count) {
  count = std::min(count, distances.size());
  std::vector<size_t> best;
  int shortest = INT_MAX;
  for (size_t first = 0; first < distances.size() && count > 0; ++first) {
    std::vector<size_t> order = VisitFrom(first, distances, count);
    const int length = RingLength(order, distances);
    if (length >= shortest) continue;
    shortest = length;
    best = std::move(order);
  }
  return best;
}

}  // namespace muster::agent
