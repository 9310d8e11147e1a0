#include "trainer/process/process_network.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/round_store.h"
#include "trainer/comm/split_communicator.h"
#include "trainer/comm/staged_communicator.h"

namespace muster::trainer {
namespace {

class GlooRoundConnector final : public RoundConnector {
 public:
  explicit GlooRoundConnector(GlooOptions options) : connector_(std::move(options)) {}
  absl::StatusOr<std::unique_ptr<Communicator>> Connect() override { return connector_.Connect(); }
  void Abort(std::string_view why) override { connector_.Abort(why); }

 private:
  GlooConnector connector_;
};

class GlooNetwork final : public RoundNetwork {
 public:
  GlooNetwork(std::string host, absl::Duration deadline)
      : host_(std::move(host)), deadline_(deadline) {}

  void SetDeadline(absl::Duration deadline) override { deadline_ = deadline; }
  void SetSecret(std::string secret) override { secret_ = std::move(secret); }
  absl::StatusOr<std::string> Serve() override {
    MUSTER_ASSIGN_OR_RETURN(store_, StartRoundStore(host_, secret_));
    return store_->endpoint();
  }
  std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                const std::string& store) override {
    return std::make_unique<GlooRoundConnector>(
        GlooOptions{.store = store,
                    .secret = secret_,
                    .rank = place.rank,
                    .size = place.size,
                    .tag = ToText(place.round) + place.group,
                    .host = host_,
                    .deadline = deadline_});
  }

 private:
  const std::string host_;
  absl::Duration deadline_;
  std::string secret_;
  std::unique_ptr<RoundStore> store_;
};

// Asks all ranks of a group for their cards; the answer is the same on all of them.
absl::StatusOr<bool> EachHasItsOwn(const std::string& card, Communicator& host) {
  const at::Tensor mine = at::full({1}, static_cast<int64_t>(Hash64(card)), at::kLong);
  const at::Tensor all = at::empty({host.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(host.AllGather(all, mine, "devices")->Wait());
  const int64_t* const begin = all.const_data_ptr<int64_t>();
  std::vector<int64_t> devices(begin, begin + all.numel());
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) == devices.end();
}

class DeviceRoundConnector final : public RoundConnector {
 public:
  DeviceRoundConnector(std::unique_ptr<RoundConnector> host, const ProcessDevice& device,
                       DeviceGroup group)
      : host_(std::move(host)), device_(device), group_(std::move(group)) {}

  absl::StatusOr<std::unique_ptr<Communicator>> Connect() override {
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> host, host_->Connect());
    if (group_.size == 1) return host;
    MUSTER_RETURN_IF_ERROR(Enter(host.get(), nullptr));
    auto connected = ConnectOver(std::move(host));
    MUSTER_RETURN_IF_ERROR(Enter(nullptr, nullptr));
    return connected;
  }

  void Abort(std::string_view why) override {
    host_->Abort(why);
    MutexLock lock(mu_);
    if (!aborted_.ok()) return;
    aborted_ = absl::AbortedError(std::string(why));
    if (asking_ != nullptr) asking_->Abort(why);
    if (connecting_ != nullptr) connecting_->Abort(why);
  }

 private:
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectOver(std::unique_ptr<Communicator> host) {
    const absl::StatusOr<bool> own = EachHasItsOwn(device_.facts.card, *host);
    MUSTER_RETURN_IF_ERROR(Enter(nullptr, nullptr));
    if (!own.ok()) return own.status();
    if (!*own) {
      MUSTER_LOG(INFO, "ranks share a GPU: they communicate through the memory of the host");
      return MakeStagedCommunicator(std::move(host));
    }
    MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceConnector> connector,
                            device_.runtime->MakeConnector(group_));
    MUSTER_RETURN_IF_ERROR(Enter(nullptr, connector));
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> device, connector->Connect());
    return MakeSplitCommunicator(std::move(host), std::move(device));
  }

  // Names what Abort() ends from now on; the error of an Abort() that came before.
  absl::Status Enter(Communicator* asking, std::shared_ptr<DeviceConnector> connecting)
      MUSTER_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    asking_ = asking;
    connecting_ = std::move(connecting);
    return aborted_;
  }

  const std::unique_ptr<RoundConnector> host_;
  const ProcessDevice device_;
  const DeviceGroup group_;
  Mutex mu_;
  absl::Status aborted_ MUSTER_GUARDED_BY(mu_);
  Communicator* asking_ MUSTER_GUARDED_BY(mu_) = nullptr;
  std::shared_ptr<DeviceConnector> connecting_ MUSTER_GUARDED_BY(mu_);
};

class DeviceNetwork final : public RoundNetwork {
 public:
  DeviceNetwork(std::unique_ptr<RoundNetwork> host, const ProcessDevice& device,
                absl::Duration deadline)
      : host_(std::move(host)), device_(device), deadline_(deadline) {}

  void SetDeadline(absl::Duration deadline) override {
    deadline_ = deadline;
    host_->SetDeadline(deadline);
  }
  void SetSecret(std::string secret) override {
    secret_ = secret;
    host_->SetSecret(std::move(secret));
  }
  absl::StatusOr<std::string> Serve() override { return host_->Serve(); }
  std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                const std::string& store) override {
    return std::make_unique<DeviceRoundConnector>(
        host_->MakeConnector(place, store), device_,
        DeviceGroup{.device = device_.device,
                    .store = store,
                    .secret = secret_,
                    .rank = place.rank,
                    .size = place.size,
                    .tag = absl::StrCat(ToText(place.round), place.group, " on devices"),
                    .deadline = deadline_});
  }

 private:
  const std::unique_ptr<RoundNetwork> host_;
  const ProcessDevice device_;
  absl::Duration deadline_;
  std::string secret_;
};

}  // namespace

std::unique_ptr<RoundNetwork> MakeGlooNetwork(std::string host, absl::Duration deadline) {
  return std::make_unique<GlooNetwork>(std::move(host), deadline);
}

std::unique_ptr<RoundNetwork> MakeDeviceNetwork(std::unique_ptr<RoundNetwork> host,
                                                const ProcessDevice& device,
                                                absl::Duration deadline) {
  return std::make_unique<DeviceNetwork>(std::move(host), device, deadline);
}

}  // namespace muster::trainer
