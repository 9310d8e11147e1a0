#include "operator/core/leave/slow_links.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/leave/link_verdict.h"
#include "operator/core/leave/move.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/membership.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

// Fewer have no link to compare with.
constexpr size_t kLeastWorkers = 3;
// Ranks whose operator is gone step after this time.
constexpr double kHoldSeconds = 10;
constexpr size_t kWorkersPerExclusion = 4;

bool Excludes(const Draft& draft) { return draft.spec().topology().link_test() == "Exclude"; }

std::set<std::pair<int, int>> Incarnations(const std::vector<Member>& members) {
  std::set<std::pair<int, int>> found;
  for (const Member& member : members) {
    found.emplace(member.worker().index(), member.worker().incarnation());
  }
  return found;
}

// Returns true if the worker has joined the round, as its reports say now.
bool HasJoined(const RoundMemory& memory, const Worker* worker) {
  if (worker == nullptr || worker->agent == nullptr) return false;
  const auto& joined = worker->agent->joined;
  return joined && joined->round == memory.id && joined->error.empty();
}

struct Tested {
  std::vector<TestedWorker> workers;  // by member
  std::vector<TestedLink> links;
};

// Returns the measured links; nullopt while a member has not joined.
std::optional<Tested> Collect(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  Tested tested;
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (!HasJoined(memory, worker)) return std::nullopt;
    tested.workers.push_back({worker->index, "", {}});
    if (worker->pod == nullptr) continue;
    tested.workers.back().node = worker->pod->node;
    tested.workers.back().domains = worker->pod->node_domains;
  }
  for (const Member& member : memory.members) {
    for (const LinkReport& link : WorkerOf(draft, member)->agent->joined->links) {
      const Member* from = MemberOfRank(memory.members, link.rank);
      const Member* to = MemberOfRank(memory.members, link.peer);
      if (from == nullptr || to == nullptr) continue;
      const auto place = [&](const Member* end) {
        return static_cast<size_t>(end - memory.members.data());
      };
      tested.links.push_back({place(from), place(to), link.bytes_per_second});
    }
  }
  return tested;
}

std::string Speed(double bytes_per_second) {
  return absl::StrFormat("%.3g GB/s", bytes_per_second / 1e9);
}

bool SomebodyLeaves(const Draft& draft) {
  return std::any_of(draft.workers.begin(), draft.workers.end(), [&](const Worker& worker) {
    const WorkerMemory* known = FindWorkerMemory(draft.plan.memory, worker.index);
    return known != nullptr && (known->notice.incarnation == worker.incarnation ||
                                known->move.incarnation == worker.incarnation);
  });
}

// Returns why the worker stays on its node; empty if it leaves it.
std::string WhyStays(const Draft& draft, const Worker& worker) {
  const std::set<std::string>& left = draft.plan.memory.link_test.left_nodes;
  if (!Excludes(draft)) return "topology.linkTest is Report";
  if (worker.pod == nullptr || worker.pod->node.empty()) return "its node is not known";
  if (left.count(worker.pod->node) > 0) return "the job has left this node before";
  const size_t most = std::max<size_t>(1, draft.plan.memory.members.size() / kWorkersPerExclusion);
  if (left.size() >= most) return absl::StrCat("the job has left ", left.size(), " nodes already");
  return SomebodyLeaves(draft) ? "another worker leaves its node" : "";
}

void Exclude(Draft& draft, const Worker& worker, const std::string& why) {
  RoundMemory& memory = draft.memory();
  memory.link_test.left_nodes.insert(worker.pod->node);
  memory.link_test.excluded = {worker.index, worker.incarnation};
  MoveAway(draft, worker, why);
}

void TellOfWorker(Draft& draft, const TestedWorker& tested, const SlowWorker& slow) {
  const Worker* worker = draft.FindWorker(tested.index);
  if (worker == nullptr) return;
  const std::string speeds =
      absl::StrCat(Speed(slow.measured), " where other workers have ", Speed(slow.expected));
  const std::string why_stays = WhyStays(draft, *worker);
  draft.EmitWarning(
      Reason::kSlowWorker,
      absl::StrCat("worker ", tested.index, " on node ", tested.node, " has ", speeds, " on ",
                   slow.slow, " of ", slow.judged, " tested links: ",
                   why_stays.empty() ? "it leaves the node"
                                     : absl::StrCat("it stays, because ", why_stays)));
  if (why_stays.empty()) Exclude(draft, *worker, absl::StrCat("its links have ", speeds));
}

void TellOfLink(Draft& draft, const Tested& tested, const SlowLink& slow) {
  const TestedWorker& from = tested.workers[slow.from];
  const TestedWorker& to = tested.workers[slow.to];
  draft.EmitWarning(
      Reason::kSlowLink,
      absl::StrCat("the link between worker ", from.index, " on node ", from.node, " and worker ",
                   to.index, " on node ", to.node, " has ", Speed(slow.measured),
                   " where others have ", Speed(slow.expected), "; their other links are good"));
}

}  // namespace

void OrderLinkTest(Draft& draft, bool can_test, v1alpha1::GoRound& go) {
  RoundMemory& memory = draft.memory();
  const bool wanted = draft.spec().has_trainer() && !draft.spec().topology().link_test().empty();
  if (!wanted || !can_test || memory.members.size() < kLeastWorkers) return;
  if (memory.stop.since) return;
  const std::set<std::pair<int, int>> members = Incarnations(memory.members);
  const std::set<std::pair<int, int>>& known = memory.link_test.tested;
  if (std::includes(known.begin(), known.end(), members.begin(), members.end())) return;
  memory.link_test.tested = members;
  memory.link_test.excluded.reset();
  memory.link_test.judged = false;
  for (const Member& member : memory.members)
    go.mutable_link_test()->add_ranks(member.first_rank());
  if (Excludes(draft)) go.mutable_link_test()->set_hold_seconds(kHoldSeconds);
}

void FindSlowLinks(Draft& draft) {
  RoundMemory& memory = draft.memory();
  // A round that another leader formed has been tested, or was never to be.
  if (memory.phase == RoundPhase::kActive && memory.go == nullptr) {
    memory.link_test.tested = Incarnations(memory.members);
  }
  if (memory.phase != RoundPhase::kJoining || memory.link_test.judged) return;
  if (memory.go == nullptr || !memory.go->has_link_test()) return;
  const std::optional<Tested> tested = Collect(draft);
  if (!tested) return;
  memory.link_test.judged = true;
  const LinkVerdict verdict = JudgeLinks(tested->workers, tested->links);
  for (const SlowWorker& worker : verdict.workers) {
    TellOfWorker(draft, tested->workers[worker.place], worker);
  }
  for (const SlowLink& link : verdict.links) TellOfLink(draft, *tested, link);
}

void EndLinkTest(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.go == nullptr || !(memory.go->link_test().hold_seconds() > 0)) return;
  SendToMembers(draft, GoOrder{memory.go});
}

}  // namespace muster::control
