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

// Events about what objects say and cannot be: on a Node TopologyContradiction (labels that
// contradict others') and NodeFaulty (amounts that cannot be: it is set aside), on a TrainingJob
// NoSuchPriorityClass. Each is told once, and again when it comes back. To be called now and then
// by one thread, while leading.
class ObjectWarnings {
 public:
  // In one call; the rest is told in the next ones.
  static constexpr int kMostAtOnce = 50;

  ObjectWarnings(EventRecorder& events, const JobCache& jobs, const NodeCache& nodes,
                 const PriorityCache& priorities)
      : events_(events), jobs_(jobs), nodes_(nodes), priorities_(priorities) {}

  // Returns the number of events.
  int RunOnce(const std::vector<TopologyFinding>& findings);

 private:
  // By UID and reason.
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
  std::map<Key, std::string> told_;  // the sentences
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_OBJECT_WARNINGS_H_
