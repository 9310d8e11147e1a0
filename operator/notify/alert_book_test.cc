#include "operator/notify/alert_book.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(5000);
const absl::Time kWall = absl::FromUnixSeconds(1'700'000'000);
const AlertedJob kJob = {"team", "gpt", "uid-1"};
const AlertedJob kOther = {"team", "bert", "uid-2"};
const JobAlert kSpike = {"spike", "LossSpike", "it is high", false, kWall};
const JobAlert kStall = {"stall", "Stalled", "no step", false, kWall};

// Returns what is due as "gpt +spike -stall", or "".
std::string Text(const std::optional<AlertBook::Batch>& batch) {
  if (!batch) return "";
  std::string text = batch->job.name;
  for (const AlertNews& news : batch->news) {
    absl::StrAppend(&text, news.ended == absl::InfiniteFuture() ? " +" : " -", news.alert.name);
  }
  return text;
}

// Tells the receiver what is due at `now`, and returns it.
std::string Tell(AlertBook& book, absl::Time now, bool reached = true) {
  const std::optional<AlertBook::Batch> batch = book.Due(now);
  if (batch) book.Told(*batch, reached, now);
  return Text(batch);
}

TEST(AlertBookTest, TellsEachBeginAndEachEndOnce) {
  AlertBook book;
  EXPECT_EQ(book.NextDue(), absl::InfiniteFuture());
  book.Set(kJob, {kSpike}, kWall);
  book.Set(kJob, {kSpike}, kWall);
  EXPECT_EQ(Tell(book, kNow), "gpt +spike");
  EXPECT_EQ(Tell(book, kNow + absl::Hours(9)), "");
  book.Set(kJob, {kSpike, kStall}, kWall);
  EXPECT_EQ(Tell(book, kNow), "gpt +stall");
  book.Set(kJob, {}, kWall + absl::Minutes(3));
  book.Set(kJob, {}, kWall + absl::Minutes(4));
  const auto batch = book.Due(kNow);
  EXPECT_EQ(Text(batch), "gpt -spike -stall");
  EXPECT_EQ(batch->news[0].ended, kWall + absl::Minutes(3));
  book.Told(*batch, true, kNow);
  EXPECT_EQ(book.size(), 0u);
}

TEST(AlertBookTest, AnAlertThatEndedBeforeItWasToldIsToldInOrder) {
  AlertBook book;
  book.Set(kJob, {kSpike}, kWall);
  book.Set(kJob, {}, kWall + absl::Minutes(1));
  EXPECT_EQ(Tell(book, kNow), "gpt +spike");
  EXPECT_EQ(Tell(book, kNow), "gpt -spike");
  EXPECT_EQ(book.size(), 0u);
}

TEST(AlertBookTest, AnAlertThatFiresAgainIsAnother) {
  AlertBook book;
  book.Set(kJob, {kSpike}, kWall);
  EXPECT_EQ(Tell(book, kNow), "gpt +spike");
  JobAlert again = kSpike;
  again.since += absl::Minutes(5);
  book.Set(kJob, {again}, kWall + absl::Minutes(5));
  EXPECT_EQ(Tell(book, kNow), "gpt -spike +spike");
}

TEST(AlertBookTest, RepeatsWhatFiresIfItIsToldTo) {
  AlertBook book(absl::Minutes(1));
  book.Set(kJob, {kSpike}, kWall);
  EXPECT_EQ(Tell(book, kNow), "gpt +spike");
  EXPECT_EQ(book.NextDue(), kNow + absl::Minutes(1));
  EXPECT_EQ(Tell(book, kNow + absl::Seconds(59)), "");
  EXPECT_EQ(Tell(book, kNow + absl::Minutes(1)), "gpt +spike");
}

TEST(AlertBookTest, AReceiverThatFailsIsTriedEverLaterAndEachJobHasARequestOfItsOwn) {
  AlertBook book;
  book.Set(kJob, {kSpike}, kWall);
  book.Set(kOther, {kStall}, kWall);
  absl::Time now = kNow;
  int turn = 0;
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    EXPECT_EQ(Tell(book, now, false), turn++ % 2 == 0 ? "gpt +spike" : "bert +stall");
    EXPECT_EQ(Tell(book, now + absl::Seconds(seconds) - absl::Milliseconds(1)), "") << seconds;
    now += absl::Seconds(seconds);
    EXPECT_EQ(book.NextDue(), now) << seconds;
  }
  EXPECT_EQ(Tell(book, now), "bert +stall");
  EXPECT_EQ(Tell(book, now), "gpt +spike");
}

TEST(AlertBookTest, AnEndThatCannotBeToldIsGivenUpAndABeginIsNot) {
  AlertBook book;
  book.Set(kJob, {kSpike}, kWall);
  for (absl::Time now = kNow; now < kNow + absl::Hours(5); now += absl::Minutes(5)) {
    EXPECT_EQ(Tell(book, now, false), "gpt +spike");
  }
  book.Set(kJob, {}, kWall);
  Tell(book, kNow + absl::Hours(5), false);
  EXPECT_EQ(book.size(), 0u);
}

TEST(AlertBookTest, ItIsBounded) {
  AlertBook book;
  for (size_t i = 0; i < AlertBook::kMaxAlerts; ++i) {
    EXPECT_TRUE(book.Set({"team", "job", absl::StrCat("uid-", i)}, {kSpike}, kWall));
  }
  EXPECT_FALSE(book.Set({"team", "job", "one more"}, {kSpike}, kWall));
  EXPECT_EQ(book.size(), AlertBook::kMaxAlerts);
}

TEST(AlertBookTest, OneNamespaceCannotTakeTheRoomOfTheOthers) {
  AlertBook book;
  for (size_t i = 0; i < AlertBook::kMaxAlerts; ++i) {
    EXPECT_TRUE(book.Set({"greedy", "job", absl::StrCat("uid-", i)}, {kSpike}, kWall));
  }
  EXPECT_EQ(Tell(book, kNow), "job +spike");
  size_t taken = 0;
  while (taken < AlertBook::kMaxAlerts &&
         book.Set({"team", "gpt", absl::StrCat("other-", taken)}, {kSpike}, kWall)) {
    ++taken;
  }
  EXPECT_EQ(taken, AlertBook::kMaxAlerts / 2) << "each of two has a half";
  EXPECT_EQ(book.size(), AlertBook::kMaxAlerts);
  EXPECT_TRUE(book.Set({"third", "bert", "a-third"}, {kSpike}, kWall));
  EXPECT_FALSE(book.Set({"greedy", "job", "one more"}, {kSpike}, kWall));
}

TEST(AlertBookTest, AJobThatAlwaysHasNewsTakesTurnsWithTheOthers) {
  AlertBook book;
  book.Set(kOther, {kStall}, kWall);
  JobAlert alert = kSpike;
  for (int i = 0; i < 3; ++i) {
    alert.since += absl::Minutes(1);
    book.Set(kJob, {alert}, kWall);
    if (Tell(book, kNow + absl::Minutes(i)) == "bert +stall") return;
  }
  FAIL() << "the other job is never told of";
}

}  // namespace
}  // namespace muster::control
