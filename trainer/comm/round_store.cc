#include "trainer/comm/round_store.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"

namespace muster::trainer {
namespace {

class TcpRoundStore final : public RoundStore {
 public:
  TcpRoundStore(c10::intrusive_ptr<c10d::TCPStore> store, const std::string& host)
      : store_(std::move(store)), endpoint_(absl::StrCat(host, ":", store_->getPort())) {}
  const std::string& endpoint() const override { return endpoint_; }

 private:
  const c10::intrusive_ptr<c10d::TCPStore> store_;
  const std::string endpoint_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RoundStore>> StartRoundStore(const std::string& host) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = std::chrono::seconds(10);
  try {
    return std::make_unique<TcpRoundStore>(
        c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options), host);
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("cannot serve a store: ", e.what()));
  }
}

}  // namespace muster::trainer
