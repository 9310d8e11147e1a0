#include "operator/queue/forecast/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;

StartForecast Forecast(const World& world, const std::string& uid, ForecastLimits limits = {}) {
  return ForecastStart(Capture(world.now, world.tree, world.book, world.options, {}), uid, limits);
}

std::vector<std::string> Names(const StartForecast& forecast) {
  std::vector<std::string> names;
  for (const AwaitedJob& job : forecast.awaited) names.push_back(job.name);
  return names;
}

TEST(Forecast, AJobStartsWhenTheJobItNeedsEnds) {
  World world(Racks(2, 2), {});
  QueuedJob first = Job("first", "", 2, 8, 2400);
  first.request.required_level = "rack";
  QueuedJob second = Job("second", "", 2, 8, 600);
  second.request.required_level = "rack";
  world.Submit(first);
  world.Submit(second);
  world.Cycle();
  QueuedJob next = Job("next", "", 1, 8, 0, 1);
  world.Submit(next);
  world.Cycle();
  const StartForecast forecast = Forecast(world, "next");
  EXPECT_EQ(forecast.kind, StartKind::kAt);
  EXPECT_EQ(forecast.at, At(600));
  EXPECT_EQ(Names(forecast), std::vector<std::string>{"second"});
  EXPECT_EQ(forecast.workers, 1);
  EXPECT_EQ(Sentence(forecast, world.now), "starts in about 10 min, when team/second ends");
  EXPECT_EQ(Sentence(forecast, At(540)), "starts in about 1 min, when team/second ends");
  EXPECT_FALSE(world.Runs("next")) << "asking changes nothing";
}

TEST(Forecast, OnlyJobsThatMakeRoomAreNamed) {
  World world(Racks(2, 2), {});
  for (int i = 0; i < 4; ++i) {
    world.Submit(Job(absl::StrCat("job-", i), "", 1, 8, 100 * (i + 1), i));
  }
  world.Cycle();
  QueuedJob wide = Job("wide", "", 2, 8, 0, 9);
  wide.request.required_level = "rack";
  world.Submit(wide);
  world.Cycle();
  const StartForecast forecast = Forecast(world, "wide");
  EXPECT_EQ(forecast.at, At(200));
  EXPECT_EQ(Names(forecast), (std::vector<std::string>{"job-0", "job-1"}));
  EXPECT_EQ(Sentence(forecast, world.now),
            "starts in about 3 min, when team/job-0 and team/job-1 have ended");
  world.tree.SetSchedulable(*world.tree.FindNode("r0-n1"), false);
  const StartForecast elsewhere = Forecast(world, "wide");
  EXPECT_EQ(elsewhere.at, At(400));
  EXPECT_EQ(Names(elsewhere), (std::vector<std::string>{"job-2", "job-3"}))
      << "the ends in the other rack do not help";
}

TEST(Forecast, JobsAheadStartFirst) {
  World world(Racks(1, 2), {});
  world.Submit(Job("running", "", 2, 8, 100));
  world.Cycle();
  world.Submit(Job("ahead", "", 2, 8, 500, 1));
  world.Submit(Job("behind", "", 2, 8, 0, 2));
  world.Cycle();
  EXPECT_EQ(Forecast(world, "ahead").at, At(100));
  const StartForecast forecast = Forecast(world, "behind");
  EXPECT_EQ(forecast.kind, StartKind::kAt);
  EXPECT_EQ(forecast.at, At(600));
  EXPECT_EQ(forecast.ahead, 1);
  EXPECT_EQ(Sentence(forecast, world.now),
            "starts in about 10 min, when team/running ends; 1 job starts before it");
}

TEST(Forecast, NobodyKnowsWhenNoRunningJobSaysWhenItEnds) {
  World world(Racks(1, 2), {});
  world.Submit(Job("endless", "", 1));
  world.Submit(Job("more", "", 1, 8, 0, 1));
  world.Cycle();
  world.Submit(Job("next", "", 2, 8, 0, 2));
  world.Cycle();
  const StartForecast forecast = Forecast(world, "next");
  EXPECT_EQ(forecast.kind, StartKind::kUnknown);
  EXPECT_EQ(forecast.at, absl::InfiniteFuture());
  EXPECT_EQ(Names(forecast), (std::vector<std::string>{"endless", "more"}));
  EXPECT_EQ(Sentence(forecast, world.now),
            "starts at an unknown time: no running job says when it ends");
}

TEST(Forecast, TheJobThatDoesNotSayIsNamed) {
  World world(Racks(1, 2), {});
  world.Submit(Job("endless", "", 1));
  world.Submit(Job("ends", "", 1, 8, 60, 1));
  world.Cycle();
  world.Submit(Job("next", "", 2, 8, 0, 2));
  world.Cycle();
  const StartForecast forecast = Forecast(world, "next");
  EXPECT_EQ(forecast.kind, StartKind::kUnknown);
  EXPECT_EQ(Sentence(forecast, world.now),
            "starts at an unknown time: team/endless has to end and does not say when");
}

TEST(Forecast, AJobThatIsLateIsExpectedAsLateAgain) {
  World world(Racks(1, 1), {});
  world.Submit(Job("late", "", 1, 8, 100));
  world.Cycle();
  world.now = At(160);
  world.Submit(Job("next", "", 1, 8, 0, 1));
  world.Cycle();
  EXPECT_EQ(Forecast(world, "next").at, At(220));
}

TEST(Forecast, AJobThatNoEndHelpsIsReported) {
  World world(Racks(1, 2), {Queue("small", "", 8), Queue("large", "", 64)});
  world.Submit(Job("running", "large", 1, 8, 100));
  world.Cycle();
  world.Submit(Job("over", "small", 2, 8, 0, 1));
  world.Submit(Job("huge", "large", 3, 8, 0, 2));
  world.Cycle();
  const StartForecast over = Forecast(world, "over");
  EXPECT_EQ(over.kind, StartKind::kNever);
  EXPECT_EQ(
      Sentence(over, world.now),
      "never starts as things are: 16 nvidia.com/gpu needed; queue \"small\" may never use more "
      "than 8");
  const StartForecast huge = Forecast(world, "huge");
  EXPECT_EQ(huge.kind, StartKind::kNoRoom);
  EXPECT_EQ(Sentence(huge, world.now),
            "does not start on this cluster as it is: there would be no room if every job ended");
}

TEST(Forecast, QuotaIsWaitedForToo) {
  World world(Racks(1, 4), {Queue("a", "", 16)});
  world.Submit(Job("running", "a", 2, 8, 300));
  world.Cycle();
  world.Submit(Job("next", "a", 1, 8, 0, 1));
  world.Cycle();
  EXPECT_EQ(world.Of("next").reason, ScheduleReason::kQuotaExhausted);
  const StartForecast forecast = Forecast(world, "next");
  EXPECT_EQ(forecast.at, At(300));
  EXPECT_EQ(Names(forecast), std::vector<std::string>{"running"});
}

TEST(Forecast, WhatWasToldToGoMakesRoom) {
  World world(Racks(1, 2), {});
  world.Submit(Job("low", "", 2));
  world.Cycle();
  QueuedJob high = Job("high", "", 2, 8, 0, 1);
  high.priority = 1000;
  world.Submit(high);
  world.Cycle();
  const StartForecast forecast = Forecast(world, "high");
  EXPECT_EQ(forecast.at, At(60)) << "stop_grace";
  ASSERT_EQ(forecast.awaited.size(), 1u);
  EXPECT_TRUE(forecast.awaited[0].told);
  EXPECT_EQ(Sentence(forecast, world.now), "starts in about 1 min, when team/low has made room");
}

TEST(Forecast, LooksAheadOnlySoFar) {
  World world(Racks(1, 1), {});
  world.Submit(Job("running", "", 1, 8, 100));
  world.Cycle();
  for (int i = 0; i < 10; ++i) world.Submit(Job(absl::StrCat("w", i), "", 1, 8, 100, i + 1));
  world.Cycle();
  EXPECT_EQ(Forecast(world, "w9").at, At(1000));
  const StartForecast forecast = Forecast(world, "w9", {.cycles = 3});
  EXPECT_EQ(forecast.kind, StartKind::kNotBefore);
  EXPECT_EQ(forecast.at, At(300));
  EXPECT_EQ(Sentence(forecast, world.now),
            "starts in 5 min at the earliest: the forecast looks no further ahead; 3 jobs start "
            "before it");
}

// The forecast comes true if all jobs end when they say.
TEST(Forecast, ComesTrue) {
  World world(Racks(2, 4), {Queue("a", "c", 32), Queue("b", "c", 32)});
  for (int i = 0; i < 24; ++i) {
    world.Submit(
        Job(absl::StrCat("job-", i), i % 3 == 0 ? "a" : "b", 1 + i % 4, 8, 100 + 37 * (i % 5), i));
  }
  world.Cycle();
  world.LetLeaversGo();
  world.Cycle();
  std::map<std::string, absl::Time> said;
  for (int i = 0; i < 24; ++i) {
    const std::string uid = absl::StrCat("job-", i);
    if (!world.Runs(uid)) said[uid] = Forecast(world, uid).at;
  }
  ASSERT_GT(said.size(), 10u);
  while (!said.empty()) {
    const DecisionInput input = Capture(world.now, world.tree, world.book, world.options, {});
    absl::Time next = absl::InfiniteFuture();
    for (const QueuedJob& job : input.snapshot.jobs) {
      if (job.running()) next = std::min(next, *job.ends);
    }
    ASSERT_LT(next, absl::InfiniteFuture());
    world.now = next;
    for (const QueuedJob& job : input.snapshot.jobs) {
      if (job.running() && *job.ends <= next) world.Finish(job.uid);
    }
    world.Cycle();
    std::erase_if(said, [&](const auto& promise) {
      if (!world.Runs(promise.first)) return false;
      EXPECT_EQ(promise.second, world.now) << promise.first;
      return true;
    });
  }
}

TEST(Forecast, DurationsAreAsExactAsAGuess) {
  EXPECT_EQ(About(absl::Milliseconds(10)), "1 s");
  EXPECT_EQ(About(absl::Seconds(29)), "29 s");
  EXPECT_EQ(About(absl::Seconds(95)), "2 min");
  EXPECT_EQ(About(absl::Minutes(119)), "119 min");
  EXPECT_EQ(About(absl::Minutes(200)), "3 h 20 min");
  EXPECT_EQ(About(absl::Hours(76)), "3 d 4 h");
}

}  // namespace
}  // namespace muster::control
