// Tests that a rank whose process is killed goes on from its checkpoint as if nothing had happened.
// The variable MUSTER_TEST_GPUS is workers.gpus; by default that is 0, the CPU.

#include <signal.h>

#include <cstdlib>
#include <string>

#include "base/files/files.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/engine/testing/rank_process.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;
using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;

v1alpha1::TrainingJobSpec SpecIn(const std::string& folder) {
  v1alpha1::TrainingJobSpec spec = Spec(folder);
  const char* const gpus = std::getenv("MUSTER_TEST_GPUS");
  spec.mutable_workers()->set_gpus(gpus == nullptr ? 0 : std::atoi(gpus));
  return spec;
}

// Returns the tensor files of the checkpoint of the last step, as one text.
std::string FinalTensors(const std::string& folder) {
  std::string all;
  const std::string directory = folder + "/checkpoints/step-000000030";
  const auto entries = FileSystem().List(directory);
  EXPECT_TRUE(entries.ok()) << entries.status();
  if (!entries.ok()) return all;
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.name.ends_with(".safetensors")) continue;
    const auto bytes = ReadFile(FileSystem(), JoinPath(directory, entry.name));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    all += bytes.value_or("");
  }
  return all;
}

std::string Undisturbed() {
  const std::string folder = Folder("undisturbed");
  RankProcess rank(SpecIn(folder));
  Go(1, {&rank}, Prepare(1, {&rank}), Fresh());
  Finish({&rank});
  EXPECT_EQ(rank.reports.size(), 30u);
  if (rank.reports.empty()) return "";
  EXPECT_LT(rank.reports.back().loss(), 0.8 * rank.reports.front().loss());
  return FinalTensors(folder);
}

TEST(ResumeTest, AKilledRankEndsWithTheWeightsOfAnUndisturbedRun) {
  const std::string wanted = Undisturbed();
  ASSERT_GT(wanted.size(), 100'000u);
  const std::string folder = Folder("killed");
  const auto spec = SpecIn(folder);
  {
    RankProcess rank(spec);
    Go(1, {&rank}, Prepare(1, {&rank}), Fresh());
    CheckpointReport report;
    do {
      report = rank.Await(FromTrainer::kCheckpoint).checkpoint();
    } while (report.phase() == CheckpointReport::STARTED);
    ASSERT_EQ(report.phase(), CheckpointReport::WRITTEN) << report.error();
    rank.Kill();
  }
  RankProcess rank(spec);
  const auto ready = Prepare(2, {&rank});
  ASSERT_GE(ready[0].position().checkpoints_size(), 1);
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = ready[0].position().checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  Go(2, {&rank}, ready, resume);
  Finish({&rank});
  EXPECT_EQ(FinalTensors(folder), wanted);
}

}  // namespace
}  // namespace muster::trainer
