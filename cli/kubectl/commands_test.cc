// Tests the plugin against an API server that the test scripts. tests/kubectl tests it on a real
// one, which has no nodes and therefore no logs.
#include "cli/kubectl/commands.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/mutex.h"
#include "cli/flags/command_call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/http/tls_test_server.h"

namespace muster::cli::kubectl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr char kPlain[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";

// An API server with the job team/gpt and the logs of its pods. Each pod's log is a list of
// streams: the first request for it gets the first, and so on.
class PluginTest : public ::testing::Test {
 protected:
  struct Stream {
    std::vector<std::string> chunks;
    bool breaks = false;  // the connection is closed before the answer's end
  };

  PluginTest() {
    const std::string folder = testing::TempDir();
    const std::string ca = folder + "/ca.pem";
    kubeconfig_ = folder + "/kubeconfig";
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), ca, authority_.certificate).ok());
    EXPECT_TRUE(
        WriteFileAtomically(FileSystem(), kubeconfig_,
                            absl::StrCat("apiVersion: v1\nkind: Config\ncurrent-context: x\n"
                                         "clusters: [{name: c, cluster: {server: \"",
                                         server_.Url(), "\", certificate-authority: ", ca,
                                         "}}]\nusers: [{name: u, user: {token: the-callers}}]\n"
                                         "contexts: [{name: x, context: {cluster: c, user: u, "
                                         "namespace: team}}]\n"))
            .ok());
  }

  bool Answer(const std::string& request, kube::TlsTestServer::Peer& peer) {
    const std::vector<std::string> words = absl::StrSplit(request, absl::MaxSplits(' ', 2));
    const std::string& path = words[1];
    if (absl::StrContains(path, "/log?")) return AnswerLog(path, peer);
    MutexLock lock(mu_);
    if (words[0] == "PUT") {
      writes_.push_back(request);
      if (!prunes_) return peer.Answer(200, request.substr(request.find("\r\n\r\n") + 4));
    }
    if (absl::StrContains(path, "/pods?")) return peer.Answer(200, Pods());
    if (absl::StrContains(path, "/trainingjobs/gpt")) return peer.Answer(200, Job());
    return peer.Answer(404, R"({"kind": "Status", "code": 404, "reason": "NotFound",
                                "message": "there is none"})");
  }

  bool AnswerLog(const std::string& path, kube::TlsTestServer::Peer& peer) {
    Stream stream;
    {
      MutexLock lock(mu_);
      log_requests_.push_back(path);
      for (auto& [pod, streams] : logs_) {
        if (!absl::StrContains(path, absl::StrCat("/", pod, "/")) || streams.empty()) continue;
        stream = streams.front();
        streams.erase(streams.begin());
      }
    }
    peer.Write(kPlain);
    for (const std::string& chunk : stream.chunks) peer.Chunk(chunk);
    if (stream.breaks) return false;
    MutexLock lock(mu_);
    // The job is over once every log was read to its end.
    over_ =
        std::all_of(logs_.begin(), logs_.end(), [](const auto& log) { return log.second.empty(); });
    return peer.Chunk("");
  }

  std::string Job() MUSTER_REQUIRES(mu_) {
    const Json conditions =
        Json::array({{{"type", "Succeeded"}, {"status", over_ ? "True" : "False"}}});
    return DumpJson({{"apiVersion", "muster.dev/v1alpha1"},
                     {"kind", "TrainingJob"},
                     {"metadata", {{"name", "gpt"}, {"namespace", "team"}, {"uid", "1"}}},
                     {"spec", spec_},
                     {"status", {{"state", "Training"}, {"conditions", conditions}}}});
  }
  std::string Pods() MUSTER_REQUIRES(mu_) {
    Json items = Json::array();
    int index = 0;
    for (const auto& [pod, streams] : logs_) {
      const Json labels = {{"muster.dev/index", absl::StrCat(index++)},
                           {"muster.dev/incarnation", "1"}};
      items.push_back(
          {{"metadata", {{"name", pod}, {"namespace", "team"}, {"uid", pod}, {"labels", labels}}},
           {"status", {{"phase", "Running"}}}});
    }
    return DumpJson({{"kind", "PodList"},
                     {"apiVersion", "v1"},
                     {"metadata", {{"resourceVersion", "7"}}},
                     {"items", items}});
  }

  CommandResult Run(const std::string& command, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig_});
    for (const Command& one : PluginCommands()) {
      if (one.name == command) return Call(one.main, arguments);
    }
    ADD_FAILURE() << "no command " << command;
    return {};
  }
  static std::vector<std::string> Lines(const CommandResult& result) {
    return absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  }
  void SetLogs(std::map<std::string, std::vector<Stream>> logs) {
    MutexLock lock(mu_);
    logs_ = std::move(logs);
  }
  std::vector<std::string> log_requests() {
    MutexLock lock(mu_);
    return log_requests_;
  }

  Mutex mu_;
  std::map<std::string, std::vector<Stream>> logs_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::string> log_requests_ MUSTER_GUARDED_BY(mu_);
  bool over_ MUSTER_GUARDED_BY(mu_) = false;
  Json spec_ MUSTER_GUARDED_BY(mu_) = {{"workers", {{"count", 2}}}};
  bool prunes_ MUSTER_GUARDED_BY(mu_) = false;  // as a server with an older CRD
  std::vector<std::string> writes_ MUSTER_GUARDED_BY(mu_);
  const kube::TestCertificate authority_ = kube::MakeTestCertificate(nullptr, "");
  kube::TlsTestServer server_{
      kube::MakeTestCertificate(&authority_, "IP:127.0.0.1"),
      [this](const std::string& request, auto& peer) { return Answer(request, peer); }};
  std::string kubeconfig_;
};

TEST_F(PluginTest, LogsOfAllWorkersComeInTheOrderOfTheWorkers) {
  SetLogs({{"gpt-0-1", {{{"2026-01-01T00:00:01Z [rank 0] a\n2026-01-01T00:00:02Z [rank 0] b"}}}},
           {"gpt-1-1", {{{"2026-01-01T00:00:01Z [rank 1] c\n"}}}}});
  const CommandResult all = Run("logs", {"gpt", "--tail=5"});
  EXPECT_EQ(all.code, kExitOk) << all.err;
  EXPECT_THAT(Lines(all), ElementsAre("[rank 0] a", "[rank 0] b", "[rank 1] c"));
  EXPECT_THAT(log_requests()[0], HasSubstr("/api/v1/namespaces/team/pods/gpt-0-1/log?container="
                                           "worker&timestamps=true&tailLines=5"));
  EXPECT_THAT(log_requests()[0], Not(HasSubstr("follow")));
}

TEST_F(PluginTest, LogsOfOneRankAndOfOneWorkerLeaveOutTheOthers) {
  const std::vector<Stream> both = {
      {{"2026-01-01T00:00:01Z agent\n2026-01-01T00:00:02Z [rank 2] a\n"
        "2026-01-01T00:00:03Z [rank 3] b\n"}}};
  SetLogs({{"gpt-0-1", both}});
  EXPECT_THAT(Lines(Run("logs", {"gpt", "--rank", "3"})), ElementsAre("[rank 3] b"));
  SetLogs({{"gpt-0-1", both}, {"gpt-1-1", {{{"2026-01-01T00:00:01Z [rank 4] c\n"}}}}});
  EXPECT_THAT(Lines(Run("logs", {"gpt", "--worker", "1"})), ElementsAre("[rank 4] c"));
  const CommandResult none = Run("logs", {"gpt", "--worker", "7"});
  EXPECT_EQ(none.code, kExitBadInput);
  EXPECT_THAT(none.err, HasSubstr("job gpt has no such pods now"));
}

TEST_F(PluginTest, FollowingEndsWithTheJobAndABrokenStreamLosesAndRepeatsNothing) {
  SetLogs({{"gpt-0-1",
            {{{"2026-01-01T00:00:01.5Z [rank 0] a\n", "2026-01-01T00:00:02Z [rank 0] ha"}, true},
             {{"2026-01-01T00:00:01.5Z [rank 0] a\n2026-01-01T00:00:02Z [rank 0] half\n"}}}},
           {"gpt-1-1", {{{"2026-01-01T00:00:01Z [rank 1] b\n"}}}}});
  const CommandResult all = Run("logs", {"gpt", "-f"});
  EXPECT_EQ(all.code, kExitOk) << all.err;
  EXPECT_THAT(Lines(all), UnorderedElementsAre("[rank 0] a", "[rank 0] half", "[rank 1] b"));
  std::vector<std::string> continued;
  for (const std::string& request : log_requests()) {
    EXPECT_THAT(request, HasSubstr("follow=true"));
    if (absl::StrContains(request, "sinceTime")) continued.push_back(request);
  }
  ASSERT_EQ(continued.size(), 1u);
  EXPECT_THAT(continued[0], HasSubstr("sinceTime=2026-01-01T00%3A00%3A01Z"));
}

TEST_F(PluginTest, TuneWritesTheCallersChangeAndNothingThatIsRefused) {
  EXPECT_THAT(Run("tune", {"gpt", "learningRate=1e-4"}).err, HasSubstr("a command of its own"));
  {
    MutexLock lock(mu_);
    spec_ = Json::parse(R"({"workers": {"count": 2}, "trainer": {"model": {"preset": "gpt2-nano"},
        "data": {"uri": "/data/t"}, "train": {"steps": 100}},
        "checkpoint": {"uri": "/out"}})");
  }
  EXPECT_EQ(Run("tune", {"gpt", "learnRate=1"}).code, kExitBadInput);
  EXPECT_EQ(Run("tune", {"gpt", "learningRate=1e9"}).code, kExitBadInput);
  EXPECT_EQ(Run("tune", {"gpt"}).code, kExitBadInput);
  {
    MutexLock lock(mu_);
    EXPECT_TRUE(writes_.empty());
  }
  const CommandResult tuned = Run("tune", {"gpt", "learningRate=1e-4", "--from-step", "50"});
  EXPECT_EQ(tuned.code, kExitOk) << tuned.err;
  EXPECT_EQ(tuned.out, "job gpt: learning rate 0.0001 from step 50 on\n");
  {
    MutexLock lock(mu_);
    prunes_ = true;
  }
  const CommandResult dropped = Run("tune", {"gpt", "learningRate=1e-4"});
  EXPECT_EQ(dropped.code, kExitRefused);
  EXPECT_THAT(dropped.err, HasSubstr("did not store spec.trainer.tunings"));
  MutexLock lock(mu_);
  ASSERT_EQ(writes_.size(), 2u);
  EXPECT_THAT(writes_[0], HasSubstr("/namespaces/team/trainingjobs/gpt"));
  EXPECT_THAT(writes_[0],
              HasSubstr(R"("tunings":[{"by":"u","fromStep":50,"learningRate":0.0001}])"));
}

TEST_F(PluginTest, AnUnknownJobAndAWrongFlagAreBadInput) {
  const CommandResult unknown = Run("describe", {"nobody"});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_EQ(unknown.err, "kubectl-muster: there is none\n");
  EXPECT_EQ(Run("get", {"-o", "yaml"}).code, kExitBadInput);
  EXPECT_EQ(Run("scale", {"gpt", "--workers", "none"}).code, kExitBadInput);
  EXPECT_EQ(Run("suspend", {}).code, kExitBadInput);
}

TEST_F(PluginTest, KubectlCompletesCommandsFlagsAndFiles) {
  const auto complete = [](const std::vector<std::string>& words) {
    return Call(&CompleteForKubectl, words).out;
  };
  EXPECT_EQ(complete({"sus"}), "suspend\n:4\n");
  EXPECT_THAT(complete({""}), HasSubstr("describe\n"));
  EXPECT_EQ(complete({"scale", "gpt", "--wor"}), "--workers\n:4\n");
  EXPECT_EQ(complete({"run", ""}), ":0\n") << "the shell completes files";
  EXPECT_EQ(complete({"-"}), ":4\n");
  EXPECT_EQ(complete({"get", "--kubeconfig", "/no/such/file", "g"}), ":4\n");
}

TEST(PluginHelpTest, EveryCommandExplainsItsFlags) {
  for (const Command& command : PluginCommands()) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunPlugin({std::string(command.name), "--help"}), kExitOk) << command.name;
    const std::string help = testing::internal::GetCapturedStdout();
    EXPECT_THAT(help, HasSubstr(absl::StrCat("usage: kubectl muster ", command.name)));
    for (const FlagSpec& flag : command.flags()) {
      EXPECT_THAT(help, HasSubstr(absl::StrCat("--", flag.name))) << command.name;
      EXPECT_FALSE(flag.help.empty()) << command.name << " " << flag.name;
    }
  }
  const CommandResult wrong = Call(&RunPlugin, {"suspnd"});
  EXPECT_EQ(wrong.code, kExitBadInput);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean suspend?"));
}

}  // namespace
}  // namespace muster::cli::kubectl
