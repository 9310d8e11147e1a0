#ifndef MUSTER_TRAINER_CHECKPOINT_WRITER_TEST_UTIL_H_
#define MUSTER_TRAINER_CHECKPOINT_WRITER_TEST_UTIL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/catalog.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/checkpoint/writer.h"

// Shared by the tests of writing and of damage: a small state to save, and its writers. One thread.
namespace muster::trainer {

inline constexpr char kUri[] = "/ck";

// A model of two tensors whose values depend on the step, and the optimizer's state.
struct State {
  std::vector<float> embedding, weight, moment;
  std::vector<double> scalar;
};

inline State StateAt(int64_t step) {
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

inline std::vector<SnapshotTensor> TensorsOf(const State& state) {
  return {{"embedding", TensorGroup::kModel, DataType::kF32, {6, 4}, Bytes(state.embedding)},
          {"weight", TensorGroup::kModel, DataType::kF32, {2, 5}, Bytes(state.weight)},
          {"embedding.m", TensorGroup::kOptimizer, DataType::kF32, {6, 4}, Bytes(state.moment)},
          {"scalar", TensorGroup::kOptimizer, DataType::kF64, {}, Bytes(state.scalar)}};
}

using Strings = std::vector<std::string>;

// The writers of one round, driven by hand.
class WriterTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointWriter> Make(absl::Duration deadline = absl::Minutes(1)) {
    WriterOptions options;
    options.uri = kUri;
    options.keep = 2;
    options.collect_margin = deadline;
    options.start_thread = false;
    return std::make_unique<CheckpointWriter>(
        files_, clock_, options,
        [this](const v1alpha1::CheckpointReport& r) { reports_.push_back(r); });
  }

  // Returns a writer's share. If `divide`, every tensor is cut into flat parts, one for each
  // writer; else whole tensors are dealt out.
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

  // Saves `step` by `writers` writers and returns the last report of writer 0.
  v1alpha1::CheckpointReport Save(int64_t step, int writers = 1, bool divide = false,
                                  int64_t round = 1) {
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

  // Returns the step of the checkpoint that FindNewestCheckpoint finds, after checking every value;
  // -1 if it finds no checkpoint.
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

  Strings Names(const std::string& directory = kUri) {
    std::vector<std::string> names;
    const auto entries = files_.List(directory);
    for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
      names.push_back(entry.name);
    }
    return names;
  }

  MemoryFiles files_;
  ManualClock clock_;
  std::vector<v1alpha1::CheckpointReport> reports_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_WRITER_TEST_UTIL_H_
