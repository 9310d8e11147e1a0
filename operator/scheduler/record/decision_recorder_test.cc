#include "operator/scheduler/record/decision_recorder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/queue/record/decision_record.h"
#include "operator/scheduler/record/decision_ring.h"
#include "operator/scheduler/record/decision_ring_fixture.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;

uint64_t Note(DecisionRecorder& recorder, const std::string& uid) {
  DecisionInput input = InputOf(uid);
  const std::vector<Decision> decisions = Replay(input);
  return recorder.Note(std::move(input), decisions);
}

TEST(DecisionRecorderTest, KeepsWhatIsNewAndFindsItByItsId) {
  MemoryFiles files;
  DecisionRecorder recorder{DecisionRing(files, kFolder)};
  EXPECT_EQ(Note(recorder, "a"), 1u);
  EXPECT_EQ(Note(recorder, "b"), 2u);
  EXPECT_EQ(Note(recorder, "b"), 2u) << "the same again";
  EXPECT_EQ(recorder.Note(InputOf("c"), {}), 0u) << "nothing was decided";
  while (recorder.RunOnce()) {
  }
  EXPECT_THAT(IdsIn(files), ElementsAre(1, 2));
  EXPECT_EQ(recorder.kept(), 2);
  const auto found = FindDecision(files, kFolder, 2);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->input.snapshot.jobs[0].uid, "b");
  EXPECT_EQ(EncodeOutcome(Replay(found->input)), found->outcome);
  EXPECT_EQ(FindDecision(files, kFolder, 7).status().message(),
            "there is no decision 7 in /state/decisions; it has 1 to 2");
  EXPECT_TRUE(absl::IsNotFound(FindDecision(files, "/none", 1).status()));
}

TEST(DecisionRecorderTest, IdsGoUpOverRestartsAndPastATornEnd) {
  MemoryFiles files;
  {
    DecisionRecorder recorder{DecisionRing(files, kFolder)};
    Note(recorder, "a");
    Note(recorder, "b");
    while (recorder.RunOnce()) {
    }
  }
  const std::string path = absl::StrCat(kFolder, "/decisions-0000000000000001");
  const std::string bytes = ReadFile(files, path).value();
  ASSERT_TRUE(files.Overwrite(path, bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_THAT(IdsIn(files), ElementsAre(1));
  DecisionRecorder next{DecisionRing(files, kFolder)};
  EXPECT_EQ(Note(next, "c"), 2u);
  while (next.RunOnce()) {
  }
  EXPECT_THAT(IdsIn(files), ElementsAre(1, 2));
}

TEST(DecisionRecorderTest, TheOldestMakeRoomAndTheBoundHolds) {
  MemoryFiles files;
  DecisionRecorder recorder{DecisionRing(files, kFolder, {.max_bytes = 20'000, .files = 4})};
  uint64_t last = 0;
  for (int i = 0; i < 300; ++i) {
    last = Note(recorder, absl::StrCat("job-", i));
    recorder.RunOnce();
    uint64_t bytes = 0;
    const std::vector<DirectoryEntry> entries = files.List(kFolder).value();
    for (const DirectoryEntry& entry : entries) {
      bytes += files.Stat(JoinPath(kFolder, entry.name)).value().size;
    }
    ASSERT_LE(bytes, 20'000u);
  }
  EXPECT_EQ(last, 300u);
  EXPECT_EQ(recorder.dropped(), 0);
  const std::vector<uint64_t> ids = IdsIn(files);
  ASSERT_GT(ids.size(), 20u);
  EXPECT_EQ(ids.back(), 300u);
  for (size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(ids[i], ids[i - 1] + 1);
  EXPECT_LE(files.List(kFolder)->size(), 5u);
}

TEST(DecisionRecorderTest, ADiskThatFailsCostsRecordsOnly) {
  MemoryFiles files;
  DecisionRecorder recorder{DecisionRing(files, kFolder)};
  Note(recorder, "a");
  recorder.RunOnce();
  files.SetFault([](MemoryFiles::Operation, const std::string&) {
    return absl::ResourceExhaustedError("the disk is full");
  });
  EXPECT_EQ(Note(recorder, "b"), 2u);
  EXPECT_TRUE(recorder.RunOnce());
  EXPECT_EQ(recorder.dropped(), 1);
  files.SetFault(nullptr);
  EXPECT_EQ(Note(recorder, "c"), 3u);
  EXPECT_TRUE(recorder.RunOnce());
  EXPECT_THAT(IdsIn(files), ElementsAre(1, 3));
  EXPECT_EQ(recorder.kept(), 2);
}

TEST(DecisionRecorderTest, RecordsThatComeTooFastAreDropped) {
  MemoryFiles files;
  DecisionRecorder recorder{DecisionRing(files, kFolder)};
  for (size_t i = 0; i < DecisionRecorder::kMaxWaiting + 3; ++i) {
    EXPECT_EQ(Note(recorder, absl::StrCat("job-", i)), i + 1);
  }
  EXPECT_EQ(recorder.dropped(), 3);
  recorder.Shutdown();
  size_t written = 0;
  while (recorder.WaitAndRun()) ++written;
  EXPECT_EQ(written, DecisionRecorder::kMaxWaiting);
}

}  // namespace
}  // namespace muster::control
