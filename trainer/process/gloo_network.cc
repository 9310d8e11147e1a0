#include "trainer/process/gloo_network.h"

#include <utility>

#include "base/status_macros.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/round_store.h"

namespace muster::trainer {
namespace {

class Connector final : public RoundConnector {
 public:
  explicit Connector(GlooOptions options) : connector_(std::move(options)) {}
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
    return std::make_unique<Connector>(GlooOptions{.store = store,
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

}  // namespace

std::unique_ptr<RoundNetwork> MakeGlooNetwork(std::string host, absl::Duration deadline) {
  return std::make_unique<GlooNetwork>(std::move(host), deadline);
}

}  // namespace muster::trainer
