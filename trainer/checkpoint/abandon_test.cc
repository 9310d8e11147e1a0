#include "trainer/checkpoint/abandon.h"

#include <string>

#include "absl/status/status.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/writer_test_util.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;

constexpr char kOld[] = "00000000000000aa";
constexpr char kNew[] = "00000000000000bb";

class AbandonTest : public WriterTest {
 protected:
  // Saves a step of `history` by one writer.
  CheckpointReport SaveOf(const std::string& history, int64_t step, int64_t round, int64_t attempt,
                          const std::string& uid = "") {
    auto writer = Make();
    Snapshot snapshot = Share(state_ = StateAt(step), step, 0, 1, round, false);
    snapshot.run.history = history;
    snapshot.run.attempt = attempt;
    snapshot.run.job_uid = uid;
    EXPECT_TRUE(writer->Begin(snapshot).ok());
    while (writer->RunOnce()) {
    }
    return reports_.back();
  }
  static RunRecord GoingOn(const std::string& history, int64_t step, int64_t round) {
    RunRecord run;
    run.history = history;
    run.step = step;
    run.round = round;
    return run;
  }

  State state_;
};

TEST_F(AbandonTest, LaterAndForeignCheckpointsMoveAwayAndOursStay) {
  SaveOf(kOld, 40, 1, 1);
  SaveOf(kNew, 20, 2, 2);
  SaveOf(kNew, 30, 2, 2);
  ASSERT_TRUE(SetAside(files_, kUri, GoingOn(kNew, 20, 3)).ok());
  EXPECT_EQ(Names(), (Strings{"abandoned-00000000000000aa", "abandoned-00000000000000bb",
                              "step-000000020"}));
  EXPECT_EQ(Names("/ck/abandoned-00000000000000aa"), Strings{"step-000000040"});
  EXPECT_EQ(Names("/ck/abandoned-00000000000000bb"), Strings{"step-000000030"});
  EXPECT_EQ(ListCheckpoints(files_, kUri)->size(), 1u) << "what was set aside is not listed";
  const auto abandoned = ListAbandoned(files_, kUri);
  ASSERT_TRUE(abandoned.ok()) << abandoned.status();
  ASSERT_EQ(abandoned->size(), 2u);
  EXPECT_TRUE((*abandoned)[0].complete);
  EXPECT_EQ((*abandoned)[0].directory, "abandoned-00000000000000aa/step-000000040");
}

TEST_F(AbandonTest, AZombieSetsNothingOfANewerRoundAside) {
  SaveOf(kNew, 30, 5, 5);
  ASSERT_TRUE(SetAside(files_, kUri, GoingOn(kNew, 20, 4)).ok());
  EXPECT_EQ(Names(), Strings{"step-000000030"});
}

// An earlier job of the same name may have had more rounds than this one.
TEST_F(AbandonTest, RoundsOfAnotherJobDoNotCount) {
  SaveOf(kOld, 30, 50, 50, "earlier");
  RunRecord run = GoingOn(kNew, 0, 1);
  run.job_uid = "now";
  ASSERT_TRUE(SetAside(files_, kUri, run).ok());
  EXPECT_EQ(Names(), Strings{"abandoned-00000000000000aa"});
}

TEST_F(AbandonTest, AStepTrainedAgainDoesNotReplaceTheOneOfAnotherHistory) {
  SaveOf(kOld, 40, 1, 1);
  EXPECT_EQ(SaveOf(kNew, 40, 2, 2).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(InspectCheckpoint(files_, "/ck/step-000000040").history, kNew);
  EXPECT_EQ(Names("/ck/abandoned-00000000000000aa"), Strings{"step-000000040"});
  EXPECT_TRUE(InspectCheckpoint(files_, "/ck/abandoned-00000000000000aa/step-000000040").complete);
}

TEST_F(AbandonTest, AStepTrainedAgainDoesNotReplaceTheOneOfAnotherAttempt) {
  for (int attempt = 1; attempt <= 3; ++attempt) SaveOf(kNew, 40, attempt, attempt);
  EXPECT_EQ(InspectCheckpoint(files_, "/ck/step-000000040").attempt, 3);
  EXPECT_EQ(Names("/ck/abandoned-00000000000000bb"),
            (Strings{"step-000000040", "step-000000040.2"}));
}

TEST_F(AbandonTest, KeepCountsTheLiveHistoryOnly) {
  for (const int64_t step : {100, 200, 300}) SaveOf(kOld, step, 1, 1);
  EXPECT_EQ(Names(), (Strings{"step-000000200", "step-000000300"})) << "two are kept";
  for (const int64_t step : {10, 20}) SaveOf(kNew, step, 2, 2);
  EXPECT_EQ(Names(),
            (Strings{"step-000000010", "step-000000020", "step-000000200", "step-000000300"}))
      << "what another history wrote neither counts nor goes";
  SaveOf(kNew, 30, 2, 2);
  EXPECT_EQ(Names(),
            (Strings{"step-000000020", "step-000000030", "step-000000200", "step-000000300"}));
}

TEST_F(AbandonTest, PruningDeletesNothingThatWasSetAside) {
  SaveOf(kOld, 40, 1, 1);
  ASSERT_TRUE(SetAside(files_, kUri, GoingOn(kNew, 0, 2)).ok());
  for (const int64_t step : {10, 20, 30, 40, 50}) SaveOf(kNew, step, 2, 2);
  EXPECT_EQ(Names("/ck/abandoned-00000000000000aa"), Strings{"step-000000040"});
}

TEST_F(AbandonTest, ACheckpointOfAnotherRunThatCannotBeMovedIsNotRemoved) {
  for (const bool refuses : {false, true}) {
    if (refuses) files_.RefuseExchange();
    ASSERT_TRUE(RemoveAll(files_, kUri).ok());
    SaveOf(kOld, 40, 1, 1);
    files_.SetFault([](MemoryFiles::Operation operation, const std::string& path) {
      return operation == MemoryFiles::Operation::kMakeDirectory &&
                     path.find("abandoned") != std::string::npos
                 ? absl::ResourceExhaustedError(path + ": No space left")
                 : absl::OkStatus();
    });
    EXPECT_EQ(SaveOf(kNew, 40, 2, 1).phase(), CheckpointReport::FAILED);
    files_.SetFault(nullptr);
    const CheckpointListing kept = InspectCheckpoint(files_, JoinPath(kUri, "step-000000040"));
    EXPECT_TRUE(kept.complete) << kept.problem;
    EXPECT_EQ(kept.history, kOld);
  }
}

// The zombie has trained on from step 20, which the new round knows, and further than that has.
TEST_F(AbandonTest, AZombiePrunesNothingOfANewerRound) {
  SaveOf(kNew, 20, 2, 1, "uid");
  for (const int64_t step : {25, 40}) SaveOf(kNew, step, 3, 2, "uid");
  for (const int64_t step : {50, 60, 70}) {
    EXPECT_EQ(SaveOf(kNew, step, 2, 1, "uid").phase(), CheckpointReport::WRITTEN);
  }
  for (const int64_t step : {25, 40}) {
    EXPECT_TRUE(InspectCheckpoint(files_, JoinPath(kUri, CheckpointName(step))).complete) << step;
  }
  SaveOf(kNew, 80, 4, 3, "uid");
  EXPECT_EQ(Names(), (Strings{"step-000000070", "step-000000080"}))
      << "the newest round prunes as ever";
}

// It named a folder beside the directory, to which SetAside moved the checkpoint.
TEST_F(AbandonTest, AHistoryThatIsNoNumberMovesNothing) {
  SaveOf(kNew, 20, 1, 1);
  SaveOf(kOld, 10, 1, 1);
  const std::string path = JoinPath(kUri, "step-000000010");
  for (const char* history : {"x/../../../pwned", "..", "00000000000000AA", "00000000000000aa/"}) {
    Json manifest = Json::parse(ReadFile(files_, JoinPath(path, kManifestName)).value());
    manifest["run"]["history"] = history;
    const std::string text = manifest.dump();
    EXPECT_TRUE(WriteFileAtomically(files_, JoinPath(path, kManifestName), text).ok());
    EXPECT_TRUE(
        WriteFileAtomically(files_, JoinPath(path, kDoneName), CheckpointDoneContents(text)).ok());
    const CheckpointListing listing = InspectCheckpoint(files_, path);
    EXPECT_FALSE(listing.complete);
    EXPECT_EQ(listing.history, "");
    EXPECT_EQ(listing.problem,
              "corrupted: the history in its manifest is not 16 hexadecimal digits");
    EXPECT_TRUE(SetAside(files_, kUri, GoingOn(kNew, 20, 2)).ok());
    EXPECT_EQ(ParseManifest(text).status().message(),
              "manifest: run: history must be 16 hexadecimal digits, or empty");
    EXPECT_TRUE(Exists(files_, path));
    EXPECT_FALSE(Exists(files_, "/pwned"));
  }
}

}  // namespace
}  // namespace muster::trainer
