#include "trainer/engine/store/checkpoint_store.h"

#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/arange.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using v1alpha1::ResumePoint;

constexpr char kUri[] = "/ck";
constexpr char kHistory[] = "00000000000000aa";

// Returns a state of `history` that claims to have been trained to `step`.
std::unique_ptr<TrainingState> StateAt(int64_t step, const TrainingOptions& options = TinyOptions(),
                                       const std::string& history = kHistory,
                                       StateFiles* disk = nullptr) {
  auto state = MakeTinyState(options, 0.1, disk);
  v1alpha1::RoundId round;
  round.set_round(step);
  EXPECT_TRUE(state->commit().Prepare(round).ok());
  ResumePoint resume;
  resume.set_source(ResumePoint::FRESH);
  resume.mutable_version()->set_step(step);
  resume.mutable_version()->set_attempt(1);
  resume.set_next_attempt(2);
  resume.set_history(history);
  EXPECT_TRUE(state->commit().Go(round, 0, resume).ok());
  EXPECT_TRUE(state->commit().Restored().ok());
  return state;
}

TrainingOptions Sgd(double momentum) {
  TrainingOptions options = TinyOptions();
  options.optimizer.make = &MakeSgd;
  options.optimizer.momentum = momentum;
  return options;
}

class CheckpointStoreTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointStore> Open(const std::string& data = "data",
                                        const std::string& job = "default/job") {
    return std::make_unique<CheckpointStore>(
        files_, Clock::Real(), kUri, 3,
        RunIdentity{.job = job, .job_uid = "uid", .data_checksum = data, .vocabulary = 61},
        outbox_);
  }
  void Save(CheckpointStore& store, const TrainingState& state) {
    ASSERT_TRUE(store.Save(state, {}).ok());
    ASSERT_TRUE(store.WaitIdle(absl::Minutes(1)));
  }
  std::string MismatchOf(CheckpointStore& store, const TrainingState& state) {
    const Checkpoints::Listing listing = store.List(state);
    EXPECT_EQ(listing.error, "");
    EXPECT_EQ(listing.complete.size(), 1u);
    return listing.complete.empty() ? "" : listing.complete[0].mismatch();
  }

  MemoryFiles files_;
  RecordingOutbox outbox_;
};

TEST_F(CheckpointStoreTest, ASavedCheckpointIsListedWithItsHistoryAndIsDurable) {
  const auto store = Open();
  const auto state = StateAt(20);
  EXPECT_FALSE(store->Durable().has_value());
  Save(*store, *state);
  ASSERT_TRUE(store->Durable().has_value());
  EXPECT_EQ(store->Durable()->step(), 20);
  const Checkpoints::Listing listing = store->List(*state);
  ASSERT_EQ(listing.complete.size(), 1u);
  EXPECT_EQ(listing.complete[0].history(), kHistory);
  EXPECT_EQ(listing.complete[0].mismatch(), "");
  const v1alpha1::CheckpointReport report =
      outbox_.Await(v1alpha1::FromTrainer::kCheckpoint).checkpoint();
  EXPECT_EQ(report.history(), kHistory);
}

// Fills every number of the state with another one, or with nothing that a checkpoint holds.
void Fill(TrainingState& state, bool distinct) {
  for (size_t u = 0; u < state.units().size(); ++u) {
    const int unit = static_cast<int>(u);
    at::Tensor numbers = at::arange(state.units()[u].values().numel(), at::kFloat);
    if (!distinct) numbers.fill_(-1.0);
    const Unit& filled = state.units()[u];
    state.rests().MakeRoom(unit);
    if (filled.divides_values()) {
      filled.held().values.copy_(state.SliceOfFlat(unit, numbers));
    } else {
      filled.values().copy_(numbers);
    }
    for (at::Tensor& tensor : state.optimizer().state(unit)) {
      tensor.copy_(state.SliceOfFlat(unit, numbers.add_(0.5)));
    }
    EXPECT_TRUE(state.rests().Keep(unit).ok());
  }
  state.rests().Swap();
}

void ExpectEqualParts(const TrainingState& state, const std::vector<TensorPart>& ours,
                      const TrainingState& want, const std::vector<TensorPart>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  const auto bytes = [](const TrainingState& of, const TensorPart& part) {
    std::vector<std::byte> out(part.elements.nbytes());
    EXPECT_TRUE(of.ReadPart(part, out).ok());
    return out;
  };
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(bytes(state, ours[i]) == bytes(want, theirs[i])) << ours[i].name;
  }
}

TEST_F(CheckpointStoreTest, AnyDivisionLoadsWhatAnyDivisionSaved) {
  struct Layout {
    int data, shard;
    bool divides_values = false;
    OffloadOptions offload = {};
    // Makes a state of this layout's rank.
    void Divide(int index, TrainingState& state) const {
      TrainingOptions options = state.options();
      options.divided.values = divides_values;
      options.offload = offload;
      EXPECT_TRUE(state.Configure(options).ok());
      EXPECT_TRUE(state.Divide({index, shard}).ok());
      EXPECT_EQ(state.divides_values(), divides_values);
    }
  };
  const OffloadOptions both = {.optimizer = true, .weights = true, .directory = "disk"};
  const std::vector<Layout> layouts = {{1, 1},
                                       {2, 1},
                                       {1, 2},
                                       {1, 3},
                                       {2, 2},
                                       {1, 3, true},
                                       {2, 2, true},
                                       {1, 2, false, {.optimizer = true, .directory = "disk"}},
                                       {1, 1, true, both},
                                       {2, 2, true, both}};
  MemoryStateFiles disk;
  int64_t step = 20;
  for (const Layout& saved : layouts) {
    const int world = saved.data * saved.shard;
    v1alpha1::RoundId round;
    round.set_round(++step);
    // Writer 0 completes the checkpoint once the others have written their shares.
    std::vector<std::unique_ptr<CheckpointStore>> stores;
    for (int rank = world - 1; rank >= 0; --rank) {
      const auto state = StateAt(step, TinyOptions(), kHistory, &disk);
      saved.Divide(rank % saved.shard, *state);
      Fill(*state, true);
      stores.push_back(Open());
      ASSERT_TRUE(
          stores.back()->Save(*state, {.round = round, .rank = rank, .world_size = world}).ok());
      ASSERT_TRUE(rank == 0 || world == 1 || stores.back()->WaitIdle(absl::Minutes(1)));
    }
    ASSERT_TRUE(stores.back()->WaitIdle(absl::Minutes(1)));
    for (const Layout& loaded : layouts) {
      for (int index = 0; index < loaded.shard; ++index) {
        const auto state = StateAt(1, TinyOptions(), kHistory, &disk);
        const auto want = StateAt(step, TinyOptions(), kHistory, &disk);
        for (TrainingState* each : {state.get(), want.get()}) loaded.Divide(index, *each);
        Fill(*state, false);
        Fill(*want, true);
        const auto store = Open();
        const Checkpoints::Listing listing = store->List(*state);
        ASSERT_FALSE(listing.complete.empty());
        EXPECT_EQ(listing.complete[0].version().step(), step);
        EXPECT_EQ(listing.complete[0].mismatch(), "");
        const auto version = store->Load(listing.complete[0], *state);
        ASSERT_TRUE(version.ok()) << version.status();
        ExpectEqualParts(*state, state->OptimizerParts(), *want, want->OptimizerParts());
        ExpectEqualParts(*state, state->ValueParts(), *want, want->ValueParts());
      }
    }
  }
}

// transformers took 50256 for ids that config.json did not have, in a vocabulary of 257.
TEST_F(CheckpointStoreTest, ConfigHasTheTokenizersIdsAndTheWeightsType) {
  const auto config = [this](const std::string& name) {
    const auto text = ReadFile(files_, JoinPath(JoinPath(kUri, name), "config.json"));
    EXPECT_TRUE(text.ok()) << text.status();
    const auto json = ParseJson(text.value_or(""));
    EXPECT_TRUE(json.ok()) << json.status();
    return json.value_or(Json());
  };
  Save(*Open(), *StateAt(20));
  const Json none = config("step-000000020");
  EXPECT_EQ(none["torch_dtype"], "float32");
  ASSERT_TRUE(none.contains("eos_token_id"));
  EXPECT_TRUE(none["bos_token_id"].is_null() && none["eos_token_id"].is_null());

  TrainingOptions wide = TinyOptions();
  wide.types = TypesOf(planner::Precision::kFp64);
  CheckpointStore store(files_, Clock::Real(), kUri, 3,
                        RunIdentity{.job = "default/job",
                                    .job_uid = "uid",
                                    .data_checksum = "data",
                                    .tokenizer_json = "{}",
                                    .end_of_text = 60,
                                    .vocabulary = 61},
                        outbox_);
  Save(store, *StateAt(30, wide));
  const Json with = config("step-000000030");
  EXPECT_EQ(with["torch_dtype"], "float64");
  EXPECT_EQ(with["bos_token_id"], 60);
  EXPECT_EQ(with["eos_token_id"], 60);
  EXPECT_EQ(with["vocab_size"], 61);
}

TEST_F(CheckpointStoreTest, AnOptimizerWithOtherStateIsAMismatch) {
  {
    const auto store = Open();
    Save(*store, *StateAt(20, Sgd(0.0)));
  }
  const auto store = Open();
  EXPECT_EQ(MismatchOf(*store, *StateAt(20, Sgd(0.0))), "");
  EXPECT_THAT(MismatchOf(*Open(), *StateAt(20, Sgd(0.9))), HasSubstr("it has no "));
  EXPECT_THAT(MismatchOf(*Open(), *StateAt(20)), HasSubstr("of another model or optimizer"));
}

TEST_F(CheckpointStoreTest, MoreStateThanTheRunHasIsAMismatch) {
  Save(*Open(), *StateAt(20, Sgd(0.9)));
  EXPECT_THAT(MismatchOf(*Open(), *StateAt(20, Sgd(0.0))),
              HasSubstr(", which this run does not have"));
}

TEST_F(CheckpointStoreTest, OtherDataIsAMismatch) {
  Save(*Open("data"), *StateAt(20));
  EXPECT_EQ(MismatchOf(*Open("data"), *StateAt(20)), "");
  EXPECT_THAT(MismatchOf(*Open("other"), *StateAt(20)), HasSubstr("trained on other data"));
}

TEST_F(CheckpointStoreTest, AMismatchIsNotLoadedAndNotDamaged) {
  Save(*Open(), *StateAt(20, Sgd(0.0)));
  const auto store = Open();
  const auto state = StateAt(20, Sgd(0.9));
  v1alpha1::CheckpointRef ref;
  ref.set_directory("step-000000020");
  EXPECT_TRUE(absl::IsFailedPrecondition(store->Load(ref, *state).status()));
}

// A run that went back to an older checkpoint would move this one out of the way.
TEST_F(CheckpointStoreTest, AFormatThatOnlyANewerProgramReadsIsAMismatch) {
  Save(*Open(), *StateAt(20));
  const std::string folder = "/ck/step-000000020/";
  Json manifest = ParseJson(ReadFile(files_, folder + "manifest.json").value()).value();
  manifest["format"] = 3;
  const std::string text = DumpJson(manifest);
  ASSERT_TRUE(files_.Overwrite(folder + "manifest.json", text).ok());
  ASSERT_TRUE(files_.Overwrite(folder + "DONE", CheckpointDoneContents(text)).ok());
  const auto store = Open();
  const auto state = StateAt(20);
  constexpr char kWhy[] =
      "/ck/step-000000020: manifest: its format, 3, is newer than 2, the newest that this program "
      "reads";
  EXPECT_EQ(MismatchOf(*store, *state), kWhy);
  v1alpha1::CheckpointRef ref;
  ref.set_directory("step-000000020");
  const absl::Status loaded = store->Load(ref, *state).status();
  EXPECT_TRUE(absl::IsUnimplemented(loaded)) << loaded << ": it is not damaged";
}

TEST_F(CheckpointStoreTest, OnlyADamagedCheckpointIsDataLoss) {
  Save(*Open(), *StateAt(20));
  const auto store = Open();
  const auto state = StateAt(20);
  v1alpha1::CheckpointRef ref;
  ref.set_directory("step-000000020");
  ASSERT_TRUE(store->Load(ref, *state).ok());
  EXPECT_EQ(store->Durable()->step(), 20);
  ASSERT_TRUE(files_.Remove("/ck/step-000000020/DONE").ok());
  EXPECT_TRUE(absl::IsDataLoss(store->Load(ref, *state).status()));
  ASSERT_TRUE(RemoveAll(files_, "/ck/step-000000020").ok());
  const absl::Status gone = store->Load(ref, *state).status();
  EXPECT_TRUE(absl::IsUnavailable(gone)) << gone << ": it may come back";
}

TEST_F(CheckpointStoreTest, AnotherJobsDirectoryIsNotClaimed) {
  ASSERT_TRUE(Open()->Claim().ok());
  const absl::Status refused = Open("data", "default/other")->Claim();
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("default/job"));
}

TEST_F(CheckpointStoreTest, NothingIsSavedToADirectoryThatANewerJobTookOver) {
  const auto store = Open();
  ASSERT_TRUE(store->Claim().ok());
  ASSERT_TRUE(WriteFileAtomically(files_, "/ck/claim/owner.json",
                                  R"({"job": "default/job", "jobUid": "newer"})")
                  .ok());
  Save(*store, *StateAt(20));
  EXPECT_FALSE(store->Durable().has_value());
  EXPECT_FALSE(Exists(files_, "/ck/step-000000020"));
}

TEST_F(CheckpointStoreTest, RanksThatHoldAShardEachSaveTheWholeStateAfterTheirRound) {
  v1alpha1::RoundId round;
  round.set_round(20);
  std::vector<std::unique_ptr<TrainingState>> states;
  std::vector<std::unique_ptr<CheckpointStore>> stores;
  for (const int shard : {0, 1, 1}) {
    states.push_back(StateAt(20));
    EXPECT_TRUE(states.back()->Divide({shard, 2}).ok());
    Fill(*states.back(), /*distinct=*/true);
    // The values of the other shard were not gathered after the last step.
    Unit& unit = states.back()->units()[0];
    const int64_t half = unit.held().values.numel();
    unit.values().narrow(0, shard == 0 ? half : 0, unit.values().numel() - half).fill_(-7.0);
    stores.push_back(Open());
  }
  std::vector<bool> takes;
  for (size_t i = 0; i < states.size(); ++i) {
    const absl::StatusOr<bool> mine = stores[i]->TakeShard(*states[i], round);
    ASSERT_TRUE(mine.ok()) << mine.status();
    takes.push_back(*mine);
    EXPECT_FALSE(stores[i]->IsComplete(*states[i], round));
    if (!*mine) continue;
    const int shard = states[i]->shard().index;
    ASSERT_TRUE(stores[i]
                    ->Save(*states[i],
                           {.round = round, .rank = shard, .world_size = 2, .after_round = true})
                    .ok());
  }
  EXPECT_EQ(takes, std::vector<bool>({true, true, false})) << "one rank saves each shard";
  for (const auto& store : stores) ASSERT_TRUE(store->WaitIdle(absl::Minutes(1)));
  for (size_t i = 0; i < states.size(); ++i) {
    EXPECT_TRUE(stores[i]->IsComplete(*states[i], round));
    EXPECT_EQ(stores[i]->Durable()->step(), 20);
  }
  const auto want = StateAt(20), loaded = StateAt(20);
  Fill(*want, /*distinct=*/true);
  const Checkpoints::Listing listing = stores[0]->List(*loaded);
  ASSERT_EQ(listing.complete.size(), 1u);
  const auto version = stores[0]->Load(listing.complete[0], *loaded);
  ASSERT_TRUE(version.ok()) << version.status();
  ExpectEqualParts(*loaded, loaded->ValueParts(), *want, want->ValueParts());
  ExpectEqualParts(*loaded, loaded->OptimizerParts(), *want, want->OptimizerParts());
  const auto entries = files_.List(JoinPath(kUri, "step-000000020"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const DirectoryEntry& entry : *entries) {
    EXPECT_THAT(entry.name, testing::Not(HasSubstr("taken"))) << "it is of no use any more";
  }
}

}  // namespace
}  // namespace muster::trainer
