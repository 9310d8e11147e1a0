#ifndef MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_GANG_NODES_H_
#define MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_GANG_NODES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/queue/decision_input.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

// The sets of nodes that gangs may use, each recorded once however many jobs share it.
namespace muster::control {

// Adds sets to a record, and gives each a number from 1; all nodes have 0. The record must outlive
// it, as must the sets.
class GangNodesTable {
 public:
  explicit GangNodesTable(v1alpha1::RecordedInput* into) : into_(into) {}

  uint32_t NumberOf(const std::shared_ptr<const GangNodes>& nodes);

 private:
  v1alpha1::RecordedInput* const into_;
  std::map<const GangNodes*, uint32_t> numbers_;
};

// Returns the recorded sets by their numbers; the first, for all nodes, is null. kDataLoss if one
// names a node that the record does not have.
using GangNodesList = std::vector<std::shared_ptr<const GangNodes>>;
absl::StatusOr<GangNodesList> GetGangNodes(const v1alpha1::RecordedInput& recorded);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_GANG_NODES_H_
