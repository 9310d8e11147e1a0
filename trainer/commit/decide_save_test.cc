#include "trainer/commit/decide_save.h"

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(DecideSaveTest, NobodySavesUnlessItIsDueOrOrdered) {
  EXPECT_EQ(DecideSave({}), SaveChoice::kNone);
  EXPECT_EQ(DecideSave({.writing = true}), SaveChoice::kNone);
  EXPECT_EQ(DecideSave({.stops = true}), SaveChoice::kNone) << "it was told to stop without a save";
  EXPECT_EQ(DecideSave({.due = true}), SaveChoice::kNow);
  EXPECT_EQ(DecideSave({.ordered = true}), SaveChoice::kNow);
}

TEST(DecideSaveTest, ASaveBesideAnEarlierOneIsHeldBackWhoeverWantsIt) {
  EXPECT_EQ(DecideSave({.due = true, .writing = true}), SaveChoice::kHeldBack);
  EXPECT_EQ(DecideSave({.ordered = true, .writing = true}), SaveChoice::kHeldBack);
  EXPECT_EQ(DecideSave({.due = true, .ordered = true, .writing = true}), SaveChoice::kHeldBack);
}

TEST(DecideSaveTest, OnlyTheSaveAtTheEndWaitsForAnEarlierOne) {
  for (const bool writing : {false, true}) {
    EXPECT_EQ(DecideSave({.last = true, .writing = writing}), SaveChoice::kAtEnd);
    EXPECT_EQ(DecideSave({.due = true, .last = true, .writing = writing}), SaveChoice::kAtEnd);
    EXPECT_EQ(DecideSave({.ordered = true, .stops = true, .writing = writing}), SaveChoice::kAtEnd);
  }
  EXPECT_EQ(DecideSave({.due = true, .stops = true, .writing = true}), SaveChoice::kHeldBack)
      << "nobody asked for a save at this end";
}

}  // namespace
}  // namespace muster::trainer
