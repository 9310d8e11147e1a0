#include "operator/kube/credentials/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "operator/kube/http/rate_limiter.h"

namespace muster::kube {
namespace {

class CredentialsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(files_, path, text).ok());
  }
  // Writes an executable script and returns the configuration that runs it.
  RestConfig Plugin(const std::string& body) {
    const std::string path = testing::TempDir() + "/plugin";
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), path, "#!/bin/sh\n" + body).ok());
    chmod(path.c_str(), 0700);
    RestConfig config;
    config.server = "https://example.test";
    config.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                             .argv = {path},
                             .env = {{"GREETING", "hello"}},
                             .install_hint = "install it",
                             .provide_cluster_info = true};
    return config;
  }
  CredentialSource Source(const RestConfig& config) {
    return CredentialSource(config, clock_, files_, ProcessLauncher::Real());
  }
  static std::string Credential(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
           status + "}";
  }

  ManualClock clock_;
  MemoryFiles files_;
};

TEST_F(CredentialsTest, ARotatedTokenIsSeenWithinTenSeconds) {
  Write("/token", "first\n");
  RestConfig config;
  config.token_file = "/token";
  CredentialSource source = Source(config);
  EXPECT_EQ(source.Get()->token, "first");
  Write("/token", "second\n");
  EXPECT_EQ(source.Get()->token, "first");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(source.Get()->token, "second");
  EXPECT_EQ(source.Get()->tls_generation, 0u);  // no connection needs to be made anew
}

TEST_F(CredentialsTest, ARefusedTokenIsReadAgainAtOnceButNotAllTheTime) {
  Write("/token", "first");
  RestConfig config;
  config.token_file = "/token";
  CredentialSource source = Source(config);
  EXPECT_EQ(source.Get()->token, "first");
  Write("/token", "second");
  EXPECT_FALSE(source.Refuse());  // it was read a moment ago
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(source.Refuse());
  EXPECT_EQ(source.Get()->token, "second");
}

TEST_F(CredentialsTest, AFileThatIsBeingReplacedLeavesWhatWasThere) {
  Write("/ca", "old");
  RestConfig config;
  config.ca.file = "/ca";
  CredentialSource source = Source(config);
  const uint64_t generation = source.Get()->tls_generation;
  ASSERT_TRUE(files_.Remove("/ca").ok());
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(source.Get()->ca, "old");
  EXPECT_EQ(source.Get()->tls_generation, generation);
  Write("/ca", "new");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(source.Get()->ca, "new");
  EXPECT_EQ(source.Get()->tls_generation, generation + 1);
}

TEST_F(CredentialsTest, AFileThatNeverExistedIsAnError) {
  RestConfig config;
  config.token_file = "/absent";
  EXPECT_EQ(Source(config).Get().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CredentialsTest, ATokenCannotCarryAHeader) {
  RestConfig config;
  config.token = "a\r\nX-Injected: b";
  EXPECT_EQ(Source(config).Get().status().message(),
            "the token contains a character that is not allowed in a token");
}

TEST_F(CredentialsTest, APluginIsRunOnceUntilItsCredentialExpires) {
  const std::string count = testing::TempDir() + "/count";
  RemoveAll(FileSystem(), count).IgnoreError();
  const std::string expires =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", clock_.Wall() + absl::Minutes(5), absl::UTCTimeZone());
  CredentialSource source = Source(Plugin(absl::StrCat(
      "echo x >> ", count, "; n=$(wc -l < ", count, "); printf '%s' '",
      Credential(R"({"token":"t'$n'-'$GREETING'","expirationTimestamp":")" + expires + R"("})"),
      "'\n")));
  EXPECT_EQ(source.Get()->token, "t1-hello");
  clock_.Advance(absl::Minutes(4));
  EXPECT_EQ(source.Get()->token, "t1-hello");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(source.Get()->token, "t2-hello");
}

TEST_F(CredentialsTest, APluginGetsItsClusterInTheEnvironment) {
  CredentialSource source = Source(Plugin(
      "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*) ;; *) exit 1;; esac\n"
      "case \"$KUBERNETES_EXEC_INFO\" in *'\"server\":\"https://example.test\"'*) ;; *) exit 2;; "
      "esac\nprintf '" +
      Credential(R"({"clientCertificateData":"c","clientKeyData":"k"})") + "'\n"));
  const auto credentials = source.Get();
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  EXPECT_EQ(credentials->client_certificate, "c");
  EXPECT_EQ(credentials->client_key, "k");
}

TEST_F(CredentialsTest, AnErrorOfAPluginDoesNotQuoteItsOutput) {
  const std::string path = testing::TempDir() + "/plugin";
  const auto error = [&](const std::string& body) {
    const absl::Status status = Source(Plugin(body)).Get().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
    return std::string(status.message());
  };
  const std::string start = "credential plugin " + path + ": ";
  EXPECT_EQ(error("echo secret; exit 3\n"), start + "exit code 3");
  EXPECT_EQ(error("echo secret\n"), start + "its output is not JSON");
  EXPECT_EQ(error("echo '{}'\n"), start + "its output is not an ExecCredential");
  EXPECT_EQ(error("echo '" + Credential("{}") + "'\n"),
            start + "its output has neither a token nor a certificate");
  EXPECT_EQ(error("echo '" + Credential(R"({"clientKeyData":"k"})") + "'\n"),
            start + "its output has a certificate or a key, but not both");
  EXPECT_EQ(error("echo '" + Credential(R"({"token":"t","expirationTimestamp":"soon"})") + "'\n"),
            start + "its expirationTimestamp is not an RFC 3339 time");
}

TEST_F(CredentialsTest, APluginThatHangsIsKilled) {
  const RestConfig config = Plugin("sleep 1000 & sleep 1000\n");
  const auto ran = RunExecPlugin(config, absl::Milliseconds(200), ProcessLauncher::Real());
  EXPECT_EQ(ran.status().message(),
            "credential plugin " + config.exec->argv[0] + ": it did not end in time");
}

// The plugin waits until a test writes to a pipe; until then no call may block on it.
class SlowPluginTest : public CredentialsTest {
 protected:
  SlowPluginTest() : gate_(testing::TempDir() + "/gate") {
    unlink(gate_.c_str());
    EXPECT_EQ(mkfifo(gate_.c_str(), 0600), 0);
  }
  RestConfig Slow() {
    return Plugin(absl::StrCat("read x < ", gate_, "; printf '%s' '",
                               Credential(R"({"token":"'$x'"})"), "'\n"));
  }
  void Answer(const std::string& token) {
    const int gate = open(gate_.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string line = token + "\n";
    EXPECT_EQ(write(gate, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    close(gate);
  }
  const std::string gate_;
};

TEST_F(SlowPluginTest, ACallDoesNotOutlastItsTimeAndTheNextHasWhatThePluginGave) {
  const RestConfig config = Slow();
  CredentialSource source = Source(config);
  const absl::Status status = source.Get(clock_.Monotonic()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << "it was never sent";
  EXPECT_EQ(status.message(), "credential plugin " + config.exec->argv[0] +
                                  ": it did not answer within the call's time");
  Answer("t1");
  const auto credentials = source.Get();
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  EXPECT_EQ(credentials->token, "t1");
}

TEST_F(SlowPluginTest, OthersDoNotWaitForALockWhileItRuns) {
  CredentialSource source = Source(Slow());
  EXPECT_FALSE(source.Get(clock_.Monotonic()).ok());
  // The plugin is running; neither of these may wait for it.
  EXPECT_FALSE(source.Get(clock_.Monotonic()).ok());
  source.Refuse();
  Answer("t1");
  EXPECT_EQ(source.Get()->token, "t1");
}

TEST_F(SlowPluginTest, ACredentialIsHandedOutForAsLongAsItHolds) {
  const std::string expires =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", clock_.Wall() + absl::Minutes(5), absl::UTCTimeZone());
  CredentialSource source = Source(Plugin(absl::StrCat(
      "read x < ", gate_, "; printf '%s' '",
      Credential(R"({"token":"'$x'","expirationTimestamp":")" + expires + R"("})"), "'\n")));
  EXPECT_FALSE(source.Get(clock_.Monotonic()).ok());
  Answer("t1");
  EXPECT_EQ(source.Get()->token, "t1");
  clock_.Advance(absl::Minutes(5) - absl::Seconds(5));
  EXPECT_EQ(source.Get(clock_.Monotonic())->token, "t1") << "while the next is on its way";
}

TEST_F(SlowPluginTest, APluginEndsWithItsCredentialSource) {
  CredentialSource source = Source(Slow());
  EXPECT_FALSE(source.Get(clock_.Monotonic()).ok());
  // The destructor stops the plugin; otherwise it would wait for half a minute.
}

TEST_F(CredentialsTest, APluginThatFailsIsNotRunForEachCall) {
  const std::string count = testing::TempDir() + "/failures";
  RemoveAll(FileSystem(), count).IgnoreError();
  CredentialSource source = Source(Plugin(absl::StrCat("echo x >> ", count, "; exit 3\n")));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(source.Get().ok());
  EXPECT_EQ(*ReadFile(FileSystem(), count), "x\n");
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(source.Get().ok());
  EXPECT_EQ(*ReadFile(FileSystem(), count), "x\nx\n");
}

TEST_F(CredentialsTest, AMissingPluginComesWithItsHint) {
  RestConfig config = Plugin("");
  config.exec->argv = {"/absent/plugin"};
  const std::string message(Source(config).Get().status().message());
  EXPECT_NE(message.find("; install it"), std::string::npos) << message;
}

TEST(RateLimiterTest, ABurstThenTheRateInOrder) {
  RateLimiter limiter(10, 3);
  const absl::Time now = absl::FromUnixSeconds(100);
  const absl::Duration longest = absl::Seconds(10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Take(now, longest), absl::ZeroDuration());
  EXPECT_EQ(limiter.Take(now, longest), absl::Milliseconds(100));
  EXPECT_EQ(limiter.Take(now, longest), absl::Milliseconds(200));
  EXPECT_EQ(limiter.Take(now, absl::Milliseconds(50)), absl::Milliseconds(300));  // takes none
  EXPECT_EQ(limiter.Take(now, longest), absl::Milliseconds(300));
  EXPECT_EQ(limiter.Take(now + absl::Seconds(60), longest), absl::ZeroDuration());
  EXPECT_EQ(RateLimiter(0, 0).Take(now, longest), absl::ZeroDuration());
}

}  // namespace
}  // namespace muster::kube
