#ifndef MUSTER_TESTS_SIMULATION_COMMIT_WORLD_WORDS_H_
#define MUSTER_TESTS_SIMULATION_COMMIT_WORLD_WORDS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster {

// Helpers shared by commit_world.cc and commit_world_step.cc (the actions) and
// commit_world_promises.cc (the invariants).

inline uint32_t Mask(const std::vector<int>& members) {
  uint32_t mask = 0;
  for (const int member : members) mask |= 1u << member;
  return mask;
}

template <typename History>
std::string Text(const History& history) {
  std::string text;
  for (const auto& [step, round] : history) absl::StrAppend(&text, step, "/", round, " ");
  return text;
}

template <typename History>
bool IsPrefix(const History& prefix, const History& of) {
  return prefix.size() <= of.size() && std::equal(prefix.begin(), prefix.end(), of.begin());
}

}  // namespace muster

#endif  // MUSTER_TESTS_SIMULATION_COMMIT_WORLD_WORDS_H_
