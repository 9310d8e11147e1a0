#ifndef MUSTER_TRAINER_ENGINE_TABLE_TABLE_FACTORY_H_
#define MUSTER_TRAINER_ENGINE_TABLE_TABLE_FACTORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/table/task_table.h"

namespace muster::trainer {

// Returns the number of micro-batches of the rank that has the most.
int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches);

// The task tables of all ranks of a layout. Ranks with as many micro-batches have the same one, and
// a check of the distinct ones is one of all, because no table sends to a rank.
struct LayoutTables {
  std::vector<TaskTable> distinct;
  std::vector<int> of_rank;  // indices of `distinct`
};

// Returns the tables for steps of so many logical micro-batches, unchecked. Returns Unimplemented,
// which names the axis, for a layout that has no table yet, and InvalidArgument if a rank would
// have no micro-batch. Pure.
absl::StatusOr<LayoutTables> MakeTables(const TableShape& shape, const MeshShape& mesh,
                                        int64_t micro_batches);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TABLE_TABLE_FACTORY_H_
