// Tests where a secret value of the template's environment appears: which files of a local run hold
// it, who may read them, and which answers contain it.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/web/http/http_client.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "pa55word-of-the-template";
constexpr char kManifest[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: secretive}
spec:
  workers: {count: 1}
  template:
    spec:
      containers:
      - name: worker
        command: [sh, -c, 'echo started; exec sleep 100000']
        env: [{name: API_KEY, value: pa55word-of-the-template}]
)";

class SecretsTest : public testing::Test {
 protected:
  void SetUp() override {
    run_ = std::make_unique<LocalRun>(FreshFolder("secrets"), "secretive", kManifest);
    ASSERT_TRUE(run_->Start().ok());
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    while (!absl::StrContains(Said({"logs", "secretive"}), "started\n")) {
      ASSERT_LT(Clock::Real().Monotonic(), deadline) << run_->Output();
    }
  }
  void TearDown() override {
    run_->Signal(SIGINT);
    EXPECT_TRUE(run_->WaitForEnd(kPatience).ok()) << run_->Output();
  }
  std::string Said(const std::vector<std::string>& arguments) const {
    const auto result = run_->RunTool(arguments);
    return result.ok() ? result->out : std::string(result.status().message());
  }
  std::string JobFolder() const { return run_->folder() + "/state/secretive"; }

  std::unique_ptr<LocalRun> run_;
};

TEST_F(SecretsTest, EveryFileOfALocalRunIsForItsUserAlone) {
  int files = 0;
  std::vector<std::filesystem::path> all = {JobFolder()};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(JobFolder())) {
    all.push_back(entry.path());
  }
  for (const auto& path : all) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode)) continue;
    EXPECT_EQ(info.st_mode & 077, 0u) << path << " has mode " << std::oct << (info.st_mode & 07777);
    if (!S_ISREG(info.st_mode)) continue;
    ++files;
    const std::string relative = std::filesystem::relative(path, JobFolder());
    const bool object = relative.compare(0, 4, "api/") == 0;
    const std::string text = ReadFile(FileSystem(), path).value_or("");
    EXPECT_TRUE(object || !absl::StrContains(text, kSecret)) << relative << " has it";
  }
  EXPECT_GT(files, 4) << "the log of objects, the operator's, the pod's and its rank's";
}

TEST_F(SecretsTest, OnlyTheObjectItselfShowsTheSecret) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"get"},
                                                {"describe", "secretive"},
                                                {"describe", "secretive", "--json"},
                                                {"logs", "secretive"},
                                                {"explain", "secretive"},
                                                {"explain", "secretive", "--json"},
                                                {"tree"},
                                                {"queue", "--json"}}) {
    const std::string said = Said(words);
    EXPECT_THAT(said, Not(HasSubstr(kSecret))) << words[0];
    EXPECT_THAT(said, Not(testing::IsEmpty())) << words[0];
  }
  EXPECT_THAT(Said({"describe", "secretive", "--json"}), HasSubstr("(redacted)"));
  EXPECT_THAT(Said({"get", "secretive", "--json"}), HasSubstr(kSecret));
  const auto live = ParseJson(ReadFile(FileSystem(), JobFolder() + "/operator.json").value_or(""));
  ASSERT_TRUE(live.ok()) << live.status();
  const auto client = control::MakeHttpClient((*live)["http"]);
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/default/secretive",
                           "/api/v1/jobs/default/secretive/placement", "/debug/state",
                           "/debug/state?job=default/secretive", "/metrics", "/api/v1/queues"}) {
    const auto answer = client->Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path << ": " << answer->body;
    EXPECT_THAT(answer->body, Not(HasSubstr(kSecret))) << path;
  }
}

}  // namespace
}  // namespace muster::tests
