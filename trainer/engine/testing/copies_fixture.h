#ifndef MUSTER_TRAINER_ENGINE_TESTING_COPIES_FIXTURE_H_
#define MUSTER_TRAINER_ENGINE_TESTING_COPIES_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/memory_files.h"
#include "trainer/engine/store/kept_replicas.h"
#include "trainer/engine/store/state_copies.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

// Ranks whose copies of their state outlive their processes.
namespace muster::trainer {

inline constexpr int kEvery = 5;

// A rank's process and the memory that its agent keeps for it.
class RankWithCopies {
 public:
  RankWithCopies(const TrainingOptions& options, const TrainerSettings& settings,
                 ThreadNetwork::Rounds& rounds, MemoryCheckpoints::Disk& disk, Files& memory,
                 const std::string& folder)
      : copies_(memory, Clock::Real(), folder, {.name = "default/job", .uid = "uid"}),
        replicas_(memory, "uid", folder),
        trainer_(options, settings, rounds, disk, nullptr, &copies_, &replicas_) {}
  ThreadTrainer& operator*() { return trainer_; }
  ThreadTrainer* operator->() { return &trainer_; }

 private:
  StateCopies copies_;
  KeptReplicas replicas_;
  ThreadTrainer trainer_;
};

template <typename Copies>
const v1alpha1::StateCopy* FindStep(const Copies& copies, int64_t step) {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [&](const auto& copy) { return copy.version().step() == step; });
  return found == copies.end() ? nullptr : &*found;
}

inline const v1alpha1::StateCopy* FindCopy(const v1alpha1::RankPosition& position, int64_t step) {
  return FindStep(position.copies(), step);
}

// Returns a resume point from the copies of `step`, which at least one rank must have.
inline v1alpha1::ResumePoint FromCopies(const std::vector<v1alpha1::RankPosition>& positions,
                                        int64_t step, int64_t attempt) {
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::MEMORY);
  resume.set_next_attempt(attempt);
  resume.set_history(kHistory);
  resume.set_donor(-1);
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const v1alpha1::StateCopy* copy = FindCopy(positions[static_cast<size_t>(r)], step);
    *resume.add_slices() = copy == nullptr ? v1alpha1::StateSlice() : copy->slice();
    if (copy == nullptr) {
      resume.add_receivers(r);
      continue;
    }
    *resume.mutable_version() = copy->version();
    if (resume.donor() < 0) resume.set_donor(r);
  }
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const v1alpha1::StateCopy* replica =
        FindStep(positions[static_cast<size_t>(r)].replicas(), step);
    if (replica == nullptr) continue;
    v1alpha1::ReplicaSource& source = *resume.add_replicas();
    source.set_rank(r);
    *source.mutable_slice() = replica->slice();
  }
  return resume;
}

class TrainerCopiesTest : public TrainerTest {
 protected:
  TrainerCopiesTest() {
    settings_.copies = true;
    settings_.copy_every_steps = kEvery;
    settings_.copies_room = int64_t{1} << 30;
  }
  std::unique_ptr<RankWithCopies> StartWithCopies(int rank) {
    return std::make_unique<RankWithCopies>(options_, settings_, rounds_, disk_, memory_,
                                            absl::StrCat("/shm/rank-", rank));
  }
  // Trains ranks that divide the state until all compute `step`, and kills them all.
  void TrainAndKill(int ranks, int shard, int64_t step) {
    std::vector<std::unique_ptr<RankWithCopies>> rank;
    std::vector<ThreadTrainer*> all;
    for (int r = 0; r < ranks; ++r) {
      rank.push_back(StartWithCopies(r));
      all.push_back(&**rank.back());
    }
    Prepare(all);
    for (ThreadTrainer* trainer : all) trainer->feed().HoldAt(step);
    Go(all, Fresh(1), shard);
    for (ThreadTrainer* trainer : all) trainer->feed().AwaitHeld();
    for (ThreadTrainer* trainer : all) trainer->Kill();
  }

  // Prepares a round among `ranks`. The last rank keeps the replicas of lost ranks, which are in
  // `folders`.
  std::vector<v1alpha1::RankPosition> PrepareWithReplicas(const std::vector<ThreadTrainer*>& ranks,
                                                          const std::vector<std::string>& folders) {
    ++round_;
    const int world = static_cast<int>(ranks.size());
    for (int r = 0; r < world; ++r) {
      ranks[static_cast<size_t>(r)]->Prepare(round_, r, world, nullptr, "",
                                             r == world - 1 ? folders : std::vector<std::string>());
    }
    return AwaitReady(ranks);
  }

  MemoryFiles memory_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_COPIES_FIXTURE_H_
