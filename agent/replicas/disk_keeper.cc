#include "agent/replicas/disk_keeper.h"

#include <poll.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/core/copies_layout.h"
#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr size_t kMostWanted = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<DiskKeeper>> DiskKeeper::Start(Options options, Files& disk,
                                                              Files& memory, const Clock& clock,
                                                              std::function<void()> on_change) {
  MUSTER_ASSIGN_OR_RETURN(CopiesWatch watch,
                          CopiesWatch::Make(memory, options.memory, options.store.ranks));
  std::unique_ptr<DiskKeeper> keeper(new DiskKeeper(std::move(options), std::move(watch), disk,
                                                    memory, clock, std::move(on_change)));
  if (keeper->wake_.get() < 0) return absl::ErrnoToStatus(errno, "eventfd");
  keeper->thread_ = std::thread([raw = keeper.get()] { raw->Run(); });
  return keeper;
}

DiskKeeper::DiskKeeper(Options options, CopiesWatch watch, Files& disk, Files& memory,
                       const Clock& clock, std::function<void()> on_change)
    : options_(std::move(options)),
      disk_(disk),
      memory_(memory),
      clock_(clock),
      on_change_(std::move(on_change)),
      store_(options_.store, disk, memory, clock),
      watch_(std::move(watch)) {}

DiskKeeper::~DiskKeeper() {
  Stop();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mu_);
  if (removes_) store_.RemoveJob();
}

void DiskKeeper::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.Wake();
}

void DiskKeeper::KeepFrom(int64_t step) {
  {
    MutexLock lock(mu_);
    orders_.push_back(step);
  }
  wake_.Wake();
}

void DiskKeeper::RemoveAtEnd() {
  MutexLock lock(mu_);
  removes_ = true;
}

std::optional<std::vector<int>> DiskKeeper::Workers() const {
  MutexLock lock(mu_);
  return workers_;
}

absl::Status DiskKeeper::CheckGoesOn() {
  MutexLock lock(mu_);
  return stopping_ ? absl::CancelledError("the agent ends") : absl::OkStatus();
}

void DiskKeeper::Run() {
  Look();
  while (CheckGoesOn().ok()) {
    TakeOrders();
    watch_.Take();  // what is there now is found by its name
    KeepWanted();
    Wait();
  }
}

void DiskKeeper::TakeOrders() {
  MutexLock lock(mu_);
  for (int rank = 0; rank < options_.store.ranks; ++rank) {
    std::set<int64_t>& steps = wanted_[rank];
    steps.insert(orders_.begin(), orders_.end());
    // Ranks that make no copies for long are asked for the newest ones alone.
    while (steps.size() > kMostWanted) steps.erase(steps.begin());
  }
  orders_.clear();
}

void DiskKeeper::Look() {
  const absl::Status opened = store_.Open();
  works_ = opened.ok();
  if (!works_) {
    MUSTER_LOG(ERROR, "no copies on disk; training goes on", {"error", opened});
  }
  NoteWorkers();
}

void DiskKeeper::Wait() {
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {watch_.fd(), POLLIN, 0}};
  poll(fds, 2, -1);
  wake_.Clear();
}

void DiskKeeper::KeepWanted() {
  if (!works_) return;
  for (int rank = 0; rank < options_.store.ranks; ++rank) {
    if (wanted_[rank].empty()) continue;
    if (const auto copy = FirstFrom(rank, *wanted_[rank].begin())) Keep(*copy);
  }
}

std::optional<CompletedCopy> DiskKeeper::FirstFrom(int local_rank, int64_t step) const {
  const std::string folder = CopiesOfRank(options_.memory, local_rank);
  const auto entries = memory_.List(folder);
  if (!entries.ok()) return std::nullopt;
  // Names have their step in equally many digits, so that the first in order is the oldest.
  for (const DirectoryEntry& entry : *entries) {
    if (StepOfCheckpointName(entry.name) < step) continue;
    return CompletedCopy{local_rank, JoinPath(folder, entry.name)};
  }
  return std::nullopt;
}

void DiskKeeper::Keep(const CompletedCopy& copy) {
  const absl::Time begun = clock_.Monotonic();
  const absl::Status kept =
      store_.Keep(copy.path, copy.local_rank, [this] { return CheckGoesOn(); });
  if (absl::IsCancelled(kept)) return;
  // The rank has removed it meanwhile: its next one is kept instead.
  if (absl::IsAborted(kept) || absl::IsNotFound(kept)) return;
  std::set<int64_t>& steps = wanted_[copy.local_rank];
  steps.erase(steps.begin(), steps.upper_bound(StepOfCheckpointName(BaseName(copy.path))));
  if (!kept.ok()) {
    MUSTER_LOG_LIMITED(WARN, "disk", "a copy on disk is skipped; training goes on",
                       {"copy", BaseName(copy.path)}, {"error", kept});
    return;
  }
  MUSTER_LOG(INFO, "kept a copy on disk", {"local_rank", copy.local_rank},
             {"copy", BaseName(copy.path)},
             {"seconds", absl::ToDoubleSeconds(clock_.Monotonic() - begun)});
  NoteWorkers();
}

void DiskKeeper::NoteWorkers() {
  std::vector<int> workers = store_.Workers();
  {
    MutexLock lock(mu_);
    if (workers_ && *workers_ == workers) return;
    workers_ = std::move(workers);
  }
  on_change_();
}

FetchedCopies DiskKeeper::TakeIntoMemory(int index, absl::Time deadline) {
  FetchedCopies taken;
  for (const DiskStore::Replica& copy : store_.Of(index)) {
    const auto bytes = TransferCopy(
        disk_, copy.path, options_.store.worker,
        {memory_, CopiesOfRank(options_.memory, copy.local_rank)}, CopyReceiver::Sync::kNo,
        [&]() -> absl::Status {
          MUSTER_RETURN_IF_ERROR(CheckGoesOn());
          if (clock_.Monotonic() < deadline) return absl::OkStatus();
          return absl::DeadlineExceededError("the disk is too slow for the time of a round");
        });
    if (bytes.ok()) {
      ++taken.copies;
      taken.bytes += *bytes;
    } else {
      taken.status = bytes.status();
    }
  }
  return taken;
}

}  // namespace muster::agent
