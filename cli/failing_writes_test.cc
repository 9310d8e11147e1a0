// Walks the commands that remove or replace a job, and lets a write fail at each of their steps:
// none may leave less than it found.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/testing/failing_files.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/apply.h"
#include "cli/jobs/job_removal.h"
#include "cli/jobs/local_jobs.h"
#include "cli/run/fresh_start.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::cli {
namespace {

constexpr const char* kSteps[] = {"step-000000010", "step-000000020", "step-000000030"};

control::TrainingJob Job() {
  control::TrainingJob job;
  job.ns = "default";
  job.name = "small";
  job.spec.mutable_trainer()->mutable_model()->set_preset("gpt2-nano");
  return job;
}

class FailingWritesTest : public testing::Test {
 protected:
  // Makes the job `small`, which has failed, with checkpoints in its own folder and elsewhere.
  void MakeJob() {
    ASSERT_TRUE(RemoveAll(FileSystem(), root_).ok());
    ASSERT_TRUE(FileSystem().MakeDirectories(paths_.pods()).ok());
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), paths_.history(), "{}\n").ok());
    for (const std::string& folder : {paths_.checkpoints(), elsewhere_}) {
      for (const char* step : kSteps) {
        const std::string path = JoinPath(folder, step);
        ASSERT_TRUE(FileSystem().MakeDirectories(path).ok());
        ASSERT_TRUE(WriteFileAtomically(FileSystem(), JoinPath(path, "DONE"), step).ok());
      }
    }
    const auto api = OpenStore(FileSystem());
    ASSERT_TRUE(api.ok()) << api.status();
    const auto made = ApplyJob(**api, **api, Job(), 0);
    ASSERT_TRUE(made.ok()) << made.status();
    uid_ = made->uid;
    control::TrainingJob job = *GetJob(**api, {"default", "small"});
    job.status.set_state("Failed");
    ASSERT_TRUE((*api)->UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  }
  absl::StatusOr<std::unique_ptr<kube::MemoryApi>> OpenStore(Files& files) {
    kube::MemoryApiOptions options;
    options.directory = paths_.api();
    options.wal.files = &files;
    return kube::MemoryApi::Open(Clock::Real(), std::move(options));
  }

  void ExpectTheJobIsWhole(const std::string& when) {
    const auto job = ReadJob(paths_);
    ASSERT_TRUE(job.ok()) << when << job.status();
    EXPECT_EQ(job->uid, uid_) << when;
    EXPECT_EQ(job->status.state(), "Failed") << when;
    EXPECT_TRUE(Exists(FileSystem(), paths_.history())) << when;
    for (const std::string& folder : {paths_.checkpoints(), elsewhere_}) {
      for (const char* step : kSteps) {
        EXPECT_TRUE(Exists(FileSystem(), JoinPath(JoinPath(folder, step), "DONE")))
            << when << folder << " " << step;
      }
    }
  }
  // Counts checkpoints below `folder`, wherever they have been moved.
  int CheckpointsBelow(const std::string& folder) {
    int found = 0;
    const auto entries = FileSystem().List(folder);
    if (!entries.ok()) return 0;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.kind != FileKind::kDirectory) continue;
      const std::string path = JoinPath(folder, entry.name);
      found += absl::StartsWith(entry.name, "step-") && Exists(FileSystem(), path + "/DONE");
      found += CheckpointsBelow(path);
    }
    return found;
  }

  // Calls `command` with one write after the other failing, until all its writes work.
  void Walk(const std::function<absl::Status(Files&)>& command,
            const std::function<void(const std::string&)>& after_success) {
    FailingFiles files(FileSystem());
    for (int64_t step = 0;; ++step) {
      MakeJob();
      if (HasFatalFailure()) return;
      const std::string when = absl::StrCat("write ", step, " failed: ");
      files.FailAt(step, 1);
      const absl::Status status = command(files);
      const bool walked = files.made() <= step;
      files.FailAt(INT64_MAX, 1);
      if (status.ok()) {
        after_success(when);
      } else {
        ExpectTheJobIsWhole(when);
      }
      EXPECT_EQ(CheckpointsBelow(root_), 6) << when << "checkpoints are lost";
      if (!walked) continue;
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_GT(step, 2) << "no write of it was let fail";
      return;
    }
  }

  const std::string root_ = testing::TempDir() + "/failing-writes";
  const std::string elsewhere_ = root_ + "/elsewhere";
  const JobPaths paths_{root_, "small"};
  std::string uid_;
};

TEST_F(FailingWritesTest, DeleteForgetsTheJobOrLeavesItWhole) {
  Walk([&](Files& files) { return RemoveJob(files, paths_).status(); },
       [&](const std::string& when) { EXPECT_FALSE(ReadJob(paths_).ok()) << when; });
}

// Regression: `muster run --fresh` forgot the job and set its checkpoints aside before it knew that
// the new one could run.
TEST_F(FailingWritesTest, AFreshStartThatDoesNotGetToTrainLeavesTheJobWhole) {
  Walk(
      [&](Files& files) -> absl::Status {
        const auto fresh = FreshStart::Begin(files, paths_);
        if (!fresh.ok()) return fresh.status();
        EXPECT_FALSE(Exists(FileSystem(), paths_.history()));
        // The new job has made its folder when it is refused.
        EXPECT_TRUE(FileSystem().MakeDirectories(paths_.pods()).ok());
        return (*fresh)->SetAside({elsewhere_});
      },
      [&](const std::string& when) { ExpectTheJobIsWhole(when); });
}

TEST_F(FailingWritesTest, AFreshStartThatTrainsKeepsEveryCheckpoint) {
  Walk(
      [&](Files& files) -> absl::Status {
        const auto fresh = FreshStart::Begin(files, paths_);
        if (!fresh.ok()) return fresh.status();
        if (const absl::Status aside = (*fresh)->SetAside({elsewhere_}); !aside.ok()) return aside;
        (*fresh)->Commit();
        return absl::OkStatus();
      },
      [&](const std::string& when) {
        EXPECT_FALSE(ReadJob(paths_).ok()) << when;
        EXPECT_FALSE(Exists(FileSystem(), JoinPath(elsewhere_, kSteps[2]))) << when;
      });
}

// Regression: `muster resume` of a failed job deleted it, and could not create it again.
TEST_F(FailingWritesTest, AResumedJobIsReplacedOrStaysAsItIs) {
  Walk(
      [&](Files& files) -> absl::Status {
        const auto job = ReadJob(paths_);
        if (!job.ok()) return job.status();
        const auto api = OpenStore(files);
        if (!api.ok()) return api.status();
        return ApplyJob(**api, **api, *job, 0).status();
      },
      [&](const std::string& when) {
        const auto job = ReadJob(paths_);
        ASSERT_TRUE(job.ok()) << when << job.status();
        EXPECT_NE(job->uid, uid_) << when;
        EXPECT_EQ(job->status.state(), "") << when;
      });
}

}  // namespace
}  // namespace muster::cli
