#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/process/process.h"
#include "operator/kube/credentials/exec_credential.h"
#include "operator/kube/credentials/rest_config.h"

namespace muster::kube {

// A snapshot of what a client presents to the server and trusts, as PEM texts. Any may be empty.
struct Credentials {
  std::string ca;
  std::string client_certificate;
  std::string client_key;
  std::string token;
  // Incremented when ca, client_certificate or client_key change: older connections are outdated.
  uint64_t tls_generation = 0;
};

// Keeps a RestConfig's credentials fresh. Files are read again every ten seconds; a file that
// cannot be read, for example during a rotation, keeps its last content. A plugin runs again when
// its credential expires, on its own thread and for longer than a call if necessary; a later call
// then uses the result. Thread-safe.
class CredentialSource {
 public:
  // `clock`, `files` and `launcher` must outlive it.
  CredentialSource(RestConfig config, const Clock& clock, Files& files, ProcessLauncher& launcher);
  // Stops a running plugin.
  ~CredentialSource();

  // Fails only if a required file has never been readable, or if the plugin fails or has no result
  // by `deadline` (Monotonic). A plugin's credential is returned until it expires, even while a new
  // one is being fetched.
  absl::StatusOr<Credentials> Get(absl::Time deadline = absl::InfiniteFuture());
  // Records that the server rejected the credentials: the next Get reads all sources again, unless
  // that was done a moment ago. Returns false if no source can change.
  bool Refuse();

 private:
  absl::Status Refresh() MUSTER_REQUIRES(mu_);
  absl::Status RefreshFiles(Credentials& fresh) MUSTER_REQUIRES(mu_);
  absl::Status FollowPlugin(absl::Time deadline) MUSTER_REQUIRES(mu_);
  void StartPlugin() MUSTER_REQUIRES(mu_);
  void RunPlugin();
  bool CanChange() const;

  const RestConfig config_;
  const Clock& clock_;
  Files& files_;
  ProcessLauncher& launcher_;

  Mutex mu_;
  Credentials current_ MUSTER_GUARDED_BY(mu_);
  ExecCredential plugin_ MUSTER_GUARDED_BY(mu_);
  bool read_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Time read_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();  // Monotonic
  bool plugin_ran_ MUSTER_GUARDED_BY(mu_) = false;  // and the server has not refused plugin_
  bool running_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Status plugin_end_ MUSTER_GUARDED_BY(mu_);                            // of the last run
  absl::Time plugin_ended_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();  // Monotonic
  CondVar ended_;
  int stop_ = -1;  // an eventfd, readable once the plugin must stop
  std::thread runner_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_
