#include "cli/run/local_gpus.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

v1alpha1::TrainingJobSpec Spec(int count, int gpus) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_count(count);
  spec.mutable_workers()->set_gpus(gpus);
  spec.mutable_trainer();
  return spec;
}

agent::GpuDevices Gpus(size_t count) {
  agent::GpuDevices gpus;
  gpus.devices.resize(count);
  return gpus;
}

TEST(WhyGpusNeverFitTest, WorkersWhoseGpusAreThereFit) {
  EXPECT_EQ(WhyGpusNeverFit(Spec(2, 0), Gpus(0)), std::nullopt);
  EXPECT_EQ(WhyGpusNeverFit(Spec(2, 2), Gpus(4)), std::nullopt);
  v1alpha1::TrainingJobSpec elastic = Spec(4, 2);
  elastic.mutable_workers()->set_min(1);
  EXPECT_EQ(WhyGpusNeverFit(elastic, Gpus(2)), std::nullopt);
}

TEST(WhyGpusNeverFitTest, WithoutADriverItSaysWhyThereAreNone) {
  agent::GpuDevices none;
  none.absence = "NVML is not here: no library";
  EXPECT_EQ(WhyGpusNeverFit(Spec(1, 1), none),
            "spec.workers.gpus: 1 worker wants 1 GPU, and this machine has none (NVML is not here: "
            "no library): leave workers.gpus out to train on its CPUs");
  v1alpha1::TrainingJobSpec command = Spec(2, 2);
  command.clear_trainer();
  EXPECT_EQ(WhyGpusNeverFit(command, Gpus(0)),
            "spec.workers.gpus: 2 workers want 2 GPUs each, and this machine has none: leave "
            "workers.gpus out");
}

TEST(WhyGpusNeverFitTest, WithFewerItSaysHowManyWouldDo) {
  EXPECT_EQ(WhyGpusNeverFit(Spec(2, 4), Gpus(6)),
            "spec.workers.gpus: 2 workers want 4 GPUs each, and this machine has 6 in all: 3 would "
            "do");
  EXPECT_EQ(WhyGpusNeverFit(Spec(3, 1), Gpus(2)),
            "spec.workers.gpus: 3 workers want 1 GPU each, and this machine has 2 in all: lower "
            "workers.count to 2 or less, and gpus to 1");
  EXPECT_EQ(WhyGpusNeverFit(Spec(1, 8), Gpus(2)),
            "spec.workers.gpus: 1 worker wants 8 GPUs, and this machine has 2: 2 would do");
}

}  // namespace
}  // namespace muster::cli
