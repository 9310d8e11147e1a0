#include "trainer/cuda/fake_nccl.h"

#include <future>

#include "gtest/gtest.h"
#include "trainer/cuda/fake_stream.h"

namespace muster::trainer::cuda {
namespace {

// A communicator that was aborted frees its tensors while the stream still has their operations.
TEST(FakeNcclTest, MessagesThatAreAbortedBeforeTheyRunTouchNoMemory) {
  const NcclApi nccl = FakeNccl();
  ncclUniqueId id;
  ASSERT_EQ(nccl.get_unique_id(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(nccl.comm_init_rank_config(&comm, 1, id, 0, &config), ncclInProgress);
  const float from = 1;
  float to = 0;
  std::promise<void> aborted;
  {
    FakeStream stream;
    auto* const queue = reinterpret_cast<cudaStream_t>(&stream);
    stream.Add([is_aborted = aborted.get_future().share()] { is_aborted.wait(); });
    ASSERT_EQ(nccl.group_start(), ncclSuccess);
    ASSERT_EQ(nccl.send(&from, 1, ncclFloat32, 0, comm, queue), ncclSuccess);
    ASSERT_EQ(nccl.recv(&to, 1, ncclFloat32, 0, comm, queue), ncclSuccess);
    ASSERT_EQ(nccl.group_end(), ncclInProgress);
    ASSERT_EQ(nccl.comm_abort(comm), ncclSuccess);
    aborted.set_value();
  }
  EXPECT_EQ(to, 0);
}

}  // namespace
}  // namespace muster::trainer::cuda
