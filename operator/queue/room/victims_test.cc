#include "operator/queue/room/victims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/gang_capacity.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/queue_fixtures.h"
#include "operator/queue/room/victim_trial.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;

bool IsReclaimed(const Victim& victim) { return victim.reason == ScheduleReason::kReclaimed; }

// A cluster full of a borrowing queue's jobs and of low-priority jobs in the newcomer's own queue.
class RandomCase {
 public:
  RandomCase(int seed, int racks, int nodes, bool elastic)
      : random_(seed),
        world_(Racks(racks, nodes), {Queue("mine", "c", 8 * racks * nodes / 2),
                                     Queue("theirs", "c", 8 * racks * nodes / 2)}) {
    world_.now = At(10'000);
    const int all = racks * nodes;
    for (int i = 0; i < all * 3; ++i) Run(i, elastic);
    const int workers = 1 + Pick(std::max(2, all / 3));
    QueuedJob job = Job("newcomer", "mine", workers, 1 << Pick(4));
    job.priority = 10;
    if (Pick(2)) job.request.required_level = "rack";
    world_.Submit(job);
  }

  int Pick(int n) { return static_cast<int>(random_() % n); }
  World& world() { return world_; }
  JobEntry& newcomer() { return *world_.book.state().jobs.at("newcomer"); }

 private:
  void Run(int i, bool elastic) {
    // One draw in each statement, because compilers order the evaluation of arguments differently.
    const std::string queue = Pick(3) ? "theirs" : "mine";
    const int workers = 1 + Pick(3);
    QueuedJob job = Job(absl::StrCat("v", i), queue, workers, 1 << Pick(4));
    if (elastic && Pick(2)) job.request.min = 1 + Pick(job.request.max);
    const auto answer = Place(world_.tree, job.request);
    const auto* placement = std::get_if<Placement>(&answer);
    if (placement == nullptr) return;
    job.nodes = placement->nodes;
    job.request.max = std::max(job.request.max, job.workers());
    job.checkpointed = At(10'000 - Pick(1000));
    job.priority = Pick(2) * 20;
    for (const std::string& node : job.nodes) {
      world_.tree.Charge(*world_.tree.FindNode(node), job.request.per_worker);
    }
    world_.Submit(job);
  }

  std::mt19937 random_;
  World world_;
};

// Returns true if the newcomer fits, in quota and on nodes, when these victims have gone, and each
// of them could be taken from its borrower in some order.
bool Suffices(World& world, JobEntry& newcomer, const std::vector<Victim>& victims) {
  QueueBook::State& state = world.book.state();
  const QuotaNeed need = newcomer.Need(newcomer.job.request.min);
  const QuotaNeed lacking = state.use->Lacking(newcomer.queue, need);
  TopologyTree tree = world.tree;
  QuotaUse use = *state.use;
  std::vector<Victim> order = victims;
  std::stable_sort(order.begin(), order.end(), [](const Victim& a, const Victim& b) {
    const auto freed = [](const Victim& v) {
      return BillableUnits(v.entry->job, v.entry->job.workers() - v.keep);
    };
    return IsReclaimed(a) != IsReclaimed(b) ? IsReclaimed(b) : freed(a) < freed(b);
  });
  for (const Victim& victim : order) {
    const QueuedJob& job = victim.entry->job;
    const int theirs = victim.entry->queue;
    if (IsReclaimed(victim) && !use.MayReclaim(newcomer.queue, need, lacking, theirs)) return false;
    for (int i = victim.keep; i < job.workers(); ++i) {
      tree.Charge(*tree.FindNode(job.nodes[i]), -job.request.per_worker);
    }
    use.Remove(victim.entry->queue, victim.entry->Need(job.workers() - victim.keep));
  }
  return use.Fits(newcomer.queue, need) &&
         std::holds_alternative<Placement>(Place(tree, newcomer.job.request));
}

// The least cost over all sets of whole jobs; infinite when none is enough.
double LeastCost(World& world, JobEntry& newcomer, const VictimOptions& options) {
  QueueBook::State& state = world.book.state();
  // The cost of each, with the jobs that it stops in turn.
  std::map<const JobEntry*, double> costs;
  VictimTrial trial(world.now, world.tree, state, newcomer, options);
  for (const VictimCandidate& one : trial.candidates()) costs[one.entry] = one.stop_cost;
  std::vector<Victim> all;
  for (QueueEntry& queue : state.queues) {
    for (JobEntry* entry : queue.running) {
      const bool own = entry->queue == newcomer.queue;
      if (own && entry->job.priority >= newcomer.job.priority) continue;
      const auto cost = costs.find(entry);
      if (cost != costs.end()) {
        all.push_back(
            {entry, 0, cost->second, own ? ScheduleReason::kPriority : ScheduleReason::kReclaimed});
      }
    }
  }
  double least = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < (1u << all.size()); ++set) {
    std::vector<Victim> chosen;
    double cost = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (((set >> i) & 1) == 0) continue;
      chosen.push_back(all[i]);
      cost += all[i].cost;
    }
    if (cost < least && Suffices(world, newcomer, chosen)) least = cost;
  }
  return least;
}

TEST(Victims, SmallCasesAreAsCheapAsBruteForce) {
  int preempted = 0;
  for (int seed = 0; seed < 300; ++seed) {
    RandomCase random(seed, 2, 1 + seed % 2, false);
    World& world = random.world();
    const VictimOptions options;
    const double least = LeastCost(world, random.newcomer(), options);
    const auto plan =
        FindVictims(world.now, world.tree, world.book.state(), random.newcomer(), options);
    ASSERT_EQ(plan.has_value(), least < std::numeric_limits<double>::infinity()) << seed;
    if (!plan) continue;
    EXPECT_NEAR(plan->cost, least, 1e-6 * least) << seed;
    preempted += plan->victims.empty() ? 0 : 1;
  }
  EXPECT_GT(preempted, 100);
}

// Even without the exhaustive search the least cost lies between the plan's bound and its cost.
TEST(Victims, TheSearchStatesItsDistanceFromTheLeast) {
  double worst = 1;
  int exact = 0;
  int all = 0;
  for (int seed = 0; seed < 300; ++seed) {
    RandomCase random(seed, 2, 2, false);
    World& world = random.world();
    VictimOptions options;
    options.exhaustive_up_to = 0;
    const double least = LeastCost(world, random.newcomer(), options);
    const auto plan =
        FindVictims(world.now, world.tree, world.book.state(), random.newcomer(), options);
    if (!plan || plan->victims.empty()) continue;
    ++all;
    EXPECT_GE(plan->cost, least * (1 - 1e-9)) << seed;
    EXPECT_LE(plan->cost_bound, least * (1 + 1e-9)) << seed;
    worst = std::max(worst, plan->cost / least);
    exact += plan->cost <= least * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_GT(all, 100);
  EXPECT_GE(exact, all * 9 / 10);
  EXPECT_LT(worst, 2);
}

TEST(Victims, SufficeAndEachIsNeeded) {
  int victims = 0;
  int shrunk = 0;
  for (int seed = 0; seed < 400; ++seed) {
    RandomCase random(seed, 3, 4, true);
    World& world = random.world();
    const auto plan = FindVictims(world.now, world.tree, world.book.state(), random.newcomer(), {});
    if (!plan) continue;
    EXPECT_TRUE(Suffices(world, random.newcomer(), plan->victims)) << seed;
    for (size_t i = 0; i < plan->victims.size(); ++i) {
      ++victims;
      std::vector<Victim> fewer = plan->victims;
      fewer.erase(fewer.begin() + static_cast<int>(i));
      EXPECT_FALSE(Suffices(world, random.newcomer(), fewer)) << seed << " without " << i;
      const Victim& victim = plan->victims[i];
      if (victim.keep == 0) continue;
      ++shrunk;
      std::vector<Victim> less = plan->victims;
      ++less[i].keep;
      EXPECT_FALSE(Suffices(world, random.newcomer(), less)) << seed << " one worker less " << i;
      EXPECT_GE(victim.keep, victim.entry->job.request.min);
    }
  }
  EXPECT_GT(victims, 200);
  EXPECT_GT(shrunk, 50);
}

// Gives a gang at most two workers in each rack that has room; all in one rack if required.
class ThinlySpread final : public GangGate {
 public:
  explicit ThinlySpread(const World& world) : world_(world) {}
  std::shared_ptr<const GangNodes> NodesFor(const std::string&) override { return nodes_; }
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    TopologyTree tree = world_.tree;
    for (const GangQuestion::Leaver& leaver : question.leavers) {
      const QueuedJob& job = *world_.book.Find(leaver.job);
      for (int i = leaver.stay; i < job.workers(); ++i) {
        tree.Charge(*tree.FindNode(job.nodes[i]), -job.request.per_worker);
      }
    }
    std::map<int, int> in_rack;
    GangAnswer answer;
    const auto& nodes = tree.level(tree.node_level());
    const bool in_one = !question.request.required_level.empty();
    for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
      if (in_one && node > 0 && nodes[node].parent != nodes[node - 1].parent) {
        if (static_cast<int>(answer.nodes.size()) >= question.request.min) return answer;
        answer.nodes.clear();
      }
      int64_t fit = WorkersThatFit(tree.node(node).free, question.request.per_worker);
      while (fit-- > 0 && in_rack[nodes[node].parent] < 2) {
        ++in_rack[nodes[node].parent];
        answer.nodes.push_back(nodes[node].name);
        if (static_cast<int>(answer.nodes.size()) == question.request.max) return answer;
      }
    }
    if (static_cast<int>(answer.nodes.size()) < question.request.min)
      return GangAnswer{{}, "no", ""};
    return answer;
  }

 private:
  const World& world_;
  std::shared_ptr<const GangNodes> nodes_ =
      std::make_shared<GangNodes>(GangNodes{{}, {}, "", true});
};

// Victims by room often do not suffice: the plan then has other victims, or no plan exists.
TEST(Victims, SufficeByInterPodConstraintsAndEachIsNeeded) {
  int plans = 0;
  int unlike_room = 0;
  int none = 0;
  for (int seed = 0; seed < 400; ++seed) {
    RandomCase random(seed, 3, 4, true);
    World& world = random.world();
    JobEntry& newcomer = random.newcomer();
    ThinlySpread gate(world);
    auto suffices = [&](const std::vector<Victim>& victims) {
      GangQuestion question{"newcomer", newcomer.job.request, {}, {}};
      QuotaUse use = *world.book.state().use;
      for (const Victim& victim : victims) {
        question.leavers.push_back({victim.entry->job.uid, victim.keep});
        use.Remove(victim.entry->queue,
                   victim.entry->Need(victim.entry->job.workers() - victim.keep));
      }
      const QuotaNeed need = newcomer.Need(newcomer.job.request.min);
      for (const Victim& victim : victims) {
        const int theirs = victim.entry->queue;
        if (IsReclaimed(victim) && !use.StaysWithin(newcomer.queue, need, theirs)) return false;
      }
      return use.Fits(newcomer.queue, need) && !gate.PlacesFor(question)->nodes.empty();
    };
    const auto by_room = FindVictims(world.now, world.tree, world.book.state(), newcomer, {});
    VictimOptions options;
    options.gate = &gate;
    const auto plan = FindVictims(world.now, world.tree, world.book.state(), newcomer, options);
    none += by_room && !plan ? 1 : 0;
    if (!plan) continue;
    plans += plan->victims.empty() ? 0 : 1;
    unlike_room += by_room && !suffices(by_room->victims) ? 1 : 0;
    EXPECT_TRUE(suffices(plan->victims)) << seed;
    for (size_t i = 0; i < plan->victims.size(); ++i) {
      std::vector<Victim> fewer = plan->victims;
      fewer.erase(fewer.begin() + static_cast<int>(i));
      EXPECT_FALSE(suffices(fewer)) << seed << " without " << i;
      if (plan->victims[i].keep == 0) continue;
      fewer = plan->victims;
      ++fewer[i].keep;
      EXPECT_FALSE(suffices(fewer)) << seed << " one worker less " << i;
    }
  }
  EXPECT_GT(plans, 100);
  EXPECT_GT(unlike_room, 20);
  EXPECT_GT(none, 5);
}

TEST(Victims, NobodyIsStoppedWhileShrinkingIsEnough) {
  int shrunk = 0;
  for (int seed = 0; seed < 400; ++seed) {
    RandomCase random(seed, 3, 4, true);
    World& world = random.world();
    const auto plan = FindVictims(world.now, world.tree, world.book.state(), random.newcomer(), {});
    if (!plan || plan->victims.empty()) continue;
    const bool stops = std::any_of(plan->victims.begin(), plan->victims.end(),
                                   [](const Victim& victim) { return victim.keep == 0; });
    if (!stops) ++shrunk;
    if (!stops) continue;
    // Shrinking everybody as far as it goes would not have been enough.
    QueueBook::State& state = world.book.state();
    const int mine = random.newcomer().queue;
    const QuotaNeed need = random.newcomer().Need(random.newcomer().job.request.min);
    const QuotaNeed lacking = state.use->Lacking(mine, need);
    std::vector<Victim> all;
    for (QueueEntry& queue : state.queues) {
      for (JobEntry* entry : queue.running) {
        const bool own = entry->queue == mine;
        const bool may = own ? entry->job.priority < random.newcomer().job.priority
                             : state.use->MayReclaim(mine, need, lacking, entry->queue);
        const int keep = std::min(entry->job.request.min, entry->job.workers());
        if (may && keep < entry->job.workers()) {
          all.push_back({entry, keep, 0, ScheduleReason::kPriority});
        }
      }
    }
    // Shrinking everybody may take more than is allowed, because the other queue then no longer
    // borrows: nothing follows from such a case.
    QuotaUse use = *state.use;
    for (const Victim& victim : all) {
      use.Remove(victim.entry->queue,
                 victim.entry->Need(victim.entry->job.workers() - victim.keep));
    }
    const int theirs = state.tree->FindQueue("theirs");
    if (use.OverQuota(theirs, lacking)) {
      EXPECT_FALSE(Suffices(world, random.newcomer(), all)) << seed;
    }
  }
  EXPECT_GT(shrunk, 20);
}

// A queue that borrows CPUs gives those back, not the GPUs that it has within its quota.
TEST(Victims, WhoBorrowsWhatIsLackingGivesItBack) {
  std::vector<QueueSpec> queues = {Queue("a", "c", 16), Queue("b", "c", 8), Queue("d", "c", 8)};
  for (QueueSpec& queue : queues) queue.quotas.push_back({"cpu", 8, {}, {}});
  for (const bool of_gpus : {false, true}) {
    World world(Racks(1, 4), queues);
    auto with_cpus = [](QueuedJob job, int64_t cpus) {
      job.quota_per_worker["cpu"] = cpus;
      return job;
    };
    world.Submit(with_cpus(Job("cpus", "b", 1), of_gpus ? 10 : 18));
    world.Submit(with_cpus(Job("own", "d", 1), 1));
    world.Submit(with_cpus(Job("gpus", "d", 1, 8, 0, 1), 1));
    world.Cycle();
    ASSERT_TRUE(world.Runs("cpus") && world.Runs("own") && world.Runs("gpus"));
    world.now = At(1000);
    // The job that would be taken if only the cost counted.
    world.book.Progress(of_gpus ? "cpus" : "gpus", world.now, std::nullopt);
    world.Submit(with_cpus(Job("newcomer", "a", of_gpus ? 2 : 1, 8, 0, 2), of_gpus ? 2 : 5));
    const auto plan = FindVictims(world.now, world.tree, world.book.state(),
                                  *world.book.state().jobs.at("newcomer"), {});
    ASSERT_TRUE(plan.has_value());
    ASSERT_EQ(plan->victims.size(), 1u);
    EXPECT_EQ(plan->victims[0].entry->job.queue, of_gpus ? "d" : "b");
  }
}

TEST(Victims, TheOneThatSavedLastGoes) {
  World world(Racks(1, 3), {Queue("a", "c", 0), Queue("b", "c", 24)});
  for (int i = 0; i < 3; ++i) world.Submit(Job(absl::StrCat("a", i), "a", 1, 8, 0, i));
  world.Cycle();
  world.now = At(1000);
  for (int i = 0; i < 3; ++i) {
    QueuedJob job = *world.book.Find(absl::StrCat("a", i));
    job.checkpointed = At(i == 1 ? 990 : 500);
    world.book.Upsert(world.now, job);
  }
  world.Submit(Job("b", "b", 1));
  const auto plan =
      FindVictims(world.now, world.tree, world.book.state(), *world.book.state().jobs.at("b"), {});
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->victims.size(), 1u);
  EXPECT_EQ(plan->victims[0].entry->job.uid, "a1");
  EXPECT_EQ(plan->cost, 8 * (10 + 120));
  EXPECT_EQ(plan->cost_bound, plan->cost);
  EXPECT_TRUE(plan->exact);
}

}  // namespace
}  // namespace muster::control
