// placement_score prints a table of the mean placement score of gangs on fragmented clusters:
// muster's, the best possible, random places, and kube-scheduler's default profile. It needs
// MUSTER_FILTER_PEER.
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "tests/bench/contest/exact_packing.h"
#include "tests/bench/contest/placement_contest.h"
#include "tests/bench/contest/scheduler_peer.h"

namespace muster::control {
namespace {

constexpr int kSmall = 200;
constexpr int kLarge = 5;
constexpr int64_t kBudget = 2'000'000;

// Sums over contests.
struct Row {
  const char* name;
  double score = 0;
  int placed = 0;

  void Add(const Outcome& outcome) {
    score += outcome.score;
    placed += outcome.placed;
  }
};

struct Rows {
  Row ours{"muster, one after the other"};
  Row kube{"kube-scheduler 1.35, default profile"};
  Row random{"random"};
};

absl::Status AddAll(const Contest& contest, uint64_t seed, const std::string& peer,
                    const std::string& folder, Rows& rows) {
  MUSTER_ASSIGN_OR_RETURN(const Outcome ours, ScoreContest(contest, PlaceInTurn(contest)));
  rows.ours.Add(ours);
  MUSTER_ASSIGN_OR_RETURN(const Outcome random,
                          ScoreContest(contest, PlaceAtRandom(contest, seed)));
  rows.random.Add(random);
  MUSTER_ASSIGN_OR_RETURN(const Places theirs, PlaceAsKubeScheduler(contest, seed, peer, folder));
  MUSTER_ASSIGN_OR_RETURN(const Outcome kube, ScoreContest(contest, theirs));
  rows.kube.Add(kube);
  return absl::OkStatus();
}

void Print(const Row& row, double best, int contests, int gangs) {
  std::printf("  %-38s %8.4f %9.1f %%  %7.1f of %d\n", row.name, row.score / contests,
              100 * row.score / best, static_cast<double>(row.placed) / contests, gangs);
}

void PrintRows(const char* title, const char* best_name, double best, const Rows& rows,
               int contests, int gangs) {
  std::printf("%s\n  %-38s %8s %11s  %s\n", title, "", "score", "of best", "gangs placed");
  std::printf("  %-38s %8.4f %9.1f %%\n", best_name, best / contests, 100.0);
  for (const Row* row : {&rows.ours, &rows.kube, &rows.random}) Print(*row, best, contests, gangs);
}

absl::Status Run(const std::string& peer, const std::string& folder) {
  Rows small, large;
  double exact = 0, bound = 0;
  int solved = 0;
  for (uint64_t seed = 1; seed <= kSmall; ++seed) {
    const Contest contest = SmallContest(seed);
    const std::optional<Places> best = PlaceExactly(contest, kBudget);
    if (!best) continue;
    ++solved;
    MUSTER_ASSIGN_OR_RETURN(const Outcome outcome, ScoreContest(contest, *best));
    exact += outcome.score;
    MUSTER_RETURN_IF_ERROR(AddAll(contest, seed, peer, folder, small));
  }
  for (uint64_t seed = 1; seed <= kLarge; ++seed) {
    const Contest contest = LargeContest(seed);
    bound += ScoreBound(contest);
    MUSTER_RETURN_IF_ERROR(AddAll(contest, seed, peer, folder, large));
  }
  const std::string title = "8 gangs, 12 nodes, exact (" + std::to_string(solved) + " of " +
                            std::to_string(kSmall) + " clusters solved)";
  PrintRows(title.c_str(), "exact: all gangs known beforehand", exact, small, solved, 8);
  const std::string broken =
      "200 gangs, 1,024 nodes in pieces (" + std::to_string(kLarge) + " clusters)";
  PrintRows(broken.c_str(), "bound: each gang as if it were alone", bound, large, kLarge, 200);
  const bool within = small.ours.score >= 0.97 * exact;
  std::printf("reach: within 3 %% of exact: %s\n", within ? "yes" : "NO");
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::control

int main() {
  const char* peer = std::getenv("MUSTER_FILTER_PEER");
  if (peer == nullptr) {
    std::fprintf(stderr, "placement_score: run it with tests/differential/run_with_peer.py\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "placement-score-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const absl::Status status = muster::control::Run(peer, folder);
  std::filesystem::remove_all(folder);
  if (status.ok()) return 0;
  std::fprintf(stderr, "placement_score: %s\n", std::string(status.message()).c_str());
  return 1;
}
