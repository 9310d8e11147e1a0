#include "agent/replicas/replica_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/core/copies_layout.h"
#include "base/byte_text.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr int kMaxLocalRanks = 1024;

}  // namespace

ReplicaStore::ReplicaStore(Options options, Files& files, std::function<void()> on_change)
    : options_(std::move(options)), files_(files), on_change_(std::move(on_change)) {}

void ReplicaStore::SetRoom(int64_t bytes) {
  MutexLock lock(mu_);
  room_ = bytes;
}

absl::Status ReplicaStore::Receive(const std::function<bool(v1alpha1::ReplicaPart&)>& next) {
  v1alpha1::ReplicaPart part;
  if (!next(part) || !part.has_head()) {
    return absl::InvalidArgumentError("replica: the stream does not begin with a head");
  }
  const v1alpha1::ReplicaHead head = part.head();
  const std::vector<int> before = Workers();
  const absl::Status received = ReceiveCopy(head, next);
  if (Workers() != before) on_change_();
  return received;
}

absl::Status ReplicaStore::ReceiveCopy(const v1alpha1::ReplicaHead& head,
                                       const std::function<bool(v1alpha1::ReplicaPart&)>& next) {
  MUSTER_RETURN_IF_ERROR(Admit(head));
  v1alpha1::ReplicaPart part;
  absl::Status status;
  {
    auto receiver = CopyReceiver::Begin(files_, options_.job_uid, head,
                                        FolderOf(head.worker().index(), head.local_rank()));
    status = receiver.status();
    while (status.ok() && !(*receiver)->complete()) {
      status = next(part) ? (*receiver)->Take(part)
                          : absl::AbortedError("replica: the stream ended before the copy did");
    }
  }
  if (!status.ok()) {
    Release(head.bytes());
    return status;
  }
  Keep(head);
  return absl::OkStatus();
}

absl::Status ReplicaStore::Admit(const v1alpha1::ReplicaHead& head) {
  const int index = head.worker().index();
  if (head.worker().job_uid() != options_.job_uid || index < 0 || index == options_.own_index ||
      head.local_rank() < 0 || head.local_rank() >= kMaxLocalRanks || head.bytes() <= 0) {
    return absl::InvalidArgumentError("replica: its head names no other worker's copy of this job");
  }
  MutexLock lock(mu_);
  std::vector<int> others;
  int64_t taken = arriving_;
  for (const auto& [owner, replicas] : kept_) {
    if (owner.first != index) {
      others.push_back(owner.first);
      continue;
    }
    for (const Kept& kept : replicas) taken += kept.bytes;
  }
  if (head.bytes() > room_ - taken) {
    return absl::ResourceExhaustedError(
        absl::StrCat("checkpoint.memory.size: of the half that is for replicas, ", ByteText(room_),
                     ", ", ByteText(taken), " are taken, and a copy of worker ", index, " takes ",
                     ByteText(head.bytes()), ": raise it"));
  }
  // Only a copy that fits takes the place of those of other workers.
  for (const int other : others) Forget(other);
  arriving_ += head.bytes();
  return absl::OkStatus();
}

void ReplicaStore::Release(int64_t bytes) {
  MutexLock lock(mu_);
  arriving_ -= bytes;
}

void ReplicaStore::Keep(const v1alpha1::ReplicaHead& head) {
  MutexLock lock(mu_);
  arriving_ -= head.bytes();
  const int index = head.worker().index();
  std::deque<Kept>& replicas = kept_[{index, head.local_rank()}];
  std::erase_if(replicas, [&](const Kept& kept) { return kept.directory == head.directory(); });
  replicas.push_front({head.directory(), head.bytes()});
  while (replicas.size() > kCopiesOfARank) {
    const std::string old = JoinPath(FolderOf(index, head.local_rank()), replicas.back().directory);
    if (const absl::Status removed = RemoveAll(files_, old); !removed.ok()) {
      MUSTER_LOG(WARN, "could not remove an old replica", {"error", removed});
    }
    replicas.pop_back();
  }
}

std::vector<ReplicaStore::Replica> ReplicaStore::Of(int index) const {
  MutexLock lock(mu_);
  std::vector<Replica> found;
  for (size_t age = 0; age < kCopiesOfARank; ++age) {
    for (const auto& [owner, replicas] : kept_) {
      if (owner.first != index || age >= replicas.size()) continue;
      found.push_back(
          {owner.second, JoinPath(FolderOf(index, owner.second), replicas[age].directory)});
    }
  }
  return found;
}

std::vector<int> ReplicaStore::Workers() const {
  MutexLock lock(mu_);
  std::vector<int> workers;
  for (const auto& [owner, replicas] : kept_) {
    if (workers.empty() || workers.back() != owner.first) workers.push_back(owner.first);
  }
  return workers;
}

std::string ReplicaStore::FolderOf(int index) const {
  return ReplicasOfWorker(options_.folder, index);
}

std::string ReplicaStore::FolderOf(int index, int local_rank) const {
  return CopiesOfRank(FolderOf(index), local_rank);
}

void ReplicaStore::Forget(int index) {
  std::erase_if(kept_, [&](const auto& entry) { return entry.first.first == index; });
  if (const absl::Status removed = RemoveAll(files_, FolderOf(index)); !removed.ok()) {
    MUSTER_LOG(WARN, "could not remove the replicas of another worker", {"error", removed});
  }
}

}  // namespace muster::agent
