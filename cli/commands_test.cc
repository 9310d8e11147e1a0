#include "cli/commands.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "cli/flags/command_call.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/local_jobs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Command& Named(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
  }
  std::abort();
}

std::string Root(const std::string& name) {
  std::string root = JoinPath(testing::TempDir(), name);
  EXPECT_TRUE(RemoveAll(FileSystem(), root).ok());
  EXPECT_TRUE(FileSystem().MakeDirectories(root).ok());
  return root;
}

constexpr const char* kOfOneJob[] = {"get", "describe", "logs", "stop", "resume", "checkpoints"};
constexpr const char* kEndAJob[] = {"stop", "delete"};

// Regression: `muster get` and `muster logs` returned 0 for the folder of a run that did not start.
TEST(CommandsTest, AFolderWithoutAJobIsNoJob) {
  const std::string root = Root("folder");
  const JobPaths paths{root, "small"};
  ASSERT_TRUE(FileSystem().MakeDirectories(paths.pods()).ok());
  ASSERT_TRUE(FileSystem().MakeDirectories(paths.api()).ok());
  for (const char* name : kOfOneJob) {
    const CommandResult ended = Call(Named(name).main, {"small", "--state-dir", root});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_THAT(ended.out, IsEmpty()) << name;
    EXPECT_EQ(ended.err, absl::StrCat("muster: there is no job 'small': ", paths.folder(),
                                      " exists, but no job was written to it\n"))
        << name;
  }
  const CommandResult all = Call(Named("get").main, {"--state-dir", root});
  EXPECT_EQ(all.code, kExitOk) << "a list of all is one, whatever is in it";
  EXPECT_THAT(all.out, HasSubstr("there is no job 'small'"));
}

// Makes a job with the logs of ranks 0 and 1 on two workers.
std::string RootWithLogs() {
  const std::string root = Root("logs");
  const JobPaths paths{root, "small"};
  kube::MemoryApiOptions options;
  options.directory = paths.api();
  const auto api = kube::MemoryApi::Open(Clock::Real(), std::move(options));
  EXPECT_TRUE(api.ok()) << api.status();
  control::TrainingJob job;
  job.ns = "default";
  job.name = "small";
  EXPECT_TRUE((*api)->Create(kube::kTrainingJobs, control::ToJson(job)).ok());
  for (const char* rank : {"0", "1"}) {
    const std::string logs = absl::StrCat(paths.pods(), "/small-", rank, "-1/logs");
    EXPECT_TRUE(FileSystem().MakeDirectories(logs).ok());
    const std::string log = absl::StrCat(logs, "/rank-", rank, ".log");
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), log, absl::StrCat("of rank ", rank, "\n")).ok());
  }
  return root;
}

// Regression: they printed nothing and returned 0.
TEST(CommandsTest, LogsOfARankOrWorkerThatIsNotThereAreRefused) {
  const std::string root = RootWithLogs();
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{"--rank", "x"}, "--rank needs a whole number, not 'x'"},
      {{"--rank", "-1"}, "--rank: want a number from 0 on"},
      {{"--rank", "7"}, "job small has no log of rank 7; there are those of: 0, 1"},
      {{"--worker", "9"}, "job small has no log of worker 9; there are those of: 0, 1"},
      {{"--worker", ""}, "--worker needs a whole number, not ''"},
      {{"--worker", "1", "--rank", "0"},
       "job small has no log of rank 0 on worker 1; there are those of: 1"},
      {{"--worker", "9", "--follow"}, "job small has no log of worker 9; there are those of: 0, 1"},
  };
  for (const auto& [flags, why] : refused) {
    std::vector<std::string> arguments = {"small", "--state-dir", root};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const CommandResult ended = Call(&LogsMain, arguments);
    EXPECT_EQ(ended.code, kExitBadInput) << why;
    EXPECT_THAT(ended.out, IsEmpty()) << why;
    EXPECT_EQ(ended.err, absl::StrCat("muster: ", why, "\n"));
  }
  const CommandResult one = Call(&LogsMain, {"small", "--state-dir", root, "--rank", "01"});
  EXPECT_EQ(one.code, kExitOk);
  EXPECT_EQ(one.out, "==> small-1-1/rank-1.log\nof rank 1\n");
}

// Regression: all words but the first were passed over.
TEST(CommandsTest, AWordTooManyIsRefused) {
  for (const char* name :
       {"get", "describe", "events", "logs", "resume", "explain", "queue", "replay"}) {
    const CommandResult ended = Call(Named(name).main, {"small", "other", "--state-dir", "/none"});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_THAT(ended.out, IsEmpty()) << name;
    EXPECT_EQ(ended.err, "muster: 'other' is one word too many after 'small'\n") << name;
  }
}

// Regression: a directory that is not there was listed as one without checkpoints.
TEST(CommandsTest, ADirectoryOfCheckpointsThatIsNotThereIsRefused) {
  const std::string root = Root("nosuch");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), root + "/file", "x").ok());
  for (const char* verb : {"", "prune", "export"}) {
    std::vector<std::string> arguments = {"--out", root + "/out", "--dir"};
    if (*verb != '\0') arguments.insert(arguments.begin(), verb);
    arguments.push_back(root + "/none");
    const CommandResult none = Call(&CheckpointsMain, arguments);
    EXPECT_EQ(none.code, kExitBadInput) << verb;
    EXPECT_EQ(none.err, absl::StrCat("muster: --dir: there is no directory ", root, "/none\n"));
    EXPECT_THAT(none.out, IsEmpty());
    arguments.back() = root + "/file";
    const CommandResult file = Call(&CheckpointsMain, arguments);
    EXPECT_EQ(file.code, kExitBadInput) << verb;
    EXPECT_EQ(file.err, absl::StrCat("muster: --dir: ", root, "/file is no directory\n"));
  }
  const CommandResult generate = Call(&GenerateMain, {"--dir", root + "/none"});
  EXPECT_EQ(generate.code, kExitBadInput);
  EXPECT_EQ(Call(&CheckpointsMain, {"--dir", root}).code, kExitOk) << "it may be empty";
}

TEST(CommandsTest, AnUnknownJobIsAnErrorThatListsTheKnownOnes) {
  const std::string root = Root("unknown");
  ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, "small"}.api()).ok());
  for (const char* name : kOfOneJob) {
    const CommandResult ended = Call(Named(name).main, {"nobody", "--state-dir", root});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_THAT(ended.out, IsEmpty()) << name;
    EXPECT_EQ(ended.err,
              absl::StrCat("muster: there is no job 'nobody'; there are: small (in ", root, ")\n"))
        << name;
  }
}

TEST(CommandsTest, AnExportNamesWhatItLacks) {
  const std::string root = Root("export"), out = JoinPath(root, "model");
  const auto export_with = [&root](std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"export", "--dir", root, "--generator", "/bin/true"});
    return Call(Named("checkpoints").main, rest);
  };
  const CommandResult nowhere = export_with({});
  EXPECT_EQ(nowhere.code, kExitBadInput);
  EXPECT_EQ(nowhere.err, "muster: export: --out is missing: the directory to write\n");
  const CommandResult nothing = export_with({"--out", out});
  EXPECT_EQ(nothing.code, kExitBadInput);
  EXPECT_EQ(nothing.err, absl::StrCat("muster: ", root, " has no complete checkpoint; `muster ",
                                      "checkpoints --dir ", root, "` says what is there\n"));
  const CommandResult no_bytes = export_with({"--out", out, "--max-shard-bytes", "0"});
  EXPECT_EQ(no_bytes.code, kExitBadInput);
  EXPECT_EQ(no_bytes.err, "muster: --max-shard-bytes: want 1 or more\n");
  EXPECT_FALSE(Exists(FileSystem(), out));
}

// Regression: the directory was `./gs:/bucket/run`.
TEST(CommandsTest, AFlagWithAUriOfAnotherSchemeIsNoFolder) {
  const std::string root = Root("scheme");
  const CommandResult listed = Call(Named("checkpoints").main, {"--dir", "gs://bucket/run"});
  EXPECT_EQ(listed.code, kExitBadInput);
  EXPECT_EQ(listed.err,
            "muster: --dir gs://bucket/run: the scheme gs:// is not known here; want a path, "
            "file:///PATH or s3://BUCKET/PREFIX\n");
  const CommandResult exported =
      Call(Named("checkpoints").main,
           {"export", "--dir", root, "--generator", "/bin/true", "--out", "gs://bucket/model"});
  EXPECT_EQ(exported.code, kExitBadInput);
  EXPECT_EQ(exported.err,
            "muster: --out gs://bucket/model: the scheme gs:// is not known here; want a path or "
            "file:///PATH\n");
}

// Regression: bare `muster stop` stopped the only job, although the user had not named it.
TEST(CommandsTest, CommandsThatEndAJobNeedItsName) {
  const std::string root = Root("bare");
  ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, "small"}.api()).ok());
  for (const char* name : kEndAJob) {
    const CommandResult ended = Call(Named(name).main, {"--state-dir", root});
    EXPECT_EQ(ended.code, kExitBadInput) << name;
    EXPECT_EQ(ended.err, absl::StrCat("muster: name one job; there are: small (in ", root, ")\n"))
        << name;
  }
  EXPECT_TRUE(Exists(FileSystem(), JobPaths{root, "small"}.api()));
}

// Regression: `tree`, `queue` and `whatif` failed as soon as there was a second job.
TEST(CommandsTest, TheOnlyRunningJobIsChosenAmongSeveral) {
  const std::string root = Root("several");
  for (const char* job : {"done", "runs"}) {
    ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, job}.api()).ok());
  }
  EXPECT_FALSE(FindJob(FileSystem(), root, "").ok());
  ASSERT_TRUE(WriteLiveOperator(FileSystem(), JobPaths{root, "runs"}, "127.0.0.1:1").ok());
  const auto found = FindJob(FileSystem(), root, "");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->job, "runs");
}

TEST(CommandsTest, AJobIsDeletedByItsName) {
  const std::string root = Root("deleted");
  ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, "small"}.api()).ok());
  ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root, "other"}.api()).ok());
  const CommandResult ended = Call(Named("delete").main, {"small", "--state-dir", root});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "job small is deleted\n");
  EXPECT_FALSE(Exists(FileSystem(), JobPaths{root, "small"}.folder()));
  EXPECT_TRUE(Exists(FileSystem(), JobPaths{root, "other"}.api()));
}

// Regression: no command knew the flag `--help`.
// `muster --help` says so.
TEST(CommandsTest, EveryCommandAboutJobsTakesAStateDir) {
  for (const Command& command : Commands()) {
    const std::vector<FlagSpec> flags = command.flags();
    const bool takes = std::any_of(flags.begin(), flags.end(),
                                   [](const FlagSpec& flag) { return flag.name == "state-dir"; });
    EXPECT_EQ(takes, command.name != "simulate" && command.name != "plan") << command.name;
  }
}

TEST(CommandsTest, HelpOfEveryCommandListsItsFlags) {
  for (const Command& command : Commands()) {
    const CommandResult ended = Call(command.main, {"--help"});
    EXPECT_EQ(ended.code, kExitOk) << command.name;
    EXPECT_THAT(ended.out, HasSubstr("flags:\n  --")) << command.name;
    for (const FlagSpec& flag : command.flags()) {
      EXPECT_THAT(ended.out, HasSubstr(absl::StrCat("  --", flag.name))) << command.name;
    }
    EXPECT_THAT(ended.err, IsEmpty()) << command.name;
  }
}

}  // namespace
}  // namespace muster::cli
