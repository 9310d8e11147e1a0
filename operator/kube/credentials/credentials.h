#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/process.h"
#include "operator/kube/credentials/exec_credential.h"
#include "operator/kube/credentials/rest_config.h"

namespace muster::kube {

// What a client shows and trusts, at one moment. PEM texts; may be empty.
struct Credentials {
  std::string ca;
  std::string client_certificate;
  std::string client_key;
  std::string token;
  // Raised whenever ca, certificate or key are others: connections made before are outdated.
  uint64_t tls_generation = 0;
};

// Keeps a RestConfig's credentials fresh: files are looked at again every ten seconds (a file that
// is being rotated and cannot be read leaves what was there), a plugin is run again when what it
// gave expires. A plugin runs on a thread of its own, for longer than a call lasts if it must: what
// it gives is then the next call's. Thread-safe.
class CredentialSource {
 public:
  // `clock` and `files` must outlive it.
  CredentialSource(RestConfig config, const Clock& clock, Files& files, ProcessLauncher& launcher);
  // Ends a plugin that runs.
  ~CredentialSource();

  // An error only when something needed was never there, the plugin fails, or has nothing by
  // `deadline` (Monotonic). What a plugin gave is handed out for as long as it holds, though
  // another be on its way.
  absl::StatusOr<Credentials> Get(absl::Time deadline = absl::InfiniteFuture());
  // The server did not take them: look everywhere again at the next Get, unless that was done a
  // moment ago. False when nothing here can change.
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
  bool plugin_ran_ MUSTER_GUARDED_BY(mu_) = false;  // and what it gave was not refused
  bool running_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Status plugin_end_ MUSTER_GUARDED_BY(mu_);                            // of the last run
  absl::Time plugin_ended_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();  // Monotonic
  CondVar ended_;
  int stop_ = -1;  // readable when a plugin that runs must end
  std::thread runner_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_CREDENTIALS_H_
