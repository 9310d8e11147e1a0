#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/conformance/conformance.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::kube {
namespace {

// Reopens its directory before every call, as if the process had died after the last one, except
// during a watch or a paged list, which no server keeps across its own restart.
class ReopeningApi final : public Api {
 public:
  ReopeningApi(const Clock& clock, std::function<MemoryApiOptions()> options)
      : clock_(clock), options_(std::move(options)) {
    Reopen();
  }
  MemoryApi& memory() { return *api_; }

  absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                           const CallOptions& call) override {
    return Fresh().Get(type, key, call);
  }
  absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                  const CallOptions& call) override {
    if (options.limit > 0) pinned_ = true;
    return api_->List(type, options, call);
  }
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                 const WatchOptions& options,
                                                 const CallOptions& call) override {
    pinned_ = true;
    return api_->Watch(type, options, call);
  }
  absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                              const CallOptions& call) override {
    return Fresh().Create(type, object, call);
  }
  absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const CallOptions& call) override {
    return Fresh().CreateSubresource(type, key, subresource, object, call);
  }
  absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                              const CallOptions& call) override {
    return Fresh().Update(type, object, call);
  }
  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call) override {
    return Fresh().UpdateStatus(type, object, call);
  }
  absl::StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, const Json& patch,
                             const Preconditions& preconditions, const CallOptions& call) override {
    return Fresh().Patch(type, key, patch, preconditions, call);
  }
  absl::Status Delete(const ResourceType& type, const ObjectKey& key, const DeleteOptions& options,
                      const CallOptions& call) override {
    return Fresh().Delete(type, key, options, call);
  }
  absl::Status Bind(const Binding& binding, const CallOptions& call) override {
    return Fresh().Bind(binding, call);
  }

 private:
  MemoryApi& Fresh() {
    if (!pinned_) Reopen();
    return *api_;
  }
  void Reopen() {
    api_.reset();
    api_ = *MemoryApi::Open(clock_, options_());
  }

  const Clock& clock_;
  const std::function<MemoryApiOptions()> options_;
  std::unique_ptr<MemoryApi> api_;
  bool pinned_ = false;
};

class MemoryEnvironment : public ConformanceEnvironment {
 public:
  explicit MemoryEnvironment(bool reopened) {
    if (reopened) {
      static std::atomic<int> counter{0};
      directory_ = absl::StrCat(testing::TempDir(), "/conformance-", ++counter);
      std::filesystem::remove_all(directory_);
      reopening_.emplace(clock_, [this] { return Options(); });
    } else {
      memory_ = *MemoryApi::Open(clock_, Options());
    }
  }
  ~MemoryEnvironment() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  Api& api() override {
    if (reopening_.has_value()) return *reopening_;
    return *memory_;
  }
  std::string Namespace() override { return "test-" + Unique(); }
  std::string Unique() override { return absl::StrCat(++names_); }
  bool Wait() override { return false; }  // a settled world is part of MemoryApi's promise
  absl::Duration Patience() const override { return absl::ZeroDuration(); }
  bool ExpireHistory() override {
    Memory().CompactHistory();
    return true;
  }
  bool ForceBookmark() override {
    clock_.Advance(absl::Minutes(1));
    return true;
  }

 private:
  MemoryApi& Memory() { return reopening_.has_value() ? reopening_->memory() : *memory_; }
  MemoryApiOptions Options() {
    MemoryApiOptions options;
    options.random = [this] { return random_(); };
    options.directory = directory_;
    options.wal.compact_bytes = 2000;  // several compactions in a test
    return options;
  }

  ManualClock clock_;
  std::mt19937_64 random_{7};
  std::string directory_;
  std::unique_ptr<MemoryApi> memory_;
  std::optional<ReopeningApi> reopening_;
  int names_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    MemoryApi, ConformanceTest,
    testing::Values(
        ConformanceParam{"Memory", [] { return std::make_unique<MemoryEnvironment>(false); }},
        ConformanceParam{"Reopened", [] { return std::make_unique<MemoryEnvironment>(true); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::kube
