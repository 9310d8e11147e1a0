#ifndef MUSTER_TRAINER_ENGINE_TABLE_COLLECTIVE_ORDER_H_
#define MUSTER_TRAINER_ENGINE_TABLE_COLLECTIVE_ORDER_H_

#include <vector>

#include "absl/status/status.h"
#include "trainer/engine/table/task_table.h"

namespace muster::trainer {

// Returns InvalidArgument, naming two ranks, unless all ranks of each stage can run the reduces of
// their units, and the gathers, without waiting for each other in a circle. `ranks` are the tables
// of whole pipelines, one after the other, each of `stages` tables. Takes time linear in the tasks
// of all ranks, because every rank checks the tables of all. Pure.
absl::Status CheckCollectiveOrder(const std::vector<TaskTable>& ranks, int stages = 1);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TABLE_COLLECTIVE_ORDER_H_
