#ifndef MUSTER_OPERATOR_OBJECTS_OBJECT_WARNINGS_H_
#define MUSTER_OPERATOR_OBJECTS_OBJECT_WARNINGS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "operator/objects/caches.h"
#include "operator/objects/event_recorder.h"
#include "operator/objects/priority_class.h"
#include "operator/placement/topology_labels.h"

namespace muster::control {

// Records events about objects with impossible content: on a Node TopologyContradiction (labels
// that contradict others') and NodeFaulty (impossible amounts: the node is set aside), on a
// TrainingJob NoSuchPriorityClass. Each is recorded once, and again when it recurs. Call it now and
// then, while leading, from one thread.
class ObjectWarnings {
 public:
  // The most events of one call; the next calls record the rest.
  static constexpr int kMostAtOnce = 50;

  ObjectWarnings(EventRecorder& events, const JobCache& jobs, const NodeCache& nodes,
                 const PriorityCache& priorities)
      : events_(events), jobs_(jobs), nodes_(nodes), priorities_(priorities) {}

  // Returns the number of events recorded.
  int RunOnce(const std::vector<TopologyFinding>& findings);

 private:
  // UID and reason.
  using Key = std::pair<std::string, std::string>;
  struct Warning {
    EventTarget target;
    std::string sentence;
  };
  using Warnings = std::map<Key, Warning>;

  void AddNodes(const std::vector<TopologyFinding>& findings, Warnings& warnings) const;
  void AddJobs(Warnings& warnings) const;

  EventRecorder& events_;
  const JobCache& jobs_;
  const NodeCache& nodes_;
  const PriorityCache& priorities_;
  std::map<Key, std::string> recorded_;  // the sentences last recorded
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_OBJECT_WARNINGS_H_
