#include "base/logging.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(LoggingTest, FormatsKeysAndValues) {
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "round opened",
                      {{"job", "default/gpt"}, {"round", 3}, {"ok", true}}),
            "INFO round opened job=default/gpt round=3 ok=true");
}

TEST(LoggingTest, KeepsOneLineWhateverTheValueHolds) {
  EXPECT_EQ(FormatLog(LogLevel::kError, "bad\nthing", {{"log", "a \"b\"\nc"}, {"empty", ""}}),
            "ERROR bad\\nthing log=\"a \\\"b\\\"\\nc\" empty=\"\"");
}

TEST(LoggingTest, EscapesInvalidUtf8AndTerminalControls) {
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"a", "caf\xC3\xA9"}}), "INFO x a=\"caf\xC3\xA9\"");
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"a", "\xC3("}}), "INFO x a=\"\\xc3(\"");
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"a", "\x1B[2J\x7F"}}), "INFO x a=\"\\x1b[2J\\x7f\"");
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x",
                      {{"a",
                        "\xC2\x9B"
                        "1m\xE2\x80\xA8"}}),
            "INFO x a=\"\\u009b1m\\u2028\"");
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"overlong", "\xC0\xAF"}, {"half", "\xED\xA0\x80"}}),
            "INFO x overlong=\"\\xc0\\xaf\" half=\"\\xed\\xa0\\x80\"");
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"path", "a\\b"}}), "INFO x path=\"a\\\\b\"");
}

TEST(LoggingTest, JsonLinesKeepNumbersAndEscapeText) {
  EXPECT_EQ(FormatJsonLog("2026-11-21T04:05:06Z", LogLevel::kWarn, "round \"3\"\n",
                          {{"job", "default/gpt"}, {"round", 3}, {"ok", false}, {"loss", 1.5}}),
            "{\"time\":\"2026-11-21T04:05:06Z\",\"level\":\"WARN\",\"message\":\"round "
            "\\\"3\\\"\\n\",\"job\":\"default/gpt\",\"round\":3,\"ok\":false,\"loss\":\"1.5\"}");
  EXPECT_EQ(FormatJsonLog("t", LogLevel::kInfo, "x", {{"a", "\xFF\x01"}}),
            "{\"time\":\"t\",\"level\":\"INFO\",\"message\":\"x\",\"a\":\"\\ufffd\\u0001\"}");
}

TEST(LoggingTest, ScopesPutTheirFieldsOnEveryLineOfTheThread) {
  LogScope job({{"job", "default/gpt"}, {"round", 2}});
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "pod created", {{"pod", "gpt-0-1"}}),
            "INFO pod created job=default/gpt round=2 pod=gpt-0-1");
  {
    LogScope inner({{"round", 3}});
    EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {{"job", "other"}}), "INFO x job=other round=3");
    std::thread([] { EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {}), "INFO x"); }).join();
  }
  EXPECT_EQ(FormatLog(LogLevel::kInfo, "x", {}), "INFO x job=default/gpt round=2");
}

TEST(LoggingTest, RepeatsAreHeldBackAndCounted) {
  LogLimiter limiter;
  const absl::Time start = absl::UnixEpoch();
  for (int i = 0; i < LogLimiter::kBurst; ++i) {
    EXPECT_TRUE(limiter.Admit("reconcile failed", "default/a", start).write);
  }
  for (int i = 0; i < 312; ++i) {
    EXPECT_FALSE(limiter.Admit("reconcile failed", "default/a", start).write);
  }
  EXPECT_TRUE(limiter.Admit("reconcile failed", "default/b", start).write) << "another job's line";
  const auto later = limiter.Admit("reconcile failed", "default/a", start + LogLimiter::kWindow);
  EXPECT_TRUE(later.write);
  EXPECT_EQ(later.repeats, 312);
}

TEST(LoggingTest, HeldBackLinesAreReportedOnceAtTheEndOfTheWindowOrTheProgram) {
  LogLimiter limiter;
  const absl::Time start = absl::UnixEpoch();
  for (int i = 0; i < LogLimiter::kBurst + 7; ++i) {
    limiter.Admit("reconcile failed", "default/a", start, LogLevel::kError);
  }
  limiter.Admit("quiet", "", start);
  EXPECT_TRUE(limiter.TakeHeldBack(start, /*all=*/false).empty()) << "the window has not ended";
  const auto ended = limiter.TakeHeldBack(start + LogLimiter::kWindow, /*all=*/false);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].level, LogLevel::kError);
  EXPECT_EQ(ended[0].message, "reconcile failed");
  EXPECT_EQ(ended[0].about, "default/a");
  EXPECT_EQ(ended[0].repeats, 7);
  EXPECT_TRUE(limiter.TakeHeldBack(start + LogLimiter::kWindow, /*all=*/true).empty());
  for (int i = 0; i < LogLimiter::kBurst + 2; ++i) limiter.Admit("m", "b", start);
  const auto at_the_end = limiter.TakeHeldBack(start, /*all=*/true);
  ASSERT_EQ(at_the_end.size(), 1u);
  EXPECT_EQ(at_the_end[0].repeats, 2);
}

TEST(LoggingTest, TheLimiterForgetsQuietSourcesAndNeverGrows) {
  LogLimiter limiter;
  const absl::Time start = absl::UnixEpoch();
  for (size_t i = 0; i < 2 * LogLimiter::kMaxSources; ++i) {
    EXPECT_TRUE(limiter.Admit("x", std::to_string(i), start).write);
  }
  // The full table limits old names but no new one; after a window there is room again.
  for (int i = 0; i < 2 * LogLimiter::kBurst; ++i) {
    EXPECT_TRUE(limiter.Admit("x", "new", start).write);
  }
  const absl::Time later = start + LogLimiter::kWindow;
  int written = 0;
  for (int i = 0; i < 2 * LogLimiter::kBurst; ++i)
    written += limiter.Admit("x", "new", later).write;
  EXPECT_EQ(written, LogLimiter::kBurst);
}

TEST(LoggingTest, AFieldNamedAsTheLinesOwnKeysDoesNotReplaceThem) {
  EXPECT_EQ(FormatJsonLog("T", LogLevel::kInfo, "event", {{"message", "told"}, {"level", 3}}),
            R"({"time":"T","level":"INFO","message":"event","message_":"told","level_":3})");
}

TEST(LoggingTest, LogFormatsAreNamed) {
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_EQ(ParseLogFormat("yaml").status().message(),
            "the log format is text or json, not 'yaml'");
}

TEST(LoggingTest, PrintsStatus) {
  EXPECT_EQ(FormatLog(LogLevel::kWarn, "failed", {{"error", absl::NotFoundError("no pod")}}),
            "WARN failed error=\"NOT_FOUND: no pod\"");
}

TEST(LoggingTest, WritesToAFileAboveTheLevel) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/log";
  ASSERT_TRUE(LogToFile(path, false).ok());
  SetLogLevel(LogLevel::kWarn);
  MUSTER_LOG(INFO, "hidden");
  MUSTER_LOG(WARN, "seen", {"n", 1});
  ASSERT_TRUE(LogToFile("", true).ok());
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), testing::EndsWith("Z WARN seen n=1\n"));
  EXPECT_THAT(text.str(), testing::Not(testing::HasSubstr("hidden")));
}

TEST(LoggingTest, RefusesAnUnwritableFile) {
  EXPECT_THAT(LogToFile("/nonexistent/log", false).message(),
              testing::HasSubstr("cannot open the log file /nonexistent/log"));
}

}  // namespace
}  // namespace muster
