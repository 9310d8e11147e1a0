#include "operator/core/state/membership.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

std::string MembershipHash(const std::vector<v1alpha1::Member>& members) {
  uint64_t hash = Fnv1a("");
  for (const v1alpha1::Member& member : members) {
    const std::string text =
        absl::StrCat(member.worker().index(), ".", member.worker().incarnation(), "/",
                     member.worker().pod_uid(), ":", member.first_rank(), "+", member.ranks(), ";");
    hash = Fnv1a(text, hash);
  }
  return ToHex(hash);
}

}  // namespace

std::vector<v1alpha1::Member> MakeMembers(const JobView& view,
                                          const std::vector<const Worker*>& workers) {
  std::vector<v1alpha1::Member> members;
  int next_rank = 0;
  for (const Worker* worker : workers) {
    v1alpha1::Member member;
    v1alpha1::WorkerId& id = *member.mutable_worker();
    id.set_namespace_(view.job.ns);
    id.set_job(view.job.name);
    id.set_job_uid(view.job.uid);
    id.set_index(worker->index);
    id.set_incarnation(worker->incarnation);
    id.set_pod_uid(worker->pod->uid);
    member.set_first_rank(next_rank);
    member.set_ranks(planner::RanksOf(view.spec.workers()));
    next_rank += member.ranks();
    members.push_back(std::move(member));
  }
  return members;
}

std::string RoundMembership(const std::vector<v1alpha1::Member>& members,
                            const std::string& trajectory) {
  const std::string hash = MembershipHash(members);
  return trajectory.empty() ? hash : absl::StrCat(hash, ".", trajectory);
}

std::string TrajectoryOf(const std::string& membership) {
  const size_t dot = membership.find('.');
  return dot == std::string::npos ? "" : membership.substr(dot + 1);
}

const v1alpha1::Member* MemberOfRank(const std::vector<v1alpha1::Member>& members, int rank) {
  const auto found =
      std::find_if(members.begin(), members.end(), [rank](const v1alpha1::Member& member) {
        return member.first_rank() <= rank && rank < member.first_rank() + member.ranks();
      });
  return found == members.end() ? nullptr : &*found;
}

std::set<int> MemberIndices(const std::vector<v1alpha1::Member>& members) {
  std::set<int> indices;
  for (const v1alpha1::Member& member : members) indices.insert(member.worker().index());
  return indices;
}

}  // namespace muster::control
