#include "operator/scheduler/bind/pod_writer.h"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_call.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/intercepted_api.h"
#include "operator/objects/object_records.h"

namespace muster::control {
namespace {

constexpr int kThreads = 3;

// Blocks every call about a pod named "slow-..." until LetGo, and then refuses it.
class SlowlyRefusingApi final : public kube::InterceptedApi {
 public:
  explicit SlowlyRefusingApi(kube::Api& api) : InterceptedApi(api) {}

  void LetGo() {
    MutexLock lock(mu_);
    let_go_ = true;
    changed_.NotifyAll();
  }
  void WaitForWaiting(int count) {
    MutexLock lock(mu_);
    while (waiting_ < count) changed_.Wait(mu_);
  }
  int most_waiting() const {
    MutexLock lock(mu_);
    return waiting_;
  }

 protected:
  absl::Status Intercept(const kube::ApiCall& call, const kube::CallOptions& options,
                         Forward forward) override {
    if (!absl::StartsWith(call.Key().name, "slow-")) return forward(options);
    MutexLock lock(mu_);
    ++waiting_;
    changed_.NotifyAll();
    while (!let_go_) changed_.Wait(mu_);
    return absl::ResourceExhaustedError("too many requests");
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  bool let_go_ MUSTER_GUARDED_BY(mu_) = false;
  int waiting_ MUSTER_GUARDED_BY(mu_) = 0;
};

class PodWriterTest : public testing::Test {
 protected:
  PodWriterTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    api_ = std::make_unique<SlowlyRefusingApi>(*memory_);
    writer_ = std::make_unique<PodWriter>(*api_, kThreads, [this] {
      MutexLock lock(mu_);
      ++written_;
      changed_.NotifyAll();
    });
  }
  ~PodWriterTest() override {
    api_->LetGo();
    writer_->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }

  PodCache::Object AddPod(const std::string& name) {
    Json pod = kube::NewObject(kube::kPods, {"default", name});
    pod["spec"] = Json::parse(
        R"({"schedulerName": "muster", "containers": [{"name": "worker", "image": "x"}]})");
    const Json stored = memory_->Create(kube::kPods, pod).value();
    return std::make_shared<const PodRecord>(ParsePodRecord(stored).value());
  }
  void Start() {
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] {
        while (writer_->WaitAndRun()) {
        }
      });
    }
  }
  void WaitForWritten(int count) {
    MutexLock lock(mu_);
    while (written_ < count) changed_.Wait(mu_);
  }
  std::string NodeOf(const std::string& name) const {
    return kube::StringAt(memory_->Get(kube::kPods, {"default", name}).value(),
                          {"spec", "nodeName"});
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<SlowlyRefusingApi> api_;
  Mutex mu_;
  CondVar changed_;
  int written_ MUSTER_GUARDED_BY(mu_) = 0;
  std::unique_ptr<PodWriter> writer_;
  std::vector<std::thread> threads_;
};

// Slow calls must not occupy all threads at once while pods that could be bound wait for them.
TEST_F(PodWriterTest, ABindIsMadeWhileRefusalsAndRetriesWaitForTheServer) {
  for (int i = 0; i < 2 * kThreads; ++i) {
    const PodCache::Object pod = AddPod(absl::StrCat("slow-", i));
    if (i % 2 == 0) {
      writer_->Add({PodWrite::Kind::kRefuse, "uid", pod, "no room"});
    } else {
      PodWrite again{PodWrite::Kind::kBind, "uid", pod, "a"};
      again.again = true;
      writer_->Add(std::move(again));
    }
  }
  Start();
  api_->WaitForWaiting(kThreads - 1);
  writer_->Add({PodWrite::Kind::kBind, "uid", AddPod("good"), "a"});
  WaitForWritten(1);
  EXPECT_EQ(NodeOf("good"), "a");
  EXPECT_EQ(api_->most_waiting(), kThreads - 1);
  // Every write still ends.
  api_->LetGo();
  WaitForWritten(2 * kThreads + 1);
  EXPECT_EQ(writer_->pending(), 0);
}

TEST_F(PodWriterTest, RetriesGoBeforeRefusals) {
  PodWriter alone(*memory_, 1, [] {});
  const PodCache::Object refused = AddPod("refused");
  PodWrite again{PodWrite::Kind::kBind, "uid", AddPod("good"), "a"};
  again.again = true;
  alone.Add({PodWrite::Kind::kRefuse, "uid", refused, "no room"});
  alone.Add(std::move(again));
  ASSERT_TRUE(alone.RunNext());
  EXPECT_EQ(NodeOf("good"), "a");
  ASSERT_TRUE(alone.RunNext());
  EXPECT_FALSE(alone.RunNext());
}

}  // namespace
}  // namespace muster::control
