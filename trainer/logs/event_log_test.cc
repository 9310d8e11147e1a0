#include "trainer/logs/event_log.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/logs/event.pb.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kFolder[] = "/logs/gpt";

v1alpha1::StepReport Step(int64_t step) {
  v1alpha1::StepReport report;
  report.mutable_version()->set_step(step);
  report.set_loss(static_cast<double>(step) / 8);
  return report;
}

// Returns the events of a file; a record that is cut off ends it.
std::vector<tensorboard::Event> EventsOf(const std::string& bytes) {
  std::vector<tensorboard::Event> events;
  for (size_t at = 0; at + 16 <= bytes.size();) {
    uint64_t size = 0;
    std::memcpy(&size, &bytes[at], sizeof(size));
    if (size > bytes.size() - at - 16) break;
    EXPECT_TRUE(events.emplace_back().ParseFromString(bytes.substr(at + 12, size)));
    at += 16 + size;
  }
  return events;
}

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() { EXPECT_TRUE(files_.MakeDirectories("/logs").ok()); }

  EventLog Log(const std::string& writer = "host.1") {
    return EventLog(files_, clock_, "gpt", writer);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto entries = files_.List(kFolder);
    for (const auto& entry : entries.value_or(std::vector<DirectoryEntry>())) {
      names.push_back(entry.name);
    }
    return names;
  }
  // Returns the steps and losses that a reader keeps which reads the files by name, as TensorBoard
  // does: //tests/tensorboard reads with TensorBoard itself.
  std::vector<std::pair<int64_t, float>> Curve() {
    std::vector<std::pair<int64_t, float>> curve;
    for (const std::string& name : Names()) {
      const auto events = EventsOf(*ReadFile(files_, JoinPath(kFolder, name)));
      EXPECT_FALSE(events.empty());
      if (!events.empty()) EXPECT_EQ(events[0].file_version(), "brain.Event:2") << name;
      for (const tensorboard::Event& event : events) {
        if (event.has_session_log()) {
          std::erase_if(curve, [&](const auto& one) { return one.first >= event.step(); });
        }
        if (event.has_summary()) {
          curve.emplace_back(event.step(), event.summary().value(0).simple_value());
        }
      }
    }
    return curve;
  }

  MemoryFiles files_;
  ManualClock clock_;
};

TEST_F(EventLogTest, AStepIsInTheFileAtOnce) {
  EventLog log = Log();
  log.BeginRound("/logs", 0);
  for (int64_t step = 1; step <= 3; ++step) {
    log.Add(Step(step));
    EXPECT_EQ(Curve().size(), static_cast<size_t>(step));
  }
  EXPECT_THAT(Curve(),
              ElementsAre(std::pair(1, 0.125F), std::pair(2, 0.25F), std::pair(3, 0.375F)));
  EXPECT_THAT(Names(), ElementsAre("events.out.tfevents.1700000000.host.1.0"));
}

TEST_F(EventLogTest, StepsThatAreTrainedAgainAppearOnce) {
  EventLog log = Log();
  log.BeginRound("/logs", 0);
  for (int64_t step = 1; step <= 5; ++step) log.Add(Step(step));
  log.BeginRound("/logs", 3);
  for (int64_t step = 4; step <= 6; ++step) log.Add(Step(step));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(curve[i].first, static_cast<int64_t>(i) + 1);
  EXPECT_EQ(Names().size(), 1u) << "the same process goes on in its file";
}

// Another process goes on, on a host whose clock is an hour behind: its file still comes after.
TEST_F(EventLogTest, AnotherProcessesFileComesAfterThoseThatAreThere) {
  EventLog first = Log("z.1");
  first.BeginRound("/logs", 0);
  for (int64_t step = 1; step <= 5; ++step) first.Add(Step(step));
  clock_.StepWall(-absl::Hours(1));
  EventLog second = Log("a.1");
  second.BeginRound("/logs", 3);
  for (int64_t step = 4; step <= 6; ++step) second.Add(Step(step));
  EXPECT_THAT(Names(), ElementsAre("events.out.tfevents.1700000000.z.1.0",
                                   "events.out.tfevents.1700000001.a.1.0"));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(curve[i].first, static_cast<int64_t>(i) + 1);
}

TEST_F(EventLogTest, ARankThatIsNotTheFirstWritesNothing) {
  EventLog log = Log();
  log.BeginRound("", 0);
  for (int64_t step = 1; step <= 3; ++step) log.Add(Step(step));
  EXPECT_THAT(Names(), IsEmpty());
  log.BeginRound("/logs", 2);
  log.Add(Step(3));
  log.BeginRound("", 3);
  log.Add(Step(4));
  EXPECT_THAT(Curve(), ElementsAre(std::pair(3, 0.375F)));
}

// The first rank is lost before it has written what the others have applied.
TEST_F(EventLogTest, ARankThatTakesOverWritesTheLastStepToo) {
  EventLog first = Log(), second = Log("host.2");
  first.BeginRound("/logs", 0);
  second.BeginRound("", 0);
  for (int64_t step = 1; step <= 4; ++step) {
    second.Add(Step(step));
    if (step < 4) first.Add(Step(step));
  }
  second.BeginRound("/logs", 4);
  EXPECT_EQ(Curve().size(), 4u);
  second.Add(Step(5));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(curve[i].first, static_cast<int64_t>(i) + 1);
}

// The write that fills the disk leaves a part of a record, after which a reader finds nothing.
TEST_F(EventLogTest, AFullDiskLosesNoStepsIfItHasRoomAgain) {
  EventLog log = Log();
  log.BeginRound("/logs", 0);
  log.Add(Step(1));
  log.Add(Step(2));
  const std::string path = JoinPath(kFolder, Names()[0]);
  const uint64_t size = files_.Stat(path)->size;
  files_.SetCapacity(size + 20);
  log.Add(Step(3));
  EXPECT_EQ(files_.Stat(path)->size, size + 20) << "a part of the record is there";
  for (int64_t step = 4; step <= 9; ++step) {
    clock_.Advance(EventLog::kBetweenTries);
    log.Add(Step(step));
    EXPECT_EQ(Names().size(), 1u) << "a full disk does not fill with files";
  }
  files_.SetCapacity(UINT64_MAX);
  log.Add(Step(10));
  EXPECT_EQ(Curve().size(), 2u) << "it waits between tries";
  clock_.Advance(EventLog::kBetweenTries);
  log.Add(Step(11));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), 11u);
  for (size_t i = 0; i < curve.size(); ++i) EXPECT_EQ(curve[i].first, static_cast<int64_t>(i) + 1);
  EXPECT_EQ(log.lost_steps(), 0);
}

// Steps that wait are forgotten with those that are trained again.
TEST_F(EventLogTest, WaitingStepsThatAreTrainedAgainAppearOnce) {
  EventLog log = Log();
  files_.SetFault([](MemoryFiles::Operation, const std::string&) {
    return absl::PermissionDeniedError("read-only");
  });
  log.BeginRound("/logs", 0);
  for (int64_t step = 1; step <= 5; ++step) log.Add(Step(step));
  files_.SetFault(nullptr);
  clock_.Advance(EventLog::kBetweenTries);
  log.BeginRound("/logs", 3);
  for (int64_t step = 4; step <= 5; ++step) log.Add(Step(step));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), 5u);
  for (size_t i = 0; i < curve.size(); ++i) EXPECT_EQ(curve[i].first, static_cast<int64_t>(i) + 1);
}

TEST_F(EventLogTest, WhatWaitsIsBoundedAndTheRestIsCounted) {
  EventLog log = Log();
  files_.SetFault([](MemoryFiles::Operation, const std::string&) {
    return absl::NotFoundError("no such directory");
  });
  log.BeginRound("/logs", 0);
  for (int64_t step = 1; step <= 3 * EventLog::kMostWaiting; ++step) log.Add(Step(step));
  EXPECT_EQ(log.lost_steps(), 2 * EventLog::kMostWaiting);
  files_.SetFault(nullptr);
  clock_.Advance(EventLog::kBetweenTries);
  log.Add(Step(3 * EventLog::kMostWaiting + 1));
  const auto curve = Curve();
  ASSERT_EQ(curve.size(), static_cast<size_t>(EventLog::kMostWaiting));
  EXPECT_EQ(curve.back().first, 3 * EventLog::kMostWaiting + 1);
}

// The process dies at any of the changes that it makes: what is there is readable, a prefix of its
// steps, and the next process goes on.
TEST_F(EventLogTest, AProcessMayDieAnywhere) {
  for (int64_t change = 1; change <= 12; ++change) {
    MemoryFiles files;
    std::vector<int64_t> kept;
    files.KillAfter(change);
    EventLog log(files, clock_, "gpt", "host.1");
    log.BeginRound("/logs", 0);
    for (int64_t step = 1; step <= 6; ++step) log.Add(Step(step));
    files.KillAfter(-1);
    EventLog next(files, clock_, "gpt", "host.2");
    next.BeginRound("/logs", 2);
    next.Add(Step(3));
    const auto entries = files.List(kFolder);
    ASSERT_TRUE(entries.ok());
    for (const DirectoryEntry& entry : *entries) {
      for (const auto& event : EventsOf(*ReadFile(files, JoinPath(kFolder, entry.name)))) {
        if (event.has_session_log()) {
          std::erase_if(kept, [&](int64_t step) { return step >= event.step(); });
        }
        if (event.has_summary()) kept.push_back(event.step());
      }
    }
    ASSERT_FALSE(kept.empty());
    EXPECT_EQ(kept.back(), 3);
    for (size_t i = 0; i + 1 < kept.size(); ++i) EXPECT_EQ(kept[i], static_cast<int64_t>(i) + 1);
  }
}

TEST_F(EventLogTest, AnotherDirectoryIsFollowed) {
  EventLog log = Log();
  log.BeginRound("/elsewhere", 0);
  log.Add(Step(1));
  log.BeginRound("/logs", 1);
  log.Add(Step(2));
  EXPECT_THAT(Curve(), ElementsAre(std::pair(1, 0.125F), std::pair(2, 0.25F)));
  EXPECT_EQ(files_.List("/elsewhere/gpt")->size(), 1u);
}

}  // namespace
}  // namespace muster::trainer
