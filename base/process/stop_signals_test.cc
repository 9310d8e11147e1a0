#include "base/process/stop_signals.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(StopSignalsTest, AreTakenWhenAskedForWhicheverThreadGetsThem) {
  const StopSignals signals;
  EXPECT_FALSE(signals.Take());
  std::thread([] { ASSERT_EQ(kill(getpid(), SIGTERM), 0); }).join();
  EXPECT_TRUE(signals.Take());
  EXPECT_FALSE(signals.Take());
  ASSERT_EQ(kill(getpid(), SIGINT), 0);
  EXPECT_EQ(signals.Wait(), SIGINT);
}

TEST(StopSignalsTest, ADescriptorIsReadableWithOne) {
  const StopSignals signals;
  pollfd watched = {signals.NewDescriptor(), POLLIN, 0};
  ASSERT_GE(watched.fd, 0);
  EXPECT_EQ(poll(&watched, 1, 0), 0);
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_EQ(poll(&watched, 1, 0), 1);
  EXPECT_TRUE(signals.Take());
  close(watched.fd);
}

TEST(StopSignalsTest, AClosedPipeIsAnError) {
  const StopSignals signals;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace muster
