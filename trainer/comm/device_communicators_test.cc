// Tests the communicators that carry tensors of a device, over ranks that are threads.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/ones.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator_conformance.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/split_communicator.h"
#include "trainer/comm/staged_communicator.h"
#include "trainer/device/testing/fake_device.h"

namespace muster::trainer {
namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

// Local communicators that refuse tensors of another device than theirs, as Gloo and NCCL do.
Communicators LocalOn(const ConformanceCase& test, c10::DeviceType type) {
  LocalOptions options{.size = test.ranks, .deadline = test.deadline};
  options.before_tensors = [type](const at::Tensor& tensor) {
    return tensor.device().type() == type
               ? absl::OkStatus()
               : absl::InvalidArgumentError("a tensor of another device");
  };
  return MakeLocalCommunicators(options);
}

struct Way {
  std::string name;
  std::function<Communicators(const ConformanceCase&)> make;
};

Communicators Staged(const ConformanceCase& test) {
  Communicators made;
  for (auto& host : LocalOn(test, at::kCPU)) {
    made.push_back(MakeStagedCommunicator(std::move(host)));
  }
  return made;
}

Communicators Split(const ConformanceCase& test) {
  Communicators host = LocalOn(test, at::kCPU), device = LocalOn(test, FakeDevice().type());
  Communicators made;
  for (size_t r = 0; r < host.size(); ++r) {
    made.push_back(MakeSplitCommunicator(std::move(host[r]), std::move(device[r])));
  }
  return made;
}

class DeviceConformanceTest : public testing::TestWithParam<std::pair<Way, ConformanceCase>> {};

TEST_P(DeviceConformanceTest, Holds) {
  const auto& [way, test] = GetParam();
  for (const std::string& text : RunOnThreads(test, way.make(test))) EXPECT_EQ(text, "");
}

std::vector<std::pair<Way, ConformanceCase>> Cases() {
  std::vector<std::pair<Way, ConformanceCase>> cases;
  for (const Way& way : {Way{"Staged", Staged}, Way{"Split", Split}}) {
    for (const c10::Device& device : {FakeDevice(), c10::Device(at::kCPU)}) {
      for (ConformanceCase test : CommunicatorConformanceCases(device)) {
        // The split one counts a barrier among the device's operations.
        if (way.name == "Split" && device.is_cpu() && absl::StrContains(test.name, "InFlight")) {
          continue;
        }
        test.name = way.name + (device.is_cpu() ? "OnHost" : "OnDevice") + test.name;
        cases.emplace_back(way, std::move(test));
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceConformanceTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.second.name; });

TEST(StagedCommunicatorTest, ADeviceThatBreaksFailsThisAndEveryLaterOperation) {
  const ConformanceCase alone = {.ranks = 1};
  for (const bool at_issue : {true, false}) {
    const auto communicator = std::move(Staged(alone)[0]);
    at::Tensor here = at::ones({3}), there = here.to(FakeDevice());
    BreakFakeDevice(at_issue);
    const auto pending = communicator->AllReduce(there, ReduceOp::kSum, "sum");
    BreakFakeDevice(true);
    const absl::Status status = pending->Wait();
    BreakFakeDevice(false);
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_TRUE(absl::StrContains(status.message(),
                                  at_issue ? "copying from the device: the fake device is broken"
                                           : "copying to the device: the fake device is broken"))
        << status;
    EXPECT_EQ(communicator->AllReduce(here, ReduceOp::kSum, "later")->Wait(), status);
  }
}

TEST(SplitCommunicatorTest, TheFailureOfOneHalfIsTheOthers) {
  const ConformanceCase two = {.ranks = 2};
  Communicators communicators = Split(two);
  at::Tensor here = at::ones({3}), there = here.to(FakeDevice());
  auto waiting = communicators[0]->AllReduce(there, ReduceOp::kSum, "waits for rank 1");
  // Rank 1 sends on the host something else than rank 0 does: the half of the host fails.
  auto one = communicators[1]->AllReduce(here, ReduceOp::kSum, "one");
  const absl::Status failure = communicators[0]->AllReduce(here, ReduceOp::kSum, "another")->Wait();
  EXPECT_EQ(failure.code(), absl::StatusCode::kInternal) << failure;
  EXPECT_EQ(waiting->Wait(), failure);
  EXPECT_EQ(communicators[0]->Barrier()->Wait(), failure);
  EXPECT_EQ(one->Wait(), failure);
  EXPECT_TRUE(absl::StrContains(communicators[0]->DumpFlightRecord(), "on the device:\n#0 "));
}

}  // namespace
}  // namespace muster::trainer
