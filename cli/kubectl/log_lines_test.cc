#include "cli/kubectl/log_lines.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace muster::cli::kubectl {
namespace {

constexpr char kStream[] =
    "2026-01-01T00:00:05.1Z agent starts\n"
    "2026-01-01T00:00:05.12Z [rank 0] step 1\n"
    "2026-01-01T00:00:06.000000001Z [rank 1] step 1\n"
    "2026-01-01T00:00:06.000000002Z [rank 10] step 1\n";

TEST(LogLinesTest, LinesPassWholeAndWithoutTheirTimes) {
  LogLines lines(std::nullopt);
  std::string out;
  for (const char c : std::string(kStream)) out += lines.Feed(std::string(1, c));
  EXPECT_EQ(out, "agent starts\n[rank 0] step 1\n[rank 1] step 1\n[rank 10] step 1\n");
  EXPECT_EQ(lines.since(), "2026-01-01T00:00:06Z");
}

TEST(LogLinesTest, ARankHasOnlyItsOwn) {
  LogLines lines(1);
  EXPECT_EQ(lines.Feed(kStream), "[rank 1] step 1\n");
}

// The server repeats all lines of the second from which a stream is continued.
TEST(LogLinesTest, AContinuedStreamRepeatsNothing) {
  LogLines lines(std::nullopt);
  lines.Feed(kStream);
  EXPECT_EQ(lines.End(/*whole=*/false), "");
  EXPECT_EQ(lines.Feed(kStream), "");
  EXPECT_EQ(lines.Feed("2026-01-01T00:00:06.5Z [rank 0] step 2\n"), "[rank 0] step 2\n");
}

TEST(LogLinesTest, AHalfLineIsDroppedIfTheStreamBrokeAndPassesAtTheEndOfTheLog) {
  LogLines broken(std::nullopt);
  EXPECT_EQ(broken.Feed("2026-01-01T00:00:05Z half of a l"), "");
  EXPECT_EQ(broken.End(/*whole=*/false), "");
  EXPECT_EQ(broken.since(), "");
  LogLines ended(std::nullopt);
  ended.Feed("2026-01-01T00:00:05Z no newline");
  EXPECT_EQ(ended.End(/*whole=*/true), "no newline\n");
  EXPECT_EQ(ended.End(/*whole=*/true), "");
}

TEST(LogLinesTest, ALineWithoutATimePassesAsItIs) {
  LogLines lines(std::nullopt);
  EXPECT_EQ(lines.Feed("unable to retrieve container logs\n\n"),
            "unable to retrieve container logs\n\n");
}

}  // namespace
}  // namespace muster::cli::kubectl
