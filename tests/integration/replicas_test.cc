// Runs two operators as they are deployed, with threads and servers, over one API server.
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/testing/manual_clock.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/app/operator_app.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/web/http/http_client.h"

namespace muster::control {
namespace {

const kube::ObjectKey kLease = {"muster-system", "muster-operator"};

class ReplicasTest : public testing::Test {
 protected:
  ReplicasTest() {
    char folder[] = "/tmp/muster-replicas-XXXXXX";
    folder_ = ::mkdtemp(folder);
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(Clock::Real(), std::move(options)).value();
    for (int i = 0; i < 2; ++i) Start(i);
  }
  ~ReplicasTest() override {
    apps_.clear();
    for (int i = 0; i < 2; ++i) ::unlink(absl::StrCat(folder_, "/", i, "/c.sock").c_str());
    for (int i = 0; i < 2; ++i) ::rmdir(absl::StrCat(folder_, "/", i).c_str());
    ::rmdir(folder_.c_str());
  }

  void Start(int number) {
    OperatorOptions options;
    options.coordinator_addresses = {absl::StrCat("unix:", folder_, "/", number, "/c.sock")};
    options.http.address = absl::StrCat("unix:", folder_, "/", number, "/http.sock");
    options.identity = absl::StrCat("operator-", number);
    options.election.emplace();
    options.election->lease = kLease;
    options.election->lease_duration = absl::Seconds(600);
    options.election->renew_deadline = absl::Seconds(500);
    options.election->retry_period = absl::Milliseconds(500);
    options.lease_clock = &lease_clock_;
    options.on_lost = [this](const absl::Status& why) {
      MutexLock lock(mu_);
      lost_ = why;
    };
    apps_.push_back(OperatorApp::Create(*memory_, Clock::Real(), std::move(options)).value());
    const absl::Status started = apps_.back()->Start();
    EXPECT_TRUE(started.ok()) << started;
  }
  int Leading() const {
    int leading = 0;
    for (const auto& app : apps_) leading += app->IsLeading();
    return leading;
  }
  int Leader() const { return apps_[0]->IsLeading() ? 0 : 1; }
  // Polls until `done` is true, advancing the lease's clock by `pace` each time, so that a thread
  // that a busy machine delays does not let a lease expire.
  bool Until(const std::function<bool()>& done, absl::Duration pace = absl::Milliseconds(5)) {
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    Mutex mu;
    CondVar never;
    while (!done()) {
      if (Clock::Real().Monotonic() >= deadline) return false;
      MutexLock lock(mu);
      never.WaitFor(mu, absl::Milliseconds(5));
      lease_clock_.Advance(pace);
    }
    return true;
  }
  int ReadyCode(int number) const {
    const auto answer = MakeHttpClient(apps_[number]->http_address())->Get("/readyz");
    return answer ? answer->status : 0;
  }
  absl::Status lost() {
    MutexLock lock(mu_);
    return lost_;
  }

  std::string folder_;
  ManualClock lease_clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::vector<std::unique_ptr<OperatorApp>> apps_;
  Mutex mu_;
  absl::Status lost_ MUSTER_GUARDED_BY(mu_);
};

TEST_F(ReplicasTest, OneLeadsBothAreReadyAndAStopHandsOver) {
  ASSERT_TRUE(Until([&] { return Leading() == 1; }));
  EXPECT_EQ(ReadyCode(0), 200);
  EXPECT_EQ(ReadyCode(1), 200);
  const int first = Leader();
  Json lease = memory_->Get(kube::kLeases, kLease).value();
  EXPECT_EQ(kube::AnnotationOf(lease, "muster.dev/coordinator"),
            apps_[first]->coordinator_address());
  apps_[first]->Stop();
  lease = memory_->Get(kube::kLeases, kLease).value();
  EXPECT_NE(kube::StringAt(lease, {"spec", "holderIdentity"}), absl::StrCat("operator-", first));
  ASSERT_TRUE(Until([&] { return apps_[1 - first]->IsLeading(); }));
  EXPECT_FALSE(apps_[first]->IsLeading());
  EXPECT_TRUE(apps_[first]->lost().ok());
}

TEST_F(ReplicasTest, ALeaseThatIsTakenAwayEndsTheLeader) {
  ASSERT_TRUE(Until([&] { return Leading() == 1; }));
  const int first = Leader();
  // Renewals write the lease, too: retries until this write succeeds.
  ASSERT_TRUE(Until([&] {
    Json lease = memory_->Get(kube::kLeases, kLease).value();
    lease["spec"]["holderIdentity"] = "usurper";
    return memory_->Update(kube::kLeases, lease).ok();
  }));
  ASSERT_TRUE(Until([&] { return !lost().ok(); }));
  EXPECT_EQ(lost().message(), "the lease is held by usurper");
  EXPECT_FALSE(apps_[first]->IsLeading());
  EXPECT_EQ(apps_[first]->lost(), lost());
  EXPECT_FALSE(apps_[1 - first]->IsLeading()) << "the usurper's lease has not run out";
  // The usurper's lease expires because it is not renewed.
  EXPECT_TRUE(Until([&] { return apps_[1 - first]->IsLeading(); }, absl::Seconds(1)));
}

}  // namespace
}  // namespace muster::control
