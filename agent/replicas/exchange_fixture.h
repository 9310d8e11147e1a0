#ifndef MUSTER_AGENT_REPLICAS_EXCHANGE_FIXTURE_H_
#define MUSTER_AGENT_REPLICAS_EXCHANGE_FIXTURE_H_

#include <poll.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/replicas/copy_fixture.h"
#include "agent/replicas/replica_exchange.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/random_name.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"

// Agents that exchange replicas in one process, for tests.
namespace muster::agent {

inline constexpr int64_t kRoom = int64_t{64} << 20;

// The agent of one worker with its folder of copies, and what it has reported.
struct Agent {
  // With keys it serves on a port of this machine, without on a socket.
  Agent(int index, int incarnation, const std::optional<PeerKeys>& keys = std::nullopt)
      // The path of a socket is short. Tests that run at once share this memory, and in sandboxes
      // their processes may have the same number.
      : folder(absl::StrCat("/dev/shm/muster-test-", RandomName(), "-", index, "-", incarnation)) {
    EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
    exchange =
        std::make_unique<ReplicaExchange>(ReplicaExchange::Options{.worker = WorkerNamed(index),
                                                                   .ranks = 1,
                                                                   .host = "127.0.0.1",
                                                                   .folder = folder,
                                                                   .on_socket = !keys},
                                          FileSystem(), Clock::Real());
    if (keys) exchange->SetKeys(*keys);
  }
  ~Agent() {
    exchange.reset();
    RemoveAll(FileSystem(), folder).IgnoreError();
  }

  // Waits for the next event of that type.
  template <typename T>
  T Await() {
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    while (Clock::Real().Monotonic() < deadline) {
      for (Event& event : exchange->Take()) {
        if (T* wanted = std::get_if<T>(&event)) return std::move(*wanted);
      }
      pollfd fd = {exchange->poll_fd(), POLLIN, 0};
      poll(&fd, 1, 1000);
    }
    ADD_FAILURE() << "no such event";
    return T();
  }
  v1alpha1::ReplicaPeer Serve(int index) {
    EXPECT_TRUE(exchange->Serve(kRoom).ok());
    v1alpha1::ReplicaPeer peer;
    peer.set_worker(index);
    peer.set_endpoint(Await<ReplicasChanged>().kept.endpoint());
    return peer;
  }
  std::string Rank() const { return folder + "/rank-0"; }

  std::string folder;
  std::unique_ptr<ReplicaExchange> exchange;
};

// Worker 1, whose copies are streamed to worker 2.
struct StreamingPair {
  StreamingPair() {
    owner.Serve(1);
    owner.exchange->SetPeer(peer);
  }

  Agent owner{1, 1};
  Agent keeper{2, 1};
  v1alpha1::ReplicaPeer peer = keeper.Serve(2);
};

inline std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = FileSystem().List(folder);
  if (!entries.ok()) return names;
  for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_EXCHANGE_FIXTURE_H_
