#include "trainer/comm/local_communicator.h"

#include <string>
#include <utility>

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator_conformance.h"

namespace muster::trainer {
namespace {

class LocalConformanceTest : public testing::TestWithParam<ConformanceCase> {};

TEST_P(LocalConformanceTest, Holds) {
  const ConformanceCase& test = GetParam();
  auto communicators = MakeLocalCommunicators({.size = test.ranks, .deadline = test.deadline});
  for (const std::string& text : RunOnThreads(test, std::move(communicators))) EXPECT_EQ(text, "");
}

INSTANTIATE_TEST_SUITE_P(All, LocalConformanceTest,
                         testing::ValuesIn(CommunicatorConformanceCases()),
                         [](const auto& info) { return info.param.name; });

TEST(LocalCommunicatorTest, ARankThatDiesAtAnOperationIsADeadPeer) {
  auto communicators = MakeLocalCommunicators(
      {.size = 2, .before_operation = [](int rank, const Fingerprint& fingerprint) {
         return rank == 1 && fingerprint.label == "vote" ? absl::UnknownError("died")
                                                         : absl::OkStatus();
       }});
  at::Tensor mine = at::ones({4}), theirs = at::ones({4});
  auto units = communicators[0]->AllReduce(mine, ReduceOp::kSum, "unit");
  EXPECT_TRUE(communicators[1]->AllReduce(theirs, ReduceOp::kSum, "unit")->Wait().ok());
  EXPECT_TRUE(units->Wait().ok());
  auto vote = communicators[0]->AllReduce(mine, ReduceOp::kSum, "vote");
  EXPECT_EQ(communicators[1]->AllReduce(theirs, ReduceOp::kSum, "vote")->Wait(),
            absl::UnknownError("died"));
  EXPECT_EQ(vote->Wait(), absl::UnavailableError("a peer is gone: rank 1"));
}

}  // namespace
}  // namespace muster::trainer
