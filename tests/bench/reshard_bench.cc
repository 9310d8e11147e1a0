// usage: reshard_bench FOLDER
//
// Measures how long two data-parallel ranks take to load a checkpoint of GPT-2 124M that four ranks
// saved which divide all state, and how long two threads take to copy the same bytes from the same
// files to memory. The two take turns; the first turn of each, in which memory is made, does not
// count. Prints a JSON object.

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"

namespace muster::trainer {
namespace {

constexpr int kSavers = 4, kLoaders = 2, kTurns = 11;
constexpr size_t kCopyBytes = size_t{1} << 20;

class NoReports final : public Outbox {
 public:
  void Send(const v1alpha1::FromTrainer&) override {}
};

// One rank with its checkpoint store.
class Rank {
 public:
  Rank(int index, int shard, const std::string& folder)
      : shape_({.layers = 12, .heads = 12, .width = 768, .positions = 1024, .vocabulary = 50257}),
        store_(FileSystem(), Clock::Real(), folder, 2,
               {.job = "bench", .vocabulary = shape_.vocabulary}, reports_) {
    TrainingOptions options;
    options.optimizer.make = &MakeAdamW;
    options.divided = {.values = shard > 1, .gradients = shard > 1};
    state_ = OrDie(TrainingState::Create(OrDie(MakeModel(shape_)), options, {index, shard}));
    v1alpha1::ResumePoint resume;
    resume.set_source(v1alpha1::ResumePoint::FRESH);
    resume.mutable_version()->set_step(1);
    resume.mutable_version()->set_attempt(1);
    resume.set_next_attempt(2);
    resume.set_history("00000000000000aa");
    round_.set_round(1);
    OkOrDie(state_->commit().Prepare(round_));
    OrDie(state_->commit().Go(round_, 0, resume));
    OkOrDie(state_->InitializeFresh());
    OkOrDie(state_->commit().Restored());
  }

  // Saves this rank's share; that of rank 0 after all others completes the checkpoint.
  void Save(int rank) {
    OkOrDie(store_.Save(*state_, {.round = round_, .rank = rank, .world_size = kSavers}));
    if (!store_.WaitIdle(absl::InfiniteDuration())) std::abort();
  }
  void Load() {
    const Checkpoints::Listing listing = store_.List(*state_);
    if (listing.complete.size() != 1 || !listing.complete[0].mismatch().empty()) {
      OkOrDie(absl::InternalError("the checkpoint was not written"));
    }
    OrDie(store_.Load(listing.complete[0], *state_));
  }

 private:
  const planner::ModelShape shape_;
  NoReports reports_;
  CheckpointStore store_;
  v1alpha1::RoundId round_;
  std::unique_ptr<TrainingState> state_;
};

// Reads all tensors' files of a checkpoint into memory of its own.
class Copier {
 public:
  explicit Copier(const std::string& checkpoint) {
    for (const DirectoryEntry& entry : OrDie(FileSystem().List(checkpoint))) {
      if (absl::EndsWith(entry.name, ".safetensors")) {
        paths_.push_back(JoinPath(checkpoint, entry.name));
        bytes_ += OrDie(FileSystem().Stat(paths_.back())).size;
      }
    }
    memory_.resize(bytes_);
  }
  uint64_t bytes() const { return bytes_; }
  void Copy() {
    char* into = memory_.data();
    for (const std::string& path : paths_) {
      const auto file = OrDie(FileSystem().Open(path));
      for (uint64_t at = 0; at < file->size(); at += kCopyBytes) {
        const size_t size = std::min<uint64_t>(kCopyBytes, file->size() - at);
        OkOrDie(file->Read(at, into, size));
        into += size;
      }
    }
  }

 private:
  std::vector<std::string> paths_;
  uint64_t bytes_ = 0;
  std::vector<char> memory_;
};

// Runs both functions at once and returns the seconds until both have ended.
double SecondsOfBoth(const std::array<std::function<void()>, kLoaders>& functions) {
  std::barrier start(kLoaders + 1), end(kLoaders + 1);
  std::vector<std::thread> threads;
  for (const auto& function : functions) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      function();
      end.arrive_and_wait();
    });
  }
  start.arrive_and_wait();
  const absl::Time began = Clock::Real().Monotonic();
  end.arrive_and_wait();
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Monotonic() - began);
  for (std::thread& thread : threads) thread.join();
  return seconds;
}

void Run(const std::string& folder) {
  for (int rank = kSavers - 1; rank >= 0; --rank) Rank(rank, kSavers, folder).Save(rank);
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::unique_ptr<Copier>> copiers;
  for (int i = 0; i < kLoaders; ++i) {
    ranks.push_back(std::make_unique<Rank>(0, 1, folder));
    copiers.push_back(std::make_unique<Copier>(JoinPath(folder, "step-000000001")));
  }
  std::vector<double> loads, copies;
  for (int turn = 0; turn < kTurns + 1; ++turn) {
    loads.push_back(SecondsOfBoth({[&] { ranks[0]->Load(); }, [&] { ranks[1]->Load(); }}));
    copies.push_back(SecondsOfBoth({[&] { copiers[0]->Copy(); }, [&] { copiers[1]->Copy(); }}));
  }
  loads.erase(loads.begin());
  copies.erase(copies.begin());
  const Json result{{"savers", kSavers},
                    {"loaders", kLoaders},
                    {"bytes", copiers[0]->bytes()},
                    {"loads", loads},
                    {"copies", copies}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: reshard_bench FOLDER\n");
    return 2;
  }
  at::set_num_threads(1);
  muster::trainer::Run(argv[1]);
  return 0;
}
