#include "trainer/checkpoint/writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/manual_clock.h"
#include "base/memory_files.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/catalog.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/reader.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;

constexpr char kUri[] = "/ck";

// A model of three tensors whose values tell the step, and the optimizer's state of one.
struct State {
  std::vector<float> embedding, weight, moment;
  std::vector<double> scalar;
};

State StateAt(int64_t step) {
  State state;
  const float base = static_cast<float>(step * 1000);
  for (int i = 0; i < 24; ++i) state.embedding.push_back(base + static_cast<float>(i));
  for (int i = 0; i < 10; ++i) state.weight.push_back(base - static_cast<float>(i));
  state.moment = std::vector<float>(24, base / 2);
  state.scalar = {static_cast<double>(step)};
  return state;
}

template <typename T>
std::span<const std::byte> Bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<SnapshotTensor> TensorsOf(const State& state) {
  return {{"embedding", TensorGroup::kModel, DataType::kF32, {6, 4}, Bytes(state.embedding)},
          {"weight", TensorGroup::kModel, DataType::kF32, {2, 5}, Bytes(state.weight)},
          {"embedding.m", TensorGroup::kOptimizer, DataType::kF32, {6, 4}, Bytes(state.moment)},
          {"scalar", TensorGroup::kOptimizer, DataType::kF64, {}, Bytes(state.scalar)}};
}

// The writers of one round, driven by hand.
class WriterTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointWriter> Make(absl::Duration deadline = absl::Minutes(1)) {
    WriterOptions options;
    options.uri = kUri;
    options.keep = 2;
    options.collect_deadline = deadline;
    options.start_thread = false;
    return std::make_unique<CheckpointWriter>(
        files_, clock_, options, [this](const CheckpointReport& r) { reports_.push_back(r); });
  }

  // With `divide` every tensor is cut into flat parts, one a writer; else whole tensors are dealt.
  static Snapshot Share(const State& state, int64_t step, int writer, int writers, int64_t round,
                        bool divide) {
    Snapshot snapshot;
    snapshot.run.job = "job";
    snapshot.run.step = step;
    snapshot.run.attempt = 1;
    snapshot.run.round = round;
    snapshot.run.writers = writers;
    snapshot.run.vocabulary = 257;
    snapshot.run.model = {{"model_type", "gpt2"}, {"n_layer", 2}, {"resid_pdrop", 0.1}};
    snapshot.writer = writer;
    snapshot.documents["tokenizer.json"] = "{}";
    std::vector<SnapshotTensor> tensors = TensorsOf(state);
    for (size_t i = 0; i < tensors.size(); ++i) {
      SnapshotTensor tensor = tensors[i];
      const uint64_t count = *ElementCount(tensor.shape);
      if (divide && count > 1) {
        const uint64_t begin = count * static_cast<uint64_t>(writer) / writers;
        const uint64_t end = count * static_cast<uint64_t>(writer + 1) / writers;
        const uint64_t width = ElementBytes(tensor.type);
        tensor.begin = begin;
        tensor.count = end - begin;
        tensor.bytes = tensor.bytes.subspan(begin * width, (end - begin) * width);
      } else if (static_cast<int>(i) % writers != writer) {
        continue;
      }
      snapshot.tensors.push_back(tensor);
    }
    return snapshot;
  }

  // Saves `step` by `writers` writers; the last report of writer 0.
  CheckpointReport Save(int64_t step, int writers = 1, bool divide = false, int64_t round = 1) {
    const State state = StateAt(step);
    std::vector<std::unique_ptr<CheckpointWriter>> all;
    for (int w = 0; w < writers; ++w) {
      all.push_back(Make());
      EXPECT_TRUE(all.back()->Begin(Share(state, step, w, writers, round, divide)).ok());
    }
    for (int w = writers - 1; w >= 0; --w) {
      while (all[static_cast<size_t>(w)]->RunOnce()) {
      }
    }
    return reports_.back();
  }

  // What FindNewest finds, checked value by value; -1 when there is none.
  int64_t NewestStep() {
    const auto found = FindNewestCheckpoint(files_, kUri, nullptr);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || found->reader == nullptr) return -1;
    const int64_t step = found->reader->manifest().run.step;
    const State expected = StateAt(step);
    for (const SnapshotTensor& tensor : TensorsOf(expected)) {
      std::vector<std::byte> bytes(tensor.bytes.size());
      const absl::Status read = found->reader->Read(tensor.name, tensor.type, tensor.shape, bytes);
      EXPECT_TRUE(read.ok()) << read;
      EXPECT_EQ(std::memcmp(bytes.data(), tensor.bytes.data(), bytes.size()), 0) << tensor.name;
    }
    return step;
  }

  std::vector<std::string> Names(const std::string& directory = kUri) {
    std::vector<std::string> names;
    const auto entries = files_.List(directory);
    for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
      names.push_back(entry.name);
    }
    return names;
  }

  MemoryFiles files_;
  ManualClock clock_;
  std::vector<CheckpointReport> reports_;
};

using Strings = std::vector<std::string>;

TEST_F(WriterTest, WritesWhatHuggingFaceReads) {
  EXPECT_EQ(Save(1000).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(Names(), (Strings{"step-000001000"}));
  EXPECT_EQ(Names("/ck/step-000001000"),
            (Strings{"DONE", "config.json", "manifest.json", "model-00001-of-00001.safetensors",
                     "model.safetensors.index.json", "optimizer-00001-of-00001.safetensors",
                     "tokenizer.json"}));
  const Json index =
      Json::parse(ReadFile(files_, "/ck/step-000001000/model.safetensors.index.json").value());
  EXPECT_EQ(index["weight_map"], (Json{{"embedding", "model-00001-of-00001.safetensors"},
                                       {"weight", "model-00001-of-00001.safetensors"}}));
  EXPECT_EQ(NewestStep(), 1000);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[0].phase(), CheckpointReport::STARTED);
  EXPECT_EQ(reports_[1].directory(), "step-000001000");
  EXPECT_GT(reports_[1].bytes(), 200);
}

TEST_F(WriterTest, TheCopyIsTakenInBegin) {
  auto writer = Make();
  State state = StateAt(5);
  ASSERT_TRUE(writer->Begin(Share(state, 5, 0, 1, 1, false)).ok());
  EXPECT_TRUE(writer->busy());
  EXPECT_EQ(writer->Begin(Share(state, 6, 0, 1, 1, false)).code(), absl::StatusCode::kUnavailable);
  state = StateAt(6);
  while (writer->RunOnce()) {
  }
  EXPECT_FALSE(writer->busy());
  EXPECT_EQ(NewestStep(), 5);
}

TEST_F(WriterTest, AnyNumberOfWritersIsReadAlike) {
  int64_t step = 0;
  for (const bool divide : {false, true}) {
    for (const int writers : {1, 3, 2}) {
      ++step;
      EXPECT_EQ(Save(step, writers, divide).phase(), CheckpointReport::WRITTEN)
          << reports_.back().error();
      EXPECT_EQ(NewestStep(), step);
    }
  }
}

TEST_F(WriterTest, KeepsTwoAndDeletesOnlyAfterVerifying) {
  for (int64_t step = 1; step <= 4; ++step) Save(step);
  EXPECT_EQ(Names(), (Strings{"step-000000003", "step-000000004"}));
}

TEST_F(WriterTest, WhatOlderRoundsLeftIsDeletedAfterSuccess) {
  for (const char* name :
       {"/ck/step-000000001.r1", "/ck/step-000000009.r1", "/ck/mine.r1", "/ck/step-000000002.r7"}) {
    ASSERT_TRUE(files_.MakeDirectories(name).ok());
  }
  Save(2, 1, false, /*round=*/5);
  EXPECT_EQ(Names(),
            (Strings{"mine.r1", "step-000000002", "step-000000002.r7", "step-000000009.r1"}));
}

TEST_F(WriterTest, DeathAtAnyChangeLeavesTheOlderOrTheNewerWhole) {
  for (const bool power_cut : {false, true}) {
    for (int64_t death = 0;; ++death) {
      files_.Crash();
      ASSERT_TRUE(RemoveAll(files_, kUri).ok());
      Save(1);
      Save(2);
      ASSERT_TRUE(files_.SyncDirectory("/").ok());
      files_.KillAfter(death);
      const bool written = Save(3, 2).phase() == CheckpointReport::WRITTEN;
      if (power_cut) {
        files_.Crash();
      } else {
        files_.KillAfter(-1);
      }
      const int64_t newest = NewestStep();
      EXPECT_TRUE(newest == 2 || newest == 3) << "death at change " << death;
      EXPECT_TRUE(newest == 3 || !written) << "death at change " << death;
      if (Names() == Strings{"step-000000002", "step-000000003"}) break;
      ASSERT_LT(death, 200);
    }
  }
}

TEST_F(WriterTest, AFullDiskIsReportedAndLeavesNothing) {
  Save(1);
  files_.SetCapacity(0);
  const CheckpointReport full = Save(2);
  EXPECT_EQ(full.phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(full.error(), "are free")) << full.error();
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
  files_.SetCapacity(UINT64_MAX);
  EXPECT_EQ(Save(3).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(NewestStep(), 3);
}

TEST_F(WriterTest, AFailureAtAnyChangeIsCleanedUpAndTheNextSaveWorks) {
  for (int fail_at = 0;; ++fail_at) {
    int change = 0;
    files_.SetFault([&](MemoryFiles::Operation operation, const std::string& path) {
      // Removals work on a full disk; else nothing could be cleaned.
      if (operation == MemoryFiles::Operation::kRemove) return absl::OkStatus();
      if (change++ == fail_at) return absl::ResourceExhaustedError(path + ": No space left");
      return absl::OkStatus();
    });
    const CheckpointReport report = Save(1);
    files_.SetFault(nullptr);
    if (report.phase() == CheckpointReport::WRITTEN) break;
    EXPECT_TRUE(absl::StrContains(report.error(), "No space left")) << report.error();
    const Strings left = Names();
    // The rename may have happened; only its sync failed. Else nothing stays.
    EXPECT_TRUE(left.empty() || left == Strings{"step-000000001"}) << left[0];
    ASSERT_TRUE(RemoveAll(files_, kUri).ok());
    ASSERT_LT(fail_at, 200);
  }
  EXPECT_EQ(NewestStep(), 1);
}

TEST_F(WriterTest, AnotherWritersFailureEndsTheSaveAtOnce) {
  const State state = StateAt(1);
  auto zero = Make(), one = Make();
  ASSERT_TRUE(zero->Begin(Share(state, 1, 0, 2, 1, false)).ok());
  ASSERT_TRUE(one->Begin(Share(state, 1, 1, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_FALSE(zero->RunOnce()) << "waits for writer 1";
  files_.SetFault([&](MemoryFiles::Operation, const std::string& path) {
    return absl::StrContains(path, "00002-of") ? absl::PermissionDeniedError(path + ": denied")
                                               : absl::OkStatus();
  });
  EXPECT_TRUE(one->RunOnce());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(reports_.back().phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(reports_.back().error(), "writer 1 failed"));
  EXPECT_EQ(Names(), Strings());
}

TEST_F(WriterTest, SilentWritersAreWaitedForNoLongerThanTheDeadline) {
  auto zero = Make(absl::Seconds(10));
  ASSERT_TRUE(zero->Begin(Share(StateAt(1), 1, 0, 3, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_FALSE(zero->RunOnce());
  clock_.Advance(absl::Seconds(11));
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(reports_.back().error(), "no word from writers 1, 2 for 10s");
  EXPECT_EQ(Names(), Strings());
}

TEST_F(WriterTest, ANewerRoundsSnapshotDisplacesOneThatWaits) {
  auto zero = Make();
  ASSERT_TRUE(zero->Begin(Share(StateAt(1), 1, 0, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  ASSERT_TRUE(zero->Begin(Share(StateAt(2), 2, 0, 1, 2, false)).ok());
  while (zero->RunOnce()) {
  }
  EXPECT_EQ(Names(), (Strings{"step-000000002"}));
  EXPECT_EQ(reports_[1].phase(), CheckpointReport::FAILED);
}

TEST_F(WriterTest, AbandonStillCompletesWhatIsAllThere) {
  const State state = StateAt(1);
  auto zero = Make(), one = Make();
  ASSERT_TRUE(zero->Begin(Share(state, 1, 0, 2, 1, false)).ok());
  ASSERT_TRUE(one->Begin(Share(state, 1, 1, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_TRUE(one->RunOnce());
  zero->Abandon();
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(NewestStep(), 1);
}

TEST_F(WriterTest, AZombiesLateShardsLandNowhere) {
  const State state = StateAt(1);
  auto zombie = Make();
  ASSERT_TRUE(zombie->Begin(Share(state, 1, 0, 1, /*round=*/1, false)).ok());
  Save(1, 1, false, /*round=*/2);
  const std::string before = ReadFile(files_, "/ck/step-000000001/manifest.json").value();
  while (zombie->RunOnce()) {
  }
  EXPECT_EQ(reports_.back().phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(reports_.back().error(), "round 2 has published this step"));
  EXPECT_EQ(ReadFile(files_, "/ck/step-000000001/manifest.json").value(), before);
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
}

TEST_F(WriterTest, AStepRedoneInALaterRoundReplacesTheOlder) {
  Save(1, 1, false, 1);
  Save(1, 1, false, 2);
  const auto listing = InspectCheckpoint(files_, "/ck/step-000000001");
  EXPECT_TRUE(listing.complete);
  EXPECT_EQ(listing.round, 2);
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
}

TEST_F(WriterTest, TheThreadDoesTheSame) {
  WriterOptions options;
  options.uri = kUri;
  CheckpointWriter writer(files_, Clock::Real(), options, nullptr);
  ASSERT_TRUE(writer.Begin(Share(StateAt(7), 7, 0, 1, 1, false)).ok());
  ASSERT_TRUE(writer.WaitIdle(Clock::Real().Monotonic() + absl::Seconds(30)).ok());
  EXPECT_EQ(NewestStep(), 7);
}

TEST(AssignWritersTest, BalancesBytes) {
  const std::vector<uint64_t> bytes = {100, 10, 10, 10, 60, 40};
  const std::vector<int> owner = AssignWriters(bytes, 2);
  uint64_t load[2] = {0, 0};
  for (size_t i = 0; i < bytes.size(); ++i) load[owner[i]] += bytes[i];
  EXPECT_EQ(load[0] + load[1], 230u);
  EXPECT_LE(load[0] > load[1] ? load[0] - load[1] : load[1] - load[0], 10u);
}

// Damage to a checkpoint, and what the catalog says of it; the older one is used, nothing deleted.
class DamageTest : public WriterTest {
 protected:
  void SetUp() override {
    Save(1);
    Save(2);
  }
  std::string Reason(const std::function<void(const std::string& path)>& damage) {
    damage("/ck/step-000000002/");
    const Strings before = Names();
    const auto found = FindNewestCheckpoint(files_, kUri, nullptr).value();
    EXPECT_EQ(found.directory, "step-000000001");
    EXPECT_EQ(NewestStep(), 1);
    EXPECT_EQ(Names(), before) << "nothing is deleted";
    return found.skipped.empty() ? "" : found.skipped.back().reason;
  }
  std::string Contents(const std::string& path) { return ReadFile(files_, path).value(); }
};

TEST_F(DamageTest, HalfWritten) {
  EXPECT_EQ(Reason([&](const std::string& p) { ASSERT_TRUE(files_.Remove(p + "DONE").ok()); }),
            "half-written: DONE is missing");
}

TEST_F(DamageTest, Truncated) {
  EXPECT_EQ(Reason([&](const std::string& p) {
              const std::string file = p + "model-00001-of-00001.safetensors";
              const std::string whole = Contents(file);
              ASSERT_TRUE(files_.Overwrite(file, whole.substr(0, 100)).ok());
            }).substr(0, 53),
            "truncated: model-00001-of-00001.safetensors has 100 b");
}

TEST_F(DamageTest, OneFlippedBit) {
  const std::string reason = Reason([&](const std::string& p) {
    const std::string file = p + "optimizer-00001-of-00001.safetensors";
    std::string whole = Contents(file);
    whole[whole.size() - 5] ^= 1;
    ASSERT_TRUE(files_.Overwrite(file, whole).ok());
  });
  EXPECT_TRUE(absl::StartsWith(reason, "corrupted: optimizer-00001-of-00001.safetensors"))
      << reason;
}

TEST_F(DamageTest, AlteredManifest) {
  EXPECT_EQ(Reason([&](const std::string& p) {
              ASSERT_TRUE(
                  files_.Overwrite(p + "manifest.json", Contents(p + "manifest.json") + " ").ok());
            }),
            "corrupted: manifest.json is not the one DONE was written for");
}

TEST_F(DamageTest, MissingFile) {
  EXPECT_EQ(
      Reason([&](const std::string& p) { ASSERT_TRUE(files_.Remove(p + "tokenizer.json").ok()); }),
      "incomplete: tokenizer.json is missing");
}

TEST_F(DamageTest, ForeignDirectoriesAreNamedAndLeftAlone) {
  ASSERT_TRUE(files_.MakeDirectories("/ck/holiday-photos").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/step-000000003.r1").ok());
  const auto found = FindNewestCheckpoint(files_, kUri, nullptr).value();
  EXPECT_EQ(found.directory, "step-000000002");
  ASSERT_EQ(found.skipped.size(), 2u);
  EXPECT_EQ(found.skipped[0].reason, "foreign: not a checkpoint's name");
  EXPECT_EQ(found.skipped[1].reason, "half-written, or set aside");
}

TEST_F(DamageTest, AReaderSeesCorruptionEvenWithoutVerifying) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  const std::string file = "/ck/step-000000002/model-00001-of-00001.safetensors";
  std::string whole = Contents(file);
  whole[whole.size() - 1] ^= 1;
  ASSERT_TRUE(files_.Overwrite(file, whole).ok());
  std::vector<std::byte> bytes(40);
  EXPECT_EQ(reader->Read("weight", DataType::kF32, {2, 5}, bytes).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(DamageTest, AnotherModelIsRefusedInOneSentence) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  const RunRecord& run = reader->manifest().run;
  const Json same = {{"model_type", "gpt2"}, {"n_layer", 2}, {"resid_pdrop", 0.5}};
  const Json other = {{"model_type", "gpt2"}, {"n_layer", 12}};
  EXPECT_TRUE(CheckCompatible(run, same, 257, "").ok());
  EXPECT_EQ(CheckCompatible(run, other, 257, "").message(),
            "the checkpoint is of another model: n_layer is 2 there, 12 here");
  EXPECT_EQ(CheckCompatible(run, same, 8192, "").message(),
            "the checkpoint's vocabulary has 257 tokens, this run's 8192");
  EXPECT_EQ(CheckCompatible(run, same, 257, "x").message(),
            "the checkpoint was trained with another tokenizer: the same number of tokens, but "
            "other ones");
  const auto found = FindNewestCheckpoint(files_, kUri, [&](const Manifest& manifest) {
    return CheckCompatible(manifest.run, other, 257, "");
  });
  EXPECT_EQ(found.status().message(),
            "/ck/step-000000002: the checkpoint is of another model: n_layer is 2 there, 12 here");
}

TEST_F(DamageTest, TensorsOfAnotherShapeAreRefused) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  std::vector<std::byte> bytes(40);
  EXPECT_EQ(reader->Read("weight", DataType::kF32, {5, 2}, bytes).message(),
            "/ck/step-000000002: weight is F32[2, 5] there, F32[5, 2] here");
  EXPECT_EQ(reader->Read("bias", DataType::kF32, {5}, bytes).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace muster::trainer
