#ifndef MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CACHE_H_
#define MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/object_store/credentials.h"

namespace muster {

// Returns when keys that were fetched at `now` are to be renewed: five minutes before they expire,
// and for those that last less than 20 minutes in the last quarter.
absl::Time RenewalTime(absl::Time now, absl::Time expires);

// The keys of one store, renewed before they expire, for all requests of a process. While one
// thread renews them, the others go on with those that are still good. Thread-safe; calls may wait
// for the network.
class CredentialsCache {
 public:
  // `clock` must outlive this.
  CredentialsCache(std::unique_ptr<CredentialsSource> source, const Clock& clock);

  // Returns keys that are good now. A renewal that fails is no error while the earlier keys last.
  absl::StatusOr<S3Credentials> Get();
  // Says that the store refused `keys`. Returns true if the source has given others.
  bool Replace(const S3Credentials& keys);

 private:
  absl::Status Renew() MUSTER_REQUIRES(mu_);
  void Take(const absl::StatusOr<ExpiringCredentials>& fetched) MUSTER_REQUIRES(mu_);

  const std::unique_ptr<CredentialsSource> source_;
  const Clock& clock_;

  Mutex mu_;
  CondVar renewed_;
  std::optional<ExpiringCredentials> held_ MUSTER_GUARDED_BY(mu_);
  absl::Time renew_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  bool renewing_ MUSTER_GUARDED_BY(mu_) = false;
  int64_t renewals_ MUSTER_GUARDED_BY(mu_) = 0;  // that have ended, well or badly
  absl::Status newest_ MUSTER_GUARDED_BY(mu_);   // of them
};

// Returns a cache of keys that stay the same.
std::shared_ptr<CredentialsCache> FixedCredentials(S3Credentials keys);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CACHE_H_
