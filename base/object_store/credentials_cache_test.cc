#include "base/object_store/credentials_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/object_store/aws_signature.h"
#include "base/object_store/credentials.h"
#include "base/testing/manual_clock.h"

namespace muster {
namespace {

// Hands out keys with numbers, and lets a test hold or refuse a call.
class NumberedSource final : public CredentialsSource {
 public:
  NumberedSource(const Clock& clock, absl::Duration lasts) : clock_(clock), lasts_(lasts) {}

  absl::StatusOr<ExpiringCredentials> Fetch() override {
    MutexLock lock(mu_);
    ++calls_;
    changed_.NotifyAll();
    while (held_) changed_.Wait(mu_);
    if (!status_.ok()) return status_;
    return ExpiringCredentials{{absl::StrCat("key-", calls_), "secret", ""},
                               clock_.Wall() + lasts_};
  }
  std::string Describe() const override { return "a test"; }

  void Hold(bool held) {
    MutexLock lock(mu_);
    held_ = held;
    changed_.NotifyAll();
  }
  void Fail(absl::Status status) {
    MutexLock lock(mu_);
    status_ = std::move(status);
  }
  void AwaitCalls(int count) {
    MutexLock lock(mu_);
    while (calls_ < count) changed_.Wait(mu_);
  }
  int calls() {
    MutexLock lock(mu_);
    return calls_;
  }

 private:
  const Clock& clock_;
  const absl::Duration lasts_;
  Mutex mu_;
  CondVar changed_;
  int calls_ MUSTER_GUARDED_BY(mu_) = 0;
  bool held_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Status status_ MUSTER_GUARDED_BY(mu_);
};

class CredentialsCacheTest : public testing::Test {
 protected:
  CredentialsCache& Cache(absl::Duration lasts = absl::Hours(1)) {
    auto source = std::make_unique<NumberedSource>(clock_, lasts);
    source_ = source.get();
    cache_ = std::make_unique<CredentialsCache>(std::move(source), clock_);
    return *cache_;
  }
  std::string Key() {
    const auto keys = cache_->Get();
    return keys.ok() ? keys->key_id : keys.status().ToString();
  }

  ManualClock clock_;
  NumberedSource* source_ = nullptr;
  std::unique_ptr<CredentialsCache> cache_;
};

TEST(RenewalTimeTest, IsMinutesBeforeTheEndAndNeverAtOnce) {
  const absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(RenewalTime(now, now + absl::Hours(1)), now + absl::Minutes(55));
  EXPECT_EQ(RenewalTime(now, now + absl::Minutes(4)), now + absl::Minutes(3));
  EXPECT_EQ(RenewalTime(now, absl::InfiniteFuture()), absl::InfiniteFuture());
  EXPECT_EQ(RenewalTime(now, now - absl::Hours(1)), now - absl::Hours(1));
}

TEST_F(CredentialsCacheTest, KeysAreRenewedBeforeTheyExpire) {
  Cache();
  EXPECT_EQ(Key(), "key-1");
  clock_.Advance(absl::Minutes(54));
  EXPECT_EQ(Key(), "key-1");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(Key(), "key-2");
}

TEST_F(CredentialsCacheTest, ARenewalThatFailsIsAnErrorOnlyAfterTheKeysHaveExpired) {
  Cache();
  EXPECT_EQ(Key(), "key-1");
  source_->Fail(absl::UnavailableError("away"));
  clock_.Advance(absl::Minutes(56));
  EXPECT_EQ(Key(), "key-1");
  EXPECT_EQ(Key(), "key-1");
  EXPECT_EQ(source_->calls(), 2) << "the source is not asked by each request";
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(Key(), "UNAVAILABLE: away");
  source_->Fail(absl::OkStatus());
  EXPECT_EQ(Key(), "key-4");
}

TEST_F(CredentialsCacheTest, OneThreadRenewsWhileTheOthersGoOn) {
  Cache();
  EXPECT_EQ(Key(), "key-1");
  clock_.Advance(absl::Minutes(56));
  source_->Hold(true);
  std::thread renewing([this] { EXPECT_EQ(Key(), "key-2"); });
  source_->AwaitCalls(2);
  EXPECT_EQ(Key(), "key-1") << "these are still good";
  source_->Hold(false);
  renewing.join();
  EXPECT_EQ(Key(), "key-2");
}

TEST_F(CredentialsCacheTest, AllWaitForTheFirstKeysAndAskOnce) {
  Cache();
  source_->Hold(true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([this] { EXPECT_EQ(Key(), "key-1"); });
  source_->AwaitCalls(1);
  source_->Hold(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source_->calls(), 1);
}

TEST_F(CredentialsCacheTest, RefusedKeysAreReplacedOnceForAllThatUsedThem) {
  CredentialsCache& cache = Cache();
  const S3Credentials first = cache.Get().value();
  EXPECT_TRUE(cache.Replace(first));
  EXPECT_EQ(Key(), "key-2");
  EXPECT_TRUE(cache.Replace(first)) << "another request that was under way";
  EXPECT_EQ(source_->calls(), 2);
  const auto fixed = FixedCredentials({"a", "b", ""});
  EXPECT_FALSE(fixed->Replace(fixed->Get().value()));
}

}  // namespace
}  // namespace muster
