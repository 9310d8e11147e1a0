#include "trainer/device/device_versions.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

DeviceVersions Good() {
  return {.driver = 13000, .cuda = 13000, .built_with = 13000, .nccl = 22809};
}

std::string Refusal(DeviceVersions versions, int ranks = 2) {
  return std::string(CheckVersions(versions, ranks).message());
}

TEST(CheckVersionsTest, ADriverRunsTheCudaOfItsMajorVersionAndOlder) {
  EXPECT_EQ(Refusal(Good()), "");
  DeviceVersions newer = Good();
  newer.cuda = 13020;
  EXPECT_EQ(Refusal(newer), "") << "a minor version ahead of the driver";
  newer.driver = 14010;
  EXPECT_EQ(Refusal(newer), "");
}

TEST(CheckVersionsTest, ADriverThatIsTooOldIsNamedWithTheOneToInstall) {
  DeviceVersions old = Good();
  old.driver = 12040;
  EXPECT_EQ(Refusal(old),
            "the driver runs nothing newer than CUDA 12.4, and the image has CUDA 13.0: install "
            "driver 580 or newer on the node");
  old.driver = 0;
  EXPECT_EQ(Refusal(old),
            "no driver answers, and the image has CUDA 13.0: run the job on nodes with GPUs whose "
            "driver is loaded, or leave workers.gpus out");
}

TEST(CheckVersionsTest, AnImageOfAnotherCudaIsRefused) {
  DeviceVersions mixed = Good();
  mixed.cuda = 12080;
  EXPECT_EQ(Refusal(mixed),
            "the image has CUDA 12.8, and muster was built with CUDA 13.0: build the image anew "
            "with one of them");
}

TEST(CheckVersionsTest, OnlySeveralRanksNeedNccl) {
  DeviceVersions without = Good();
  without.no_nccl = "NCCL cannot be loaded: no file";
  EXPECT_EQ(Refusal(without, 1), "");
  EXPECT_EQ(Refusal(without, 2),
            "several ranks communicate over NCCL, and NCCL cannot be loaded: no file: build the "
            "image with libnccl.so.2 of the same PyTorch");
}

}  // namespace
}  // namespace muster::trainer
