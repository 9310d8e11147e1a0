#include "base/logging.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

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
