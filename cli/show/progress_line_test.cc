#include "cli/show/progress_line.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

ProgressView Training() {
  ProgressView view;
  view.state = "Training";
  view.step = 250;
  view.steps = 1000;
  view.loss = 2.34567;
  view.validation_loss = 2.5;
  view.tokens_per_second = 51234;
  view.steps_per_second = 10;
  view.ready = 2;
  view.desired = 2;
  view.round = 3;
  return view;
}

TEST(TerminalLine, ShowsBarLossRateAndTimeLeft) {
  EXPECT_EQ(TerminalLine(Training(), 200),
            "[#####---------------] 250/1000  loss 2.3457  val 2.5000  51.2k tok/s  ETA 1m15s");
}

TEST(TerminalLine, NamesAnyStateButTrainingWithItsReason) {
  ProgressView view;
  view.state = "Recovering";
  view.reason = "RankFailed";
  view.steps = 10;
  EXPECT_EQ(TerminalLine(view, 200), "[--------------------] 0/10  Recovering (RankFailed)");
}

// Regression: a waiting job showed "Recovering (PodsBound)" and not what had failed.
TEST(TerminalLine, SaysWhyItDoesNotTrainInPlaceOfTheReason) {
  ProgressView view;
  view.state = "Recovering";
  view.reason = "RankFailed";
  view.why = "rank 1 exited with code 7; try 2 of 3";
  view.steps = 10;
  EXPECT_EQ(TerminalLine(view, 200),
            "[--------------------] 0/10  Recovering (rank 1 exited with code 7; try 2 of 3)");
  EXPECT_EQ(PlainLine(view),
            "step=0/10 state=Recovering why=\"rank 1 exited with code 7; try 2 of 3\" workers=0/0 "
            "round=0");
}

TEST(TerminalLine, IsCutToTheTerminal) { EXPECT_EQ(TerminalLine(Training(), 12).size(), 12u); }

TEST(TerminalLine, ANarrowTerminalShowsFiguresInPlaceOfTheBar) {
  EXPECT_EQ(TerminalLine(Training(), 39), "250/1000  loss 2.3457  val 2.5000  51.2");
}

TEST(TerminalLine, IsNotCutWithinACharacter) {
  ProgressView view;
  view.state = "Recovering";
  view.why = "\u20ac\u20ac";
  EXPECT_EQ(TerminalLine(view, 18), "0/0  Recovering (\u20ac");
}

TEST(PlainLine, IsKeyValue) {
  EXPECT_EQ(PlainLine(Training()),
            "step=250/1000 state=Training loss=2.3457 val=2.5000 tokens/s=51.2k eta=1m15s "
            "workers=2/2 round=3");
}

TEST(Short, KeepsThreeDigits) {
  EXPECT_EQ(Short(0), "0");
  EXPECT_EQ(Short(999), "999");
  EXPECT_EQ(Short(1000), "1k");
  EXPECT_EQ(Short(999600), "1M");
  EXPECT_EQ(Short(3.21e9), "3.21G");
}

TEST(ShortDuration, PicksItsUnit) {
  EXPECT_EQ(ShortDuration(0.43), "0.4s");
  EXPECT_EQ(ShortDuration(59.4), "59s");
  EXPECT_EQ(ShortDuration(59.6), "1m00s");
  EXPECT_EQ(ShortDuration(3725), "1h02m");
  EXPECT_EQ(ShortDuration(-1), "?");
}

TEST(ShortBytes, PicksItsUnit) {
  EXPECT_EQ(ShortBytes(12), "12 B");
  EXPECT_EQ(ShortBytes(1536), "1.5 KiB");
  EXPECT_EQ(ShortBytes(340.0 * (1 << 20)), "340 MiB");
}

}  // namespace
}  // namespace muster::cli
