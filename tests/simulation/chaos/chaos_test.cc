// Lets random faults strike random jobs on random clusters, one seed after the other, and checks
// that all comes to rest as it should once the faults are over. MUSTER_SEED=N replays one seed.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "tests/simulation/chaos/chaos_checks.h"
#include "tests/simulation/chaos/chaos_world.h"
#include "tests/simulation/chaos/faults.h"

namespace muster::control {
namespace {

constexpr int kShards = 4;
// Each kind is drawn about three times in ten seeds, and does not always find something to strike.
constexpr int kSeedsPerStrike = 20;

using Counts = std::map<std::string, int>;

void RunSeed(uint64_t seed, Counts& struck) {
  ChaosWorld chaos(seed);
  ChaosChecks checks(chaos);
  const std::vector<FaultKind> faults = AllFaults();
  for (int second = chaos.Number(3, 12); second > 0; --second) {
    checks.Look();
    chaos.Run(absl::Seconds(1));
  }
  for (int i = chaos.Number(8, 20); i > 0 && checks.wrong().empty(); --i) {
    const FaultKind& fault = faults[chaos.Number(0, static_cast<int>(faults.size()) - 1)];
    chaos.Note(fault.name);
    struck[fault.name] += fault.strike(chaos);
    for (int second = chaos.Number(1, 8); second > 0; --second) {
      chaos.Run(absl::Seconds(1));
      checks.Look();
    }
  }
  if (checks.wrong().empty()) {
    chaos.Calm();
    checks.CheckEnd();
  }
  EXPECT_EQ(absl::StrJoin(checks.wrong(), "\n"), "") << "MUSTER_SEED=" << seed << " replays this:\n"
                                                     << chaos.Log();
}

class ChaosTest : public testing::TestWithParam<int> {};

TEST_P(ChaosTest, EverythingComesToRestAsItShould) {
  const char* one = std::getenv("MUSTER_SEED");
  Counts struck;
  if (one != nullptr) {
    const uint64_t seed = std::strtoull(one, nullptr, 10);
    if (static_cast<int>(seed % kShards) == GetParam()) RunSeed(seed, struck);
    return;
  }
  const int seeds = TestIterations({.sanitized = 24, .usual = 200, .full = 4000});
  int ran = 0;
  for (int seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    if (seed % kShards != GetParam()) continue;
    RunSeed(seed, struck);
    ++ran;
  }
  std::string table;
  for (const FaultKind& fault : AllFaults()) {
    absl::StrAppend(&table, "  ", struck[fault.name], " ", fault.name, "\n");
    if (!HasFailure()) EXPECT_GE(struck[fault.name], ran / kSeedsPerStrike) << fault.name;
  }
  std::printf("%d seeds, struck:\n%s", ran, table.c_str());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChaosTest, testing::Range(0, kShards));

}  // namespace
}  // namespace muster::control
