#ifndef MUSTER_TRAINER_DEVICE_TESTING_FAKE_RUNTIME_H_
#define MUSTER_TRAINER_DEVICE_TESTING_FAKE_RUNTIME_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/device/device_runtime.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// The runtime of the fake device. Groups meet among the threads of this process.
class FakeRuntime final : public DeviceRuntime {
 public:
  c10::DeviceType type() const override { return FakeDevice().type(); }
  absl::StatusOr<DeviceVersions> Versions() override { return versions; }
  absl::StatusOr<int> Count() override { return count; }
  absl::Status Use(int index) override {
    used = index;
    return use_fault;
  }
  absl::StatusOr<DeviceFacts> Describe(int index) override {
    return DeviceFacts{.name = "Fake 1000",
                       .uuid = absl::StrCat("fake-", index),
                       .card = absl::StrCat("card-", index),
                       .capability = capability,
                       .free_bytes = free_bytes,
                       .total_bytes = free_bytes};
  }
  const Kernels& kernels() override { return KernelsOfFakeDevice(); }
  absl::StatusOr<std::unique_ptr<DeviceConnector>> MakeConnector(
      const DeviceGroup& group) override {
    MutexLock lock(mu_);
    auto& communicators = groups_[group.tag];
    if (communicators.empty()) communicators = MakeLocalCommunicators({.size = group.size});
    return std::make_unique<Connector>(std::move(communicators[static_cast<size_t>(group.rank)]));
  }
  // Returns how many groups met on devices.
  size_t groups() {
    MutexLock lock(mu_);
    return groups_.size();
  }

  DeviceVersions versions{.driver = 13000, .cuda = 13000, .built_with = 13000, .nccl = 22809};
  int count = 1;
  int used = -1;
  int capability = 90;
  int64_t free_bytes = std::numeric_limits<int64_t>::max();
  absl::Status use_fault;

 private:
  class Connector final : public DeviceConnector {
   public:
    explicit Connector(std::unique_ptr<Communicator> made) : made_(std::move(made)) {}
    absl::StatusOr<std::unique_ptr<Communicator>> Connect() override { return std::move(made_); }
    void Abort(std::string_view) override {}

   private:
    std::unique_ptr<Communicator> made_;
  };

  Mutex mu_;
  std::map<std::string, std::vector<std::unique_ptr<Communicator>>> groups_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_TESTING_FAKE_RUNTIME_H_
