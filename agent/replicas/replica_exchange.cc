#include "agent/replicas/replica_exchange.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/replicas/replica_fetch.h"
#include "base/host_port.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"

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
  if (fetch_.joinable()) fetch_.join();
  sender_.reset();
  server_.reset();
}

absl::Status ReplicaExchange::Serve(int64_t room) {
  store_.SetRoom(room);
  if (sender_ != nullptr) return absl::OkStatus();
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
                   store_, files_));
  endpoint_ = on_socket ? socket : HostAndPort(options_.host, server_->port());
  MUSTER_ASSIGN_OR_RETURN(
      sender_, ReplicaSender::Start(
                   {.worker = options_.worker, .ranks = options_.ranks, .folder = options_.folder},
                   files_, clock_, [this](const auto& peer) { return Dial(peer); },
                   [this](int rank, const auto& report) { NoteReport(rank, report); }));
  NoteChange();
  return absl::OkStatus();
}

void ReplicaExchange::SetPeer(std::optional<v1alpha1::ReplicaPeer> peer) {
  if (sender_ != nullptr) sender_->SetPeer(std::move(peer));
}

void ReplicaExchange::Fetch(int of, std::vector<v1alpha1::ReplicaPeer> sources,
                            absl::Duration within) {
  if (fetch_.joinable()) fetch_.join();
  fetch_ = std::thread([this, of, sources = std::move(sources), within] {
    FetchFrom(of, sources, within);
    {
      MutexLock lock(mu_);
      fetched_ = true;
    }
    wake_.Wake();
  });
}

void ReplicaExchange::FetchFrom(int of, const std::vector<v1alpha1::ReplicaPeer>& sources,
                                absl::Duration within) {
  v1alpha1::WorkerId lost = options_.worker;
  lost.set_index(of);
  const absl::Time begun = clock_.Monotonic();
  const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(within);
  for (const v1alpha1::ReplicaPeer& peer : sources) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      fetching_ = &context;
    }
    const FetchedCopies fetched =
        FetchCopies(Dial(peer), context, lost, options_.ranks, options_.folder, files_);
    {
      MutexLock lock(mu_);
      fetching_ = nullptr;
    }
    MUSTER_LOG(INFO, "fetched replicas of the lost worker's copies", {"from", peer.worker()},
               {"copies", fetched.copies}, {"bytes", fetched.bytes},
               {"seconds", absl::ToDoubleSeconds(clock_.Monotonic() - begun)},
               {"error", fetched.status.ok() ? "" : fetched.status.ToString()});
    if (fetched.copies > 0) return;
  }
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
  if (changed) {
    ReplicasChanged event;
    event.kept.set_endpoint(endpoint_);
    for (const int worker : store_.Workers()) event.kept.add_workers(worker);
    events.push_back(std::move(event));
  }
  if (fetched) events.push_back(ReplicasFetched{});
  for (auto& [rank, report] : reports) {
    events.push_back(ReplicaReported{rank, std::move(report)});
  }
  return events;
}

}  // namespace muster::agent
