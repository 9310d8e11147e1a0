#include "trainer/engine/step/stage_link.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/link/message_tensor.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;

class StageLinkTest : public testing::Test {
 protected:
  std::vector<std::unique_ptr<Communicator>> stages_ = MakeLocalCommunicators({.size = 2});
  StageLink first_{*stages_[0], at::kCPU}, second_{*stages_[1], at::kCPU};
};

TEST_F(StageLinkTest, OutputsOfEveryTypeArriveAndGradientsOfThoseThatHaveSomeComeBack) {
  const std::vector<at::Tensor> outputs = {at::arange(6, at::kDouble).view({1, 2, 3}),
                                           at::ones({2}, at::kBool)};
  const at::Tensor gradient = at::arange(6, at::kDouble).view({1, 2, 3}).neg();
  std::thread second([&] {
    for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
      const auto arrived = second_.ReceiveOutputs(4, 0);
      ASSERT_TRUE(arrived.ok()) << arrived.status();
      ASSERT_EQ(arrived->size(), 2u);
      EXPECT_TRUE(at::equal((*arrived)[0], outputs[0]));
      EXPECT_TRUE(at::equal((*arrived)[1], outputs[1]));
      const at::Tensor back = micro_batch == 1 ? at::Tensor() : gradient;
      EXPECT_TRUE(second_.SendGradients(4, 0, *arrived, {back, at::Tensor()}).ok());
    }
    EXPECT_TRUE(second_.Finish().ok());
  });
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    EXPECT_TRUE(first_.SendOutputs(4, 1, outputs).ok());
    const auto back = first_.ReceiveGradients(4, 1, outputs);
    ASSERT_TRUE(back.ok()) << back.status();
    const at::Tensor want = micro_batch == 1 ? at::zeros({1, 2, 3}, at::kDouble) : gradient;
    EXPECT_TRUE(at::equal((*back)[0], want));
    EXPECT_FALSE((*back)[1].defined());
  }
  EXPECT_TRUE(first_.Finish().ok());
  second.join();
}

TEST_F(StageLinkTest, OutputsUnlikeThoseOfAnEarlierMicroBatchAreRefused) {
  std::thread second([&] { EXPECT_TRUE(second_.ReceiveOutputs(0, 0).ok()); });
  EXPECT_TRUE(first_.SendOutputs(0, 1, {at::ones({2, 3})}).ok());
  EXPECT_TRUE(first_.Finish().ok());
  second.join();
  const absl::Status other = first_.SendOutputs(0, 1, {at::ones({3, 2})});
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  const absl::Status many = first_.SendOutputs(1, 1, std::vector<at::Tensor>(40, at::ones({1})));
  EXPECT_TRUE(absl::IsInvalidArgument(many)) << many;
}

TEST_F(StageLinkTest, AHeaderThatDescribesNoTensorsIsAnError) {
  const std::vector<std::vector<int64_t>> begins = {{99},          {1, 1000, 1, 2}, {1, -1, 1, 2},
                                                    {1, 6, 70, 1}, {1, 6, -1},      {1, 6, 1, -5}};
  for (size_t i = 0; i < begins.size(); ++i) {
    std::vector<int64_t> header = begins[i];
    header.resize(64, 0);
    // The first has as many scalars as fit, and is to have more.
    for (size_t n = 1; i == 0 && n < header.size(); n += 2) header[n] = 6;
    const int block = static_cast<int>(i);
    std::thread second([&] {
      const absl::Status status = second_.ReceiveOutputs(block, 0).status();
      EXPECT_TRUE(absl::IsInternal(status)) << i << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("makes no sense"));
    });
    const std::string label = "outputs of block " + std::to_string(block);
    EXPECT_TRUE(stages_[0]->Send(ToTensor(header), 1, label)->Wait().ok());
    second.join();
  }
}

}  // namespace
}  // namespace muster::trainer
