#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/comm/round_store.h"
#include "trainer/cuda/fake_nccl.h"
#include "trainer/cuda/fake_stream.h"
#include "trainer/cuda/nccl_communicator.h"
#include "trainer/engine/link/round_mesh.h"
#include "trainer/engine/step/stage_link.h"
#include "trainer/engine/table/task_table.h"
#include "trainer/parallel/stages.h"

namespace muster::trainer {
namespace {

at::Tensor Content(const Task& task) {
  const double number = 1000.0 * task.block + task.micro_batch;
  return at::full({3}, task.gradient ? -number : number, at::kFloat);
}

absl::Status Check(const Task& task, const at::Tensor& arrived) {
  if (arrived.equal(Content(task))) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("other contents than those of ", ToString(task)));
}

// Sends and receives what a table says, and computes nothing.
absl::Status Exchange(const TaskTable& table, StageLink& link) {
  for (const Task& task : table) {
    const std::vector<at::Tensor> outputs = {Content(task)};
    if (task.kind == TaskKind::kSend && !task.gradient) {
      MUSTER_RETURN_IF_ERROR(link.SendOutputs(task.block, task.peer, outputs));
    } else if (task.kind == TaskKind::kSend) {
      MUSTER_RETURN_IF_ERROR(link.SendGradients(task.block, task.peer, outputs, outputs));
    } else if (task.kind == TaskKind::kRecv && !task.gradient) {
      MUSTER_ASSIGN_OR_RETURN(const auto arrived, link.ReceiveOutputs(task.block, task.peer));
      MUSTER_RETURN_IF_ERROR(Check(task, arrived[0]));
    } else if (task.kind == TaskKind::kRecv) {
      MUSTER_ASSIGN_OR_RETURN(const auto arrived,
                              link.ReceiveGradients(task.block, task.peer, outputs));
      MUSTER_RETURN_IF_ERROR(Check(task, arrived[0]));
    }
  }
  return link.Finish();
}

absl::StatusOr<std::unique_ptr<Communicator>> Connect(const RoundStore& store,
                                                      const std::string& tag, int rank, int size) {
  cuda::NcclOptions options{.api = cuda::FakeNccl(),
                            .device = at::kCPU,
                            .make_queue = [] { return cuda::MakeFakeQueue(); },
                            .store = store.endpoint(),
                            .rank = rank,
                            .size = size,
                            .tag = tag};
  return cuda::NcclConnector(options).Connect();
}

absl::Status RunRank(const RoundStore& store, const MeshShape& shape, int rank,
                     const TaskTable& table) {
  MUSTER_ASSIGN_OR_RETURN(const auto world, Connect(store, "world", rank, shape.size()));
  const auto make = [&](const std::string& tag, const std::vector<int>& ranks, int own) {
    const auto place = std::find(ranks.begin(), ranks.end(), own) - ranks.begin();
    return Connect(store, tag, static_cast<int>(place), static_cast<int>(ranks.size()));
  };
  MUSTER_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Create(shape, *world, make));
  MUSTER_ASSIGN_OR_RETURN(const RoundGroups groups, MakeGroups(mesh, *world));
  StageLink link(*groups.stages, at::kCPU, groups.channels);
  return Exchange(table, link);
}

// The operations of one NCCL communicator begin in the order of their issue, so that a message that
// is not taken yet holds up those behind it.
TEST(PipelineMessagesTest, EveryScheduleEndsWhereMessagesHoldUpOneAnother) {
  struct Case {
    int stages, chunks, micro_batches;
    PipelineSchedule schedule;
  };
  for (const Case& c :
       {Case{2, 1, 4, PipelineSchedule::kOneForwardOneBackward},
        Case{4, 1, 6, PipelineSchedule::kOneForwardOneBackward},
        Case{3, 1, 5, PipelineSchedule::kZeroBubble}, Case{2, 2, 5, PipelineSchedule::kInterleaved},
        Case{3, 3, 7, PipelineSchedule::kInterleaved},
        Case{4, 2, 11, PipelineSchedule::kInterleaved},
        Case{2, 2, 4, PipelineSchedule::kZeroBubbleV},
        Case{4, 2, 9, PipelineSchedule::kZeroBubbleV}}) {
    SCOPED_TRACE(absl::StrCat(c.stages, " stages with ", c.chunks, " chunks"));
    const int blocks = c.stages * c.chunks;
    TableShape shape{.blocks = blocks};
    shape.can_split.assign(static_cast<size_t>(blocks), true);
    const std::vector<int64_t> costs(static_cast<size_t>(blocks), 1);
    shape.cut = *StageCut::Make(costs, c.stages, c.chunks, FormOf(c.schedule));
    const MeshShape mesh{.pipeline = c.stages};
    const auto tables = MakeTables(shape, mesh, c.micro_batches, c.schedule);
    ASSERT_TRUE(tables.ok()) << tables.status();
    const auto store = StartRoundStore();
    ASSERT_TRUE(store.ok());
    std::vector<absl::Status> ended(static_cast<size_t>(c.stages));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < c.stages; ++rank) {
      threads.emplace_back([&, rank] {
        const auto at = static_cast<size_t>(rank);
        ended[at] = RunRank(**store, mesh, rank, tables->distinct[at]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& status : ended) EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace muster::trainer
