#ifndef MUSTER_AGENT_WORKER_CLIENT_CLIENT_SOCKET_H_
#define MUSTER_AGENT_WORKER_CLIENT_CLIENT_SOCKET_H_

#include <poll.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// The socket by which the processes of one rank's command report steps and hear notices
// (client_message.h). A unix socket of packets, mode 0600. Its clients are never waited for: one
// that sends what cannot be understood, or does not read, is cut off with a line in the log.
//
// Single-threaded; nothing blocks.
class ClientSocket {
 public:
  // Connections beyond these are closed at once.
  static constexpr size_t kMaxClients = 16;

  // `clock` must outlive it.
  explicit ClientSocket(const Clock& clock) : clock_(clock) {}
  ~ClientSocket() { Close(); }
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  // Listens at `path`, for a process that is about to start; what stood there is removed. Forgets
  // clients and notices of the process before. InvalidArgument for a path that is too long.
  absl::Status Open(const std::string& path);
  // Closes all connections and removes the socket.
  void Close();

  // Tells the clients, and those who connect later: `message` is save or stop.
  void Notify(const v1alpha1::ToTrainer& message);

  void AddPollFds(std::vector<pollfd>* fds) const;
  // Returns all that was sent since the last call, also by clients that have gone meanwhile. Steps
  // bear the time of their arrival.
  std::vector<v1alpha1::FromTrainer> Collect();

 private:
  void Accept();
  // Returns false if the client is gone or has to go.
  bool Read(int client, std::vector<v1alpha1::FromTrainer>* messages);
  // Returns false if the client does not read what it was sent before.
  bool Send(int client) const;

  const Clock& clock_;
  std::string path_;
  std::optional<UniqueFd> listener_;
  std::list<UniqueFd> clients_;
  int64_t saves_ = 0;
  std::optional<absl::Time> leave_at_;  // monotonic
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_CLIENT_CLIENT_SOCKET_H_
