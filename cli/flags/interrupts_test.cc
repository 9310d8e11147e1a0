#include "cli/flags/interrupts.h"

#include <csignal>

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

// Regression: a terminal that was closed ended `muster run` without a checkpoint.
TEST(InterruptsTest, AHangUpCountsOnceUnlessItIsIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  CountInterrupts();
  ASSERT_EQ(std::raise(SIGHUP), 0);
  EXPECT_EQ(Interrupts(), 0) << "nohup was meant";

  std::signal(SIGHUP, SIG_DFL);
  CountInterrupts();
  ASSERT_EQ(std::raise(SIGHUP), 0);
  ASSERT_EQ(std::raise(SIGHUP), 0);
  EXPECT_EQ(Interrupts(), 1) << "a shell and the kernel both send it";
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_EQ(Interrupts(), 2);
  ASSERT_EQ(std::raise(SIGHUP), 0);
  EXPECT_EQ(Interrupts(), 2);
}

}  // namespace
}  // namespace muster::cli
