#include "base/object_store/credentials_cache.h"

#include <algorithm>
#include <utility>

#include "base/files/files.h"
#include "base/logging.h"
#include "base/object_store/credentials_source.h"

namespace muster {
namespace {

constexpr absl::Duration kMargin = absl::Minutes(5);
constexpr absl::Duration kNextTry = absl::Seconds(30);

bool Same(const S3Credentials& a, const S3Credentials& b) {
  return a.key_id == b.key_id && a.secret == b.secret && a.session_token == b.session_token;
}

}  // namespace

absl::Time RenewalTime(absl::Time now, absl::Time expires) {
  if (expires == absl::InfiniteFuture()) return expires;
  return expires - std::min(kMargin, std::max(expires - now, absl::ZeroDuration()) / 4);
}

CredentialsCache::CredentialsCache(std::unique_ptr<CredentialsSource> source, const Clock& clock)
    : source_(std::move(source)), clock_(clock) {}

void CredentialsCache::Take(const absl::StatusOr<ExpiringCredentials>& fetched) {
  newest_ = fetched.status();
  const absl::Time now = clock_.Wall();
  if (fetched.ok()) {
    held_ = *fetched;
    renew_at_ = RenewalTime(now, fetched->expires);
    return;
  }
  renew_at_ = now + kNextTry;
  if (!held_) return;
  MUSTER_LOG(
      WARN, "the keys of the store could not be renewed", {"error", newest_},
      {"good_until", absl::FormatTime(absl::RFC3339_sec, held_->expires, absl::UTCTimeZone())});
}

absl::Status CredentialsCache::Renew() {
  renewing_ = true;
  mu_.Unlock();
  const absl::StatusOr<ExpiringCredentials> fetched = source_->Fetch();
  mu_.Lock();
  renewing_ = false;
  ++renewals_;
  Take(fetched);
  renewed_.NotifyAll();
  return newest_;
}

absl::StatusOr<S3Credentials> CredentialsCache::Get() {
  MutexLock lock(mu_);
  const int64_t renewals = renewals_;
  while (true) {
    const absl::Time now = clock_.Wall();
    const bool good = held_ && now < held_->expires;
    if (good && (renewing_ || now < renew_at_)) return held_->keys;
    // A thread that waited for a renewal which failed does not ask again at once.
    if (!good && renewals_ != renewals && !newest_.ok()) return newest_;
    if (renewing_) {
      renewed_.Wait(mu_);
      continue;
    }
    const absl::Status renewed = Renew();
    if (renewed.ok()) return held_->keys;
    if (!good) return renewed;
  }
}

bool CredentialsCache::Replace(const S3Credentials& keys) {
  {
    MutexLock lock(mu_);
    if (held_ && Same(held_->keys, keys)) held_.reset();
  }
  const absl::StatusOr<S3Credentials> others = Get();
  return others.ok() && !Same(*others, keys);
}

std::shared_ptr<CredentialsCache> FixedCredentials(S3Credentials keys) {
  return std::make_shared<CredentialsCache>(
      MakeCredentialsSource(std::move(keys), nullptr, FileSystem()), Clock::Real());
}

}  // namespace muster
