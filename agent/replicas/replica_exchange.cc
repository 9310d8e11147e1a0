#include "agent/replicas/replica_exchange.h"

#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/replicas/replica_fetch.h"
#include "base/files/private_files.h"
#include "base/host_port.h"
#include "base/logging.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"

namespace muster::agent {
ReplicaExchange::ReplicaExchange(Options options, Files& files, const Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      store_({.folder = options_.folder,
              .job_uid = options_.worker.job_uid(),
              .own_index = options_.worker.index()},
             files, [this] { NoteChange(); }) {}

ReplicaExchange::~ReplicaExchange() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    if (fetching_ != nullptr) fetching_->TryCancel();
  }
  if (disk_ != nullptr) disk_->Stop();
  if (fetch_.joinable()) fetch_.join();
  sender_.reset();
  server_.reset();
  disk_.reset();
}

absl::Status ReplicaExchange::Serve(int64_t room, const std::string& disk) {
  store_.SetRoom(room);
  if (sender_ != nullptr) return absl::OkStatus();
  if (!disk.empty() && disk_ == nullptr) StartDisk(disk);
  MUSTER_RETURN_IF_ERROR(StartServer());
  MUSTER_ASSIGN_OR_RETURN(
      sender_, ReplicaSender::Start(
                   {.worker = options_.worker, .ranks = options_.ranks, .folder = options_.folder},
                   files_, clock_, [this](const auto& peer) { return Dial(peer); },
                   [this](int rank, const auto& report) { NoteReport(rank, report); }));
  NoteChange();
  return absl::OkStatus();
}

absl::Status ReplicaExchange::StartServer() {
  server_.reset();
  const bool on_socket = options_.on_socket;
  const std::string socket = absl::StrCat(kUnixPrefix, JoinPath(options_.folder, "replicas.sock"));
  if (on_socket) {
    MUSTER_RETURN_IF_ERROR(PrepareSocket(UnixPath(socket), "another agent"));
  }
  MUSTER_ASSIGN_OR_RETURN(
      server_, ReplicaServer::Start(
                   {.address = on_socket ? socket : "[::]:0", .job_uid = options_.worker.job_uid()},
                   on_socket ? grpc::InsecureServerCredentials() : MakePeerServerCredentials(keys_),
                   store_, [this](int index) { return CopiesOf(index); }, files_));
  endpoint_ = on_socket ? socket : HostAndPort(options_.host, server_->port());
  return absl::OkStatus();
}

void ReplicaExchange::StartDisk(const std::string& folder) {
  auto disk = DiskKeeper::Start(
      {.store = {.folder = folder, .worker = options_.worker, .ranks = options_.ranks},
       .memory = options_.folder},
      PrivateFileSystem(), files_, clock_, [this] { NoteChange(); });
  if (disk.ok()) {
    disk_ = *std::move(disk);
  } else {
    MUSTER_LOG(ERROR, "no copies on disk; training goes on", {"error", disk.status()});
  }
}

void ReplicaExchange::KeepOnDisk(int64_t from_step) {
  if (disk_ != nullptr) disk_->KeepFrom(from_step);
}

void ReplicaExchange::RemoveFromDiskAtEnd() {
  if (disk_ != nullptr) disk_->RemoveAtEnd();
}

std::vector<ReplicaStore::Replica> ReplicaExchange::CopiesOf(int index) const {
  std::vector<ReplicaStore::Replica> copies = store_.Of(index);
  if (disk_ == nullptr) return copies;
  for (ReplicaStore::Replica& copy : disk_->Of(index)) copies.push_back(std::move(copy));
  return copies;
}

std::vector<int> ReplicaExchange::Workers() const {
  std::vector<int> workers = store_.Workers();
  if (disk_ == nullptr) return workers;
  std::set<int> all(workers.begin(), workers.end());
  for (const int index : disk_->Workers().value_or(std::vector<int>())) all.insert(index);
  return {all.begin(), all.end()};
}

void ReplicaExchange::SetPeer(std::optional<v1alpha1::ReplicaPeer> peer) {
  if (sender_ != nullptr) sender_->SetPeer(std::move(peer));
}

void ReplicaExchange::Fetch(int of, std::vector<v1alpha1::ReplicaPeer> sources,
                            absl::Duration within) {
  if (fetch_.joinable()) fetch_.join();
  fetch_ = std::thread([this, of, sources = std::move(sources), within] {
    FetchAll(of, sources, within);
    {
      MutexLock lock(mu_);
      fetched_ = true;
    }
    wake_.Wake();
  });
}

void ReplicaExchange::FetchAll(int of, const std::vector<v1alpha1::ReplicaPeer>& sources,
                               absl::Duration within) {
  const absl::Time deadline = clock_.Monotonic() + within;
  FetchFromDisk(of, deadline);
  for (const v1alpha1::ReplicaPeer& peer : sources) {
    const std::optional<int> copies = FetchFrom(of, peer, deadline);
    // A replica has one keeper, and what lies on disks may be of any age.
    if (!copies || (*copies > 0 && disk_ == nullptr)) return;
  }
}

void ReplicaExchange::FetchFromDisk(int of, absl::Time deadline) {
  if (disk_ == nullptr) return;
  const absl::Time begun = clock_.Monotonic();
  const FetchedCopies taken = disk_->TakeIntoMemory(of, deadline);
  MUSTER_LOG(INFO, "took copies from the disk into memory", {"of_worker", of},
             {"copies", taken.copies}, {"bytes", taken.bytes},
             {"seconds", absl::ToDoubleSeconds(clock_.Monotonic() - begun)},
             {"error", taken.status.ok() ? "" : taken.status.ToString()});
}

std::optional<int> ReplicaExchange::FetchFrom(int of, const v1alpha1::ReplicaPeer& peer,
                                              absl::Time deadline) {
  v1alpha1::WorkerId lost = options_.worker;
  lost.set_index(of);
  const absl::Time begun = clock_.Monotonic();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoMilliseconds(deadline - begun));
  {
    MutexLock lock(mu_);
    if (stopping_) return std::nullopt;
    fetching_ = &context;
  }
  const FetchedCopies fetched =
      FetchCopies(Dial(peer), context, lost, options_.ranks, options_.folder, files_);
  {
    MutexLock lock(mu_);
    fetching_ = nullptr;
  }
  MUSTER_LOG(INFO, "fetched copies of the worker that had these ranks", {"of_worker", of},
             {"from", peer.worker()}, {"copies", fetched.copies}, {"bytes", fetched.bytes},
             {"seconds", absl::ToDoubleSeconds(clock_.Monotonic() - begun)},
             {"error", fetched.status.ok() ? "" : fetched.status.ToString()});
  return fetched.copies;
}

std::shared_ptr<grpc::Channel> ReplicaExchange::Dial(const v1alpha1::ReplicaPeer& peer) const {
  return NewPeerChannel(peer, options_.worker.job_uid(), keys_.Get().keys);
}

void ReplicaExchange::NoteChange() {
  {
    MutexLock lock(mu_);
    changed_ = true;
  }
  wake_.Wake();
}

void ReplicaExchange::NoteReport(int local_rank, const v1alpha1::ReplicaReport& report) {
  {
    MutexLock lock(mu_);
    reports_[local_rank] = report;
  }
  wake_.Wake();
}

std::vector<Event> ReplicaExchange::Take() {
  wake_.Clear();
  std::map<int, v1alpha1::ReplicaReport> reports;
  bool changed = false;
  bool fetched = false;
  {
    MutexLock lock(mu_);
    changed = std::exchange(changed_, false);
    fetched = std::exchange(fetched_, false);
    reports.swap(reports_);
  }
  std::vector<Event> events;
  // The operator waits for what is on the disk, and the disk's thread says when that is known.
  const bool known = disk_ == nullptr || disk_->Workers().has_value();
  if (changed && known && !endpoint_.empty()) {
    ReplicasChanged event;
    event.kept.set_endpoint(endpoint_);
    event.in_memory = store_.Workers();
    for (const int worker : Workers()) event.kept.add_workers(worker);
    events.push_back(std::move(event));
  }
  if (fetched) events.push_back(ReplicasFetched{});
  for (auto& [rank, report] : reports) {
    events.push_back(ReplicaReported{rank, std::move(report)});
  }
  return events;
}

}  // namespace muster::agent
