#include "trainer/cuda/nccl_communicator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator_conformance.h"
#include "trainer/comm/round_store.h"
#include "trainer/cuda/fake_nccl.h"
#include "trainer/cuda/fake_stream.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer::cuda {
namespace {

NcclOptions Options(const RoundStore& store, int rank, int size) {
  return {.api = FakeNccl(),
          .device = at::kCPU,
          .make_queue = [] { return MakeFakeQueue(); },
          .store = store.endpoint(),
          .rank = rank,
          .size = size,
          .tag = "1.1"};
}

class NcclConformanceTest : public testing::TestWithParam<ConformanceCase> {};

TEST_P(NcclConformanceTest, Holds) {
  const ConformanceCase& test = GetParam();
  const auto store = StartRoundStore();
  ASSERT_TRUE(store.ok());
  std::vector<std::string> wrong(test.ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < test.ranks; ++r) {
    threads.emplace_back([&, r] {
      NcclOptions options = Options(**store, r, test.ranks);
      options.deadline = test.deadline;
      options.check = test.check;
      auto communicator = NcclConnector(options).Connect();
      wrong[r] = communicator.ok() ? test.body(**communicator) : communicator.status().ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

INSTANTIATE_TEST_SUITE_P(All, NcclConformanceTest,
                         testing::ValuesIn(CommunicatorConformanceCases()),
                         [](const auto& info) { return info.param.name; });

TEST(NcclCommunicatorTest, AnAbsentRankIsNamed) {
  const auto store = StartRoundStore();
  NcclOptions options = Options(**store, 1, 3);
  options.deadline = absl::Milliseconds(200);
  EXPECT_EQ(NcclConnector(options).Connect().status(),
            absl::DeadlineExceededError("group 1.1: these ranks did not connect in time: 0, 2"));
}

TEST(NcclCommunicatorTest, AbortEndsConnectingThatWaitsForAPeer) {
  const auto store = StartRoundStore();
  NcclConnector connector(Options(**store, 0, 2));
  std::thread aborter([&] { connector.Abort("prepared again"); });
  EXPECT_EQ(connector.Connect().status(), absl::AbortedError("prepared again"));
  aborter.join();
  EXPECT_EQ(connector.Connect().status(), absl::AbortedError("prepared again"));
}

// The peer announces itself and reads the id, and then never calls NCCL.
TEST(NcclCommunicatorTest, AbortEndsConnectingInsideNccl) {
  const auto store = StartRoundStore();
  NcclOptions absent = Options(**store, 1, 2);
  absent.make_queue = [] { return absl::InternalError("this rank gives up here"); };
  NcclConnector connector(Options(**store, 0, 2));
  std::thread aborter([&] {
    EXPECT_EQ(NcclConnector(absent).Connect().status(),
              absl::InternalError("this rank gives up here"));
    connector.Abort("prepared again");
  });
  EXPECT_EQ(connector.Connect().status(), absl::AbortedError("prepared again"));
  aborter.join();
}

TEST(NcclCommunicatorTest, AMessageToNobodyAndATypeThatNcclLacksAreNamed) {
  const auto store = StartRoundStore();
  auto one = *NcclConnector(Options(**store, 0, 1)).Connect();
  at::Tensor tensor = at::zeros({3});
  EXPECT_EQ(one->Send(tensor, 0, "self")->Wait(),
            absl::InvalidArgumentError("no such peer: Send to 0 3 Float \"self\""));
  NcclOptions options = Options(**store, 0, 1);
  options.tag = "1.2";
  auto other = *NcclConnector(options).Connect();
  at::Tensor complex = at::zeros({3}, at::kComplexFloat);
  EXPECT_EQ(other->AllReduce(complex, ReduceOp::kSum, "complex")->Wait(),
            absl::InvalidArgumentError("NCCL moves no elements of type ComplexFloat"));
}

TEST(NcclCommunicatorTest, AnErrorOfNcclIsNamed) {
  const auto store = StartRoundStore();
  NcclOptions options = Options(**store, 0, 1);
  options.api.all_reduce = [](const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                              cudaStream_t) { return ncclUnhandledCudaError; };
  auto communicator = *NcclConnector(options).Connect();
  at::Tensor tensor = at::ones({3});
  EXPECT_EQ(communicator->AllReduce(tensor, ReduceOp::kSum, "sum")->Wait(),
            absl::InternalError("NCCL: unhandled error"));
  EXPECT_TRUE(absl::StrContains(communicator->DumpFlightRecord(), "\"sum\": failed\n"));
}

// A kernel that does not see that its communicator was aborted, until it is told to end.
struct LateKernel {
  Mutex mu;
  CondVar changed;
  bool may_end MUSTER_GUARDED_BY(mu) = false;

  void SetMayEnd(bool may) {
    MutexLock lock(mu);
    may_end = may;
    changed.NotifyAll();
  }
  void AwaitEnd() {
    MutexLock lock(mu);
    while (!may_end) changed.Wait(mu);
  }
};
LateKernel late_kernel;

ncclResult_t WriteLate(const void*, void* to, size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                       cudaStream_t stream) {
  reinterpret_cast<FakeStream*>(stream)->Add([to, count] {
    late_kernel.AwaitEnd();
    std::fill_n(static_cast<float*>(to), count, 13.0F);
  });
  return ncclSuccess;
}

TEST(NcclCommunicatorTest, MemoryThatAnAbortedKernelMayStillWriteIsNotGivenAway) {
  late_kernel.SetMayEnd(false);
  const auto store = StartRoundStore();
  NcclOptions options = Options(**store, 0, 1);
  options.api.all_reduce = &WriteLate;
  auto communicator = *NcclConnector(options).Connect();
  const at::Tensor flat = FlatWithoutMemory(1024, at::kFloat);
  GiveMemory(flat);
  auto pending = communicator->AllReduce(LeaseMemory(flat), ReduceOp::kSum, "values");
  communicator->Abort("this rank left the round");
  EXPECT_TRUE(absl::IsAborted(pending->Wait()));
  pending.reset();
  TakeMemory(flat);
  FreeKeptMemory();
  const at::Tensor other = FlatWithoutMemory(1024, at::kFloat);
  GiveMemory(other);
  other.fill_(1.0);
  late_kernel.SetMayEnd(true);
  communicator.reset();
  EXPECT_TRUE(at::equal(other, at::ones({1024})));
  EXPECT_TRUE(NcclConnector(Options(**store, 0, 1)).Connect().ok());
}

TEST(NcclCommunicatorTest, NoRoundBeginsWhileAKernelOfAnEarlierOneRuns) {
  late_kernel.SetMayEnd(false);
  const auto store = StartRoundStore();
  NcclOptions options = Options(**store, 0, 1);
  options.api.all_reduce = &WriteLate;
  options.deadline = absl::Milliseconds(50);
  auto communicator = *NcclConnector(options).Connect();
  auto pending = communicator->AllReduce(at::zeros({3}), ReduceOp::kSum, "values");
  EXPECT_TRUE(absl::IsDeadlineExceeded(pending->Wait()));
  pending.reset();
  communicator.reset();
  options = Options(**store, 0, 1);
  options.tag = "1.2";
  EXPECT_EQ(NcclConnector(options).Connect().status(),
            absl::UnavailableError(
                "operations of an earlier round, which was aborted, still run on this GPU"));
  late_kernel.SetMayEnd(true);
  while (absl::IsUnavailable(NcclConnector(options).Connect().status())) {
  }
  options.tag = "1.3";
  EXPECT_TRUE(NcclConnector(options).Connect().ok());
}

}  // namespace
}  // namespace muster::trainer::cuda
