#include "trainer/process/process_network.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/device/testing/fake_runtime.h"

namespace muster::trainer {
namespace {

// The host's half among threads of this process. An Abort() after Connect() has returned does
// nothing, as Gloo's.
class HostNetwork final : public RoundNetwork {
 public:
  explicit HostNetwork(std::vector<std::unique_ptr<Communicator>>& ranks) : ranks_(ranks) {}
  void SetDeadline(absl::Duration) override {}
  void SetSecret(std::string secret) override { secret_ = std::move(secret); }
  absl::StatusOr<std::string> Serve() override { return "thread:1"; }
  std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                const std::string&) override {
    struct Connector final : RoundConnector {
      absl::StatusOr<std::unique_ptr<Communicator>> Connect() override { return std::move(made); }
      void Abort(std::string_view) override {}
      std::unique_ptr<Communicator> made;
    };
    auto connector = std::make_unique<Connector>();
    connector->made = std::move(ranks_[static_cast<size_t>(place.rank)]);
    return connector;
  }

 private:
  std::vector<std::unique_ptr<Communicator>>& ranks_;
  std::string secret_;
};

// Connects ranks with these devices and calls `body` on each.
void OnRanks(FakeRuntime& runtime, const std::vector<std::string>& cards,
             const std::function<void(Communicator&)>& body) {
  auto ranks = MakeLocalCommunicators({.size = static_cast<int>(cards.size())});
  std::vector<std::thread> threads;
  for (size_t r = 0; r < cards.size(); ++r) {
    threads.emplace_back([&, r] {
      const ProcessDevice device{.device = FakeDevice(),
                                 .runtime = &runtime,
                                 .facts = {.uuid = absl::StrCat(r), .card = cards[r]}};
      const auto network =
          MakeDeviceNetwork(std::make_unique<HostNetwork>(ranks), device, absl::Seconds(20));
      GroupPlace place{.rank = static_cast<int>(r), .size = static_cast<int>(cards.size())};
      place.round.set_round(1);
      auto communicator = network->MakeConnector(place, "thread:1")->Connect();
      ASSERT_TRUE(communicator.ok()) << communicator.status();
      body(**communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void ExpectSums(Communicator& communicator) {
  for (const c10::Device& device : {FakeDevice(), c10::Device(at::kCPU)}) {
    at::Tensor tensor = at::full({5}, communicator.rank() + 1.0).to(device);
    const absl::Status summed = communicator.AllReduce(tensor, ReduceOp::kSum, "sum")->Wait();
    ASSERT_TRUE(summed.ok()) << summed;
    const int n = communicator.size();
    EXPECT_TRUE(at::equal(tensor.cpu(), at::full({5}, n * (n + 1) / 2.0)));
  }
}

TEST(DeviceNetworkTest, RanksWithDevicesOfTheirOwnMeetThere) {
  FakeRuntime runtime;
  OnRanks(runtime, {"a", "b", "c"}, [](Communicator& communicator) {
    ExpectSums(communicator);
    EXPECT_TRUE(absl::StrContains(communicator.DumpFlightRecord(), "on the device:\n#0 AllReduce"));
  });
  EXPECT_EQ(runtime.groups(), 1u);
}

TEST(DeviceNetworkTest, RanksThatShareADeviceCommunicateThroughTheHost) {
  FakeRuntime runtime;
  OnRanks(runtime, {"a", "b", "a"}, ExpectSums);
  EXPECT_EQ(runtime.groups(), 0u);
}

TEST(DeviceNetworkTest, ARankAloneNeedsNobody) {
  FakeRuntime runtime;
  OnRanks(runtime, {"a"}, ExpectSums);
  EXPECT_EQ(runtime.groups(), 0u);
}

// Rank 1 never comes: rank 0 waits for its device.
TEST(DeviceNetworkTest, AbortEndsTheQuestionForDevices) {
  FakeRuntime runtime;
  auto ranks = MakeLocalCommunicators({.size = 2});
  const ProcessDevice device{.device = FakeDevice(), .runtime = &runtime, .facts = {.card = "a"}};
  const auto network =
      MakeDeviceNetwork(std::make_unique<HostNetwork>(ranks), device, absl::Seconds(20));
  GroupPlace place{.rank = 0, .size = 2};
  const auto connector = network->MakeConnector(place, "thread:1");
  std::thread aborter([&] { connector->Abort("prepared again"); });
  const absl::Status status = connector->Connect().status();
  aborter.join();
  EXPECT_EQ(status, absl::AbortedError("prepared again"));
}

}  // namespace
}  // namespace muster::trainer
