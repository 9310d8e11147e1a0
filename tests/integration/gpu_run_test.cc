// Tests a job with GPUs and the trainer from its manifest to the environment of its ranks, on a
// machine whose driver is a fake library (agent/hardware/testdata/fake_nvml.cc): no card is needed.

#include <dlfcn.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: WORKERS
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt, format: Bytes}
    train: {steps: 10, globalBatch: 8, microBatch: 2, sequence: 64}
  checkpoint: {uri: $FOLDER/checkpoints}
)";

// The links of NVLink are between the first and the third, and between the second and the fourth.
constexpr char kFourGpus[] =
    "driver 580.65.06\n"
    "gpu uuid=GPU-a name=A pci=00000000:1B:00.0 peers=2 board=0\n"
    "gpu uuid=GPU-b name=A pci=00000000:1C:00.0 peers=3 board=1\n"
    "gpu uuid=GPU-c name=A pci=00000000:1D:00.0 peers=0 board=2\n"
    "gpu uuid=GPU-d name=A pci=00000000:1E:00.0 peers=1 board=3\n";

// Writes down what a rank was given, and stays until it is killed.
constexpr char kLookingTrainer[] =
    "#!/bin/sh\n"
    "echo \"$JOB_COMPLETION_INDEX.$LOCAL_RANK $CUDA_VISIBLE_DEVICES\" >> \"$HOME/seen\"\n"
    "exec sleep 600\n";

class GpuRunTest : public testing::Test {
 protected:
  std::unique_ptr<LocalRun> NewRun(const std::string& name, const std::string& workers,
                                   const std::string& driver) {
    const std::string folder = FreshFolder(name);
    EXPECT_TRUE(Write(folder + "/text.txt", std::string(40'000, 'a')));
    EXPECT_TRUE(Write(folder + "/nvml.txt", driver));
    auto run = std::make_unique<LocalRun>(folder, "small",
                                          absl::StrReplaceAll(kManifest, {{"WORKERS", workers}}));
    run->AddEnvironment("MUSTER_NVML=" + ProgramPath("agent/hardware/libfake_nvml.so"));
    run->AddEnvironment(absl::StrCat("FAKE_NVML=", folder, "/nvml.txt"));
    return run;
  }
  static bool Write(const std::string& path, const std::string& text) {
    return WriteFileAtomically(FileSystem(), path, text).ok();
  }

  // Returns what the ranks were given, one line for each, once there are so many.
  static std::vector<std::string> WhatRanksSaw(LocalRun& run, size_t ranks) {
    const std::string trainer = run.folder() + "/trainer";
    EXPECT_TRUE(Write(trainer, kLookingTrainer));
    EXPECT_EQ(chmod(trainer.c_str(), 0755), 0);
    run.SetTrainer(trainer);
    EXPECT_TRUE(run.Start().ok());
    const absl::Time end = Clock::Real().Monotonic() + kPatience;
    std::vector<std::string> lines;
    while (lines.size() < ranks && Clock::Real().Monotonic() < end) {
      poll(nullptr, 0, 20);
      lines = absl::StrSplit(ReadFile(FileSystem(), run.folder() + "/seen").value_or(""), '\n',
                             absl::SkipEmpty());
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

TEST_F(GpuRunTest, RanksNextToEachOtherGetNeighbouringGpus) {
  auto run = NewRun("links", "{count: 1, gpus: 4}", kFourGpus);
  EXPECT_THAT(WhatRanksSaw(*run, 4),
              ElementsAre("0.0 GPU-a", "0.1 GPU-c", "0.2 GPU-b", "0.3 GPU-d"))
      << run->Output();
}

TEST_F(GpuRunTest, WorkersOnOneMachineShareNoGpuAndMigDevicesAreGpus) {
  auto run = NewRun("workers", "{count: 3, gpus: 1}",
                    "driver 580.65.06\n"
                    "gpu uuid=GPU-a name=A pci=00000000:1B:00.0 mig=MIG-1,MIG-2\n"
                    "gpu uuid=GPU-b name=A pci=00000000:1C:00.0\n");
  std::vector<std::string> devices;
  for (const std::string& line : WhatRanksSaw(*run, 3)) devices.push_back(line.substr(4));
  std::sort(devices.begin(), devices.end());
  EXPECT_THAT(devices, ElementsAre("GPU-b", "MIG-1", "MIG-2")) << run->Output();
}

// The trainer never computes on the CPU instead.
TEST_F(GpuRunTest, ATrainerWithoutADriverFailsTheJobWithASentence) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != nullptr) GTEST_SKIP() << "this machine has a driver";
  auto run = NewRun("driver", "{count: 1, gpus: 1}", kFourGpus);
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitBadInput) << run->Output();
  const std::string sentence = "workers.gpus: this machine has no NVIDIA driver: libcuda.so.1: ";
  EXPECT_THAT(run->Output(), HasSubstr("muster: job small failed: BadInput: "));
  EXPECT_THAT(run->Output(), HasSubstr(sentence));
  const auto described = run->RunTool({"describe", "small"});
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_THAT(described->out, HasSubstr(sentence));
  EXPECT_FALSE(Exists(FileSystem(), run->Checkpoints() + "/step-000000010"));
}

// Any library stands for the driver's: the image is looked at next.
TEST_F(GpuRunTest, ATrainerWhoseImageHasNoPartForGpusFailsTheJobWithASentence) {
  auto run = NewRun("image", "{count: 1, gpus: 1}", kFourGpus);
  const std::string libraries = run->folder() + "/libraries";
  ASSERT_TRUE(FileSystem().MakeDirectories(libraries).ok());
  ASSERT_EQ(
      symlink(std::filesystem::absolute(ProgramPath("agent/hardware/libfake_nvml.so")).c_str(),
              (libraries + "/libcuda.so.1").c_str()),
      0);
  run->AddEnvironment("LD_LIBRARY_PATH=" + libraries);
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitBadInput) << run->Output();
  EXPECT_THAT(run->Output(),
              HasSubstr("workers.gpus: LibTorch's library for GPUs (of PyTorch 2.11 for CUDA 13) "
                        "cannot be loaded: libtorch_cuda.so: "));
  EXPECT_THAT(run->Output(),
              HasSubstr(": build the workers' image with the part for GPUs, docs/gpu.md"));
}

}  // namespace
}  // namespace muster::tests
