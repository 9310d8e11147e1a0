#ifndef MUSTER_TRAINER_COMM_STORE_CLIENT_H_
#define MUSTER_TRAINER_COMM_STORE_CLIENT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "trainer/comm/store_wire.h"

namespace muster::trainer {

// One connection to a RoundStore. Abort(), from any thread, ends the call under way at once with
// Aborted, and makes all later calls fail the same way. Every call returns by `until` (monotonic),
// if need be with DeadlineExceeded; the store may then still carry out the request, before any
// later one. Unavailable if the store is gone. Thread-safe.
class StoreClient {
 public:
  StoreClient();
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // Tries until a store accepts that knows `secret`, as it learns that this client does.
  // Unavailable if none has by `until`; PermissionDenied if something answers that does not know
  // it.
  absl::Status Connect(const std::string& endpoint, const std::string& secret, absl::Time until);

  // ResourceExhausted if the store takes no more.
  absl::Status Set(const std::string& key, const std::string& value, absl::Time until);
  // Absent if no rank has set the key yet.
  absl::StatusOr<std::optional<std::string>> Get(const std::string& key, absl::Time until);
  absl::StatusOr<std::string> WaitFor(const std::string& key, absl::Time until);
  absl::StatusOr<int64_t> Add(const std::string& key, int64_t value, absl::Time until);

  void Abort();
  // Waits for `duration`; Aborted as soon as Abort() is called.
  absl::Status Pause(absl::Duration duration);

 private:
  absl::StatusOr<StoreAnswer> Ask(const StoreRequest& request, absl::Time until)
      MUSTER_EXCLUDES(mu_);
  absl::Status Prove(const std::string& secret, absl::Time until) MUSTER_REQUIRES(mu_);
  absl::Status SendAll(absl::Time until) MUSTER_REQUIRES(mu_);
  // Waits for bytes and appends them to in_.
  absl::Status ReadMore(absl::Time until) MUSTER_REQUIRES(mu_);
  absl::Status ReadAtLeast(size_t bytes, absl::Time until) MUSTER_REQUIRES(mu_);
  absl::StatusOr<StoreAnswer> ReadAnswer(absl::Time until) MUSTER_REQUIRES(mu_);
  // Waits for `events` on the socket, or for Abort.
  absl::Status Await(int fd, short events, absl::Time until);

  const int aborted_;  // an eventfd, readable for ever after Abort()
  Mutex mu_;           // one request at a time
  int fd_ MUSTER_GUARDED_BY(mu_) = -1;
  std::string out_ MUSTER_GUARDED_BY(mu_);  // not sent yet
  std::string in_ MUSTER_GUARDED_BY(mu_);   // not read yet
  std::optional<StoreSeal> seal_ MUSTER_GUARDED_BY(mu_), open_ MUSTER_GUARDED_BY(mu_);
  int owed_ MUSTER_GUARDED_BY(mu_) = 0;  // answers to come
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_STORE_CLIENT_H_
