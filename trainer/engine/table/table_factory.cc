#include "trainer/engine/table/table_factory.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {
namespace {

absl::Status CheckAxes(const MeshShape& mesh) {
  const struct {
    const char* name;
    int extent;
  } undivided[] = {{"pipeline", mesh.pipeline},
                   {"context", mesh.context},
                   {"tensor", mesh.tensor},
                   {"expert", mesh.expert}};
  for (const auto& axis : undivided) {
    if (axis.extent == 1) continue;
    return absl::UnimplementedError(absl::StrCat(
        "a layout with ", axis.name, " ", axis.extent,
        ": this trainer divides its work along data and shard; set ", axis.name, " to 1"));
  }
  return absl::OkStatus();
}

}  // namespace

int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches) {
  const int64_t ranks = int64_t{mesh.data} * mesh.shard;
  return static_cast<int>((micro_batches + ranks - 1) / ranks);
}

absl::StatusOr<LayoutTables> MakeTables(const TableShape& shape, const MeshShape& mesh,
                                        int64_t micro_batches) {
  MUSTER_RETURN_IF_ERROR(CheckAxes(mesh));
  const int ranks = mesh.size();
  if (ranks > micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(ranks, " ranks for ", micro_batches,
                                                   " micro-batches: a rank would have none"));
  }
  const int most = MostMicroBatches(mesh, micro_batches);
  LayoutTables tables;
  std::map<int, int> index_of;  // by number of micro-batches
  for (int r = 0; r < ranks; ++r) {
    const int own = static_cast<int>(RankRange(micro_batches, r, ranks).leaves());
    const auto [found, is_new] = index_of.try_emplace(own, tables.distinct.size());
    if (is_new) tables.distinct.push_back(DataParallelTable(shape, own, most));
    tables.of_rank.push_back(found->second);
  }
  return tables;
}

}  // namespace muster::trainer
