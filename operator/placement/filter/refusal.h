#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_REFUSAL_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_REFUSAL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace muster::control {

// The closed list of reasons why a pod cannot run on a node. The rules are asked in this order:
// kube-scheduler's, after those that only muster has.
enum class FilterReason {
  kOtherScheduler,  // the template names another scheduler
  kResourceClaims,  // the template has resourceClaims
  kNodeFaulty,      // its own report is impossible, or a GPU has a fault
  kNodeLeaving,     // it is about to be taken away
  kNodeNotReady,
  kSpotNode,           // the job allows no spot nodes
  kNodeUnschedulable,  // cordoned
  kNodeName,           // the pod names another node
  kTaint,
  kNodeAffinity,  // nodeSelector or node affinity
  kHostPorts,
  kResources,
  kVolumeConflict,  // a disk or a claim that only one pod may use
  kAttachLimit,
  kVolumeBinding,  // a claim that is missing, unbound, or bound to a volume elsewhere
  kVolumeZone,
  kTopologySpread,
  kPodAffinity,  // or anti-affinity, the pod's or another pod's
};
inline constexpr int kFilterReasons = 18;
std::string_view Name(FilterReason reason);  // "Resources"

struct NodeRefusal {
  FilterReason reason = FilterReason::kResources;
  // The resource, taint, label, claim or port in question; `Sentence` is made from it.
  std::string subject;
  // The amounts needed, available and in all, if the reason has any.
  int64_t wanted = 0;
  int64_t available = 0;
  int64_t total = 0;

  friend bool operator==(const NodeRefusal&, const NodeRefusal&) = default;
};

// "nodes like it lack nvidia.com/gpu (8 needed, at most 3 of 8 free)".
std::string Sentence(const NodeRefusal& refusal);

// Sums up many nodes' refusals in one sentence, the commonest first: "of 5,000 nodes 3,200 lack
// nvidia.com/gpu (8 needed, at most 4 free) and 1,800 have the taint x".
class RefusalSummary {
 public:
  void Add(const NodeRefusal& refusal);
  int64_t nodes() const { return nodes_; }
  std::string Text() const;
  // The same without the total; empty: no refusals.
  std::string List() const;

 private:
  struct Group {
    int64_t nodes = 0;
    NodeRefusal example;  // with the largest amounts of all its nodes
  };
  std::map<std::pair<FilterReason, std::string>, Group> groups_;
  int64_t nodes_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_REFUSAL_H_
