// Tests where a process computes: which device it takes, and a whole run on the fake one.

#include "trainer/process/process_device.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "gtest/gtest.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/device/testing/fake_runtime.h"
#include "trainer/engine/testing/rank_process.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/process/trainer_process.h"

namespace muster::trainer {
namespace {

v1alpha1::TrainingJobSpec OnGpus(int gpus) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_gpus(gpus);
  return spec;
}

TEST(ProcessDeviceTest, AJobWithoutGpusLoadsNothing) {
  const auto chosen = ChooseDevice(OnGpus(0), 0, []() -> absl::StatusOr<DeviceRuntime*> {
    return absl::InternalError("was called");
  });
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_TRUE(chosen->device.is_cpu());
}

TEST(ProcessDeviceTest, RanksTakeTheDevicesInTurn) {
  FakeRuntime runtime;
  runtime.count = 2;
  for (const int rank : {0, 1, 2}) {
    const auto chosen = ChooseDevice(OnGpus(3), rank, [&] { return &runtime; });
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(chosen->device.index(), rank % 2);
    EXPECT_EQ(chosen->facts.uuid, absl::StrCat("fake-", rank % 2));
    EXPECT_EQ(runtime.used, rank % 2);
  }
}

TEST(ProcessDeviceTest, EverythingThatIsMissingIsNamedWithTheField) {
  EXPECT_EQ(ChooseDevice(OnGpus(1), 0, nullptr).status(),
            absl::FailedPreconditionError("workers.gpus: this program computes on CPUs alone"));
  const auto no_driver = []() -> absl::StatusOr<DeviceRuntime*> {
    return absl::FailedPreconditionError("this machine has no NVIDIA driver: libcuda.so.1");
  };
  EXPECT_EQ(ChooseDevice(OnGpus(1), 0, no_driver).status(),
            absl::FailedPreconditionError(
                "workers.gpus: this machine has no NVIDIA driver: libcuda.so.1"));
  FakeRuntime old;
  old.versions.driver = 12040;
  EXPECT_EQ(ChooseDevice(OnGpus(1), 0, [&] { return &old; }).status(),
            absl::FailedPreconditionError(
                "workers.gpus: the driver runs nothing newer than CUDA 12.4, and the image has "
                "CUDA 13.0: install driver 580 or newer on the node"));
  EXPECT_EQ(old.used, -1) << "a device was touched before";
  FakeRuntime broken;
  broken.use_fault = absl::InternalError("the first kernel: an illegal memory access");
  EXPECT_EQ(ChooseDevice(OnGpus(1), 0, [&] { return &broken; }).status(),
            absl::InternalError("workers.gpus: the first kernel: an illegal memory access"));
  auto script = OnGpus(1);
  script.mutable_trainer()->mutable_model()->set_torch_script("/m.pt");
  EXPECT_TRUE(absl::IsInvalidArgument(ChooseDevice(script, 0, [&] { return &broken; }).status()));
}

TEST(ProcessDeviceTest, Fp8NeedsAGpuThatMultipliesItAndAnyCpu) {
  EXPECT_TRUE(CheckFp8Of({}).ok());
  FakeRuntime runtime;
  for (const auto& [capability, ok] : {std::pair{80, false}, {86, false}, {89, true}, {90, true}}) {
    runtime.capability = capability;
    const auto chosen = ChooseDevice(OnGpus(1), 0, [&] { return &runtime; });
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(CheckFp8Of(*chosen).ok(), ok) << capability;
  }
}

TEST(Bf16CheckTest, WarnsWithTheFactorWhereBf16IsSlow) {
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.009}),
            "this CPU has no fast bfloat16: a matrix product takes 9.0 times as long as in fp32; "
            "train with precision fp32 on it");
  EXPECT_TRUE(SlowBf16({.fp32 = 1.0, .bf16 = 2.1}).has_value());
}

TEST(Bf16CheckTest, DoesNotWarnWhereBf16IsFast) {
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.0005}), std::nullopt);
  EXPECT_EQ(SlowBf16({.fp32 = 0.001, .bf16 = 0.002}), std::nullopt);
  EXPECT_EQ(SlowBf16({.fp32 = 0.0, .bf16 = 0.001}), std::nullopt) << "the clock did not tick";
  EXPECT_EQ(SlowBf16({.fp32 = NAN, .bf16 = NAN}), std::nullopt);
}

TEST(Bf16CheckTest, MeasuresBothPrecisions) {
  const absl::StatusOr<ProductTimes> times = MeasureProducts(Clock::Real());
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_TRUE(std::isfinite(times->fp32) && times->fp32 > 0.0) << times->fp32;
  EXPECT_TRUE(std::isfinite(times->bf16) && times->bf16 > 0.0) << times->bf16;
}

// One rank in this process, its agent's part played by the test.
struct RankOnDevice {
  absl::Status Create(const v1alpha1::TrainingJobSpec& spec) {
    v1alpha1::TrainerConfigure configure;
    *configure.mutable_spec() = spec;
    configure.set_job("default/test");
    const ProcessOptions options{.load_devices = [this] { return &runtime; }};
    auto created = TrainerProcess::Create(configure, options, FileSystem(), Clock::Real(), inbox,
                                          outbox, progress);
    if (!created.ok()) return created.status();
    process = *std::move(created);
    return absl::OkStatus();
  }
  // Trains to the end, from the newest checkpoint if there is one.
  v1alpha1::TrainerFinished Train() {
    std::thread thread([this] {
      while (process->trainer().RunOnce()) {
      }
    });
    v1alpha1::ToTrainer prepare;
    prepare.mutable_prepare()->mutable_round()->set_round(1);
    prepare.mutable_prepare()->set_world_size(1);
    inbox.Push(prepare);
    const auto ready = outbox.Await(v1alpha1::FromTrainer::kReady).ready().ready();
    v1alpha1::ToTrainer go;
    go.mutable_go()->mutable_round()->set_round(1);
    go.mutable_go()->set_endpoint(ready.endpoint());
    v1alpha1::ResumePoint& resume = *go.mutable_go()->mutable_resume();
    resume = Fresh();
    if (ready.position().checkpoints_size() > 0) {
      resume.set_source(v1alpha1::ResumePoint::CHECKPOINT);
      *resume.mutable_checkpoint() = ready.position().checkpoints(0);
      *resume.mutable_version() = resume.checkpoint().version();
    }
    resume.set_next_attempt(1);
    inbox.Push(go);
    const auto finished = outbox.Await(v1alpha1::FromTrainer::kFinished).finished();
    inbox.Close();
    thread.join();
    return finished;
  }

  FakeRuntime runtime;
  Inbox inbox;
  RecordingOutbox outbox;
  EngineProgress progress{Clock::Real()};
  std::unique_ptr<TrainerProcess> process;
};

TEST(TrainerProcessOnDeviceTest, ARunTrainsOnTheDeviceAndGoesOnFromItsCheckpoint) {
  auto spec = Spec(Folder("device"));
  spec.mutable_workers()->set_gpus(1);
  spec.mutable_trainer()->mutable_train()->set_steps(10);
  {
    RankOnDevice first;
    ASSERT_EQ(first.Create(spec), absl::OkStatus());
    EXPECT_GT(FakeDeviceMemoryInUse(), 1 << 20);
    const auto finished = first.Train();
    EXPECT_TRUE(finished.succeeded()) << finished.message();
    EXPECT_EQ(first.outbox.Reports().size(), 10u);
  }
  spec.mutable_trainer()->mutable_train()->set_steps(12);
  RankOnDevice second;
  ASSERT_EQ(second.Create(spec), absl::OkStatus());
  const auto finished = second.Train();
  EXPECT_TRUE(finished.succeeded()) << finished.message();
  const auto reports = second.outbox.Reports();
  ASSERT_EQ(reports.size(), 2u) << "it went on after step 10";
  EXPECT_EQ(reports[0].version().step(), 11);
}

TEST(TrainerProcessOnDeviceTest, Fp8IsRefusedOnAnOldGpuBeforeTheDataIsOpened) {
  auto spec = Spec(Folder("fp8"));
  spec.mutable_workers()->set_gpus(1);
  spec.mutable_trainer()->mutable_train()->set_precision("fp8");
  spec.mutable_trainer()->mutable_data()->set_uri("/nothing");
  RankOnDevice rank;
  rank.runtime.capability = 80;
  EXPECT_EQ(rank.Create(spec),
            absl::FailedPreconditionError(
                "train.precision: fp8 needs a GPU of compute capability 8.9 or newer, such as an "
                "L4 or an H100, and the Fake 1000 is of 8.0: use bf16"));
}

TEST(TrainerProcessOnDeviceTest, AModelThatTheDeviceHasNoMemoryForIsRefused) {
  auto spec = Spec(Folder("small"));
  spec.mutable_workers()->set_gpus(1);
  RankOnDevice rank;
  rank.runtime.free_bytes = 1000;
  const absl::Status status = rank.Create(spec);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "1000 bytes are available on the GPU Fake 1000"))
      << status;
}

}  // namespace
}  // namespace muster::trainer
