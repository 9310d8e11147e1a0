#include "trainer/commit/tunings.h"

#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(TuningsTest, AStepHasTheNewestValuesThatAreInForceForIt) {
  const std::vector<Tuning> in_force = {{.step = 5, .learning_rate = 0.1},
                                        {.step = 7, .clip_norm = 0.0},
                                        {.step = 9, .learning_rate = 0.2, .clip_norm = 3.0}};
  const auto rate = [&](int64_t step) {
    return ValuesOf({1.0, 2.0}, in_force, step).learning_rate;
  };
  const auto clip = [&](int64_t step) { return ValuesOf({1.0, 2.0}, in_force, step).clip_norm; };
  EXPECT_EQ(rate(4), 1.0);
  EXPECT_EQ(rate(5), 0.1);
  EXPECT_EQ(rate(8), 0.1);
  EXPECT_EQ(rate(9), 0.2);
  EXPECT_EQ(clip(6), 2.0);
  EXPECT_EQ(clip(7), 0.0);
  EXPECT_EQ(clip(100), 3.0);
}

TEST(TuningsTest, TheNextOneIsTheFirstThatIsNotInForceAndNotForALaterStep) {
  const std::vector<Tuning> of_job = {{.learning_rate = 0.1}, {.step = 9, .learning_rate = 0.2}};
  EXPECT_EQ(NextTuning(of_job, 0, 3), (Tuning{.step = 3, .learning_rate = 0.1}));
  EXPECT_EQ(NextTuning(of_job, 1, 8), std::nullopt);
  EXPECT_EQ(NextTuning(of_job, 1, 9), (Tuning{.step = 9, .learning_rate = 0.2}));
  EXPECT_EQ(NextTuning(of_job, 1, 12), (Tuning{.step = 12, .learning_rate = 0.2}));
  EXPECT_EQ(NextTuning(of_job, 2, 100), std::nullopt);
  EXPECT_EQ(NextTuning(std::vector(100, Tuning{}), kMostTunings, 100), std::nullopt);
}

TEST(TuningsTest, ACheckpointKeepsTheTuningsThatTheJobHasInTheSamePlace) {
  const std::vector<Tuning> in_force = {{.step = 5, .learning_rate = 0.1},
                                        {.step = 9, .clip_norm = 2.0}};
  const auto kept = [&](const std::vector<Tuning>& of_job) {
    return KeptTunings(of_job, in_force).size();
  };
  EXPECT_EQ(kept({}), 0u);
  EXPECT_EQ(kept({{.learning_rate = 0.1}}), 1u);
  EXPECT_EQ(kept({{.learning_rate = 0.1}, {.step = 7, .clip_norm = 2.0}, {.clip_norm = 3.0}}), 2u);
  EXPECT_EQ(kept({{.learning_rate = 0.2}, {.clip_norm = 2.0}}), 0u);
  EXPECT_EQ(kept({{.learning_rate = 0.1}, {.learning_rate = 0.1, .clip_norm = 2.0}}), 1u);
}

TEST(TuningsTest, MessagesSayWhatTheyChangeAndNoMore) {
  for (const Tuning& tuning : {Tuning{.step = 3, .learning_rate = 0.0}, Tuning{.clip_norm = 2.0}}) {
    EXPECT_EQ(FromProto(ToProto(tuning)), tuning);
  }
  EXPECT_EQ(HashOf({.step = 3, .clip_norm = 2.0}), HashOf({.step = 4, .clip_norm = 2.0}));
  EXPECT_NE(HashOf({.clip_norm = 2.0}), HashOf({.learning_rate = 2.0}));
}

}  // namespace
}  // namespace muster::trainer
