#include "agent/worker/stream/coordinator_client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "base/backoff.h"
#include "base/logging.h"

namespace muster::agent {
namespace {

constexpr BackoffBounds kRedial = {absl::Milliseconds(50), absl::Seconds(1)};
constexpr absl::Duration kIdentifyTimeout = absl::Seconds(10);
// The delay before a failed renewal is retried; a third of the certificate's life is left then.
constexpr absl::Duration kRenewalRetry = absl::Seconds(5);
// The certificate is suspected after this many consecutive streams without a message: a handshake
// that the coordinator refuses looks like an absent coordinator.
constexpr int kUnheardStreams = 6;
// The name in every replica's certificate, independent of the address that is dialled.
constexpr char kServerName[] = "muster-coordinator";
// Longer than the longest pause between two dials.
constexpr int kIdleMs = 3000;

bool IsRefusal(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

grpc::ChannelArguments ChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // The channel of the first Identify is kept for good, but its idle connection is not: the
  // coordinator would hold two connections of every agent.
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, kIdleMs);
  return arguments;
}

// Connects to a unix socket, without TLS.
std::shared_ptr<grpc::Channel> NewLocalChannel(const std::string& address) {
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), ChannelArguments());
}

}  // namespace

std::shared_ptr<grpc::Channel> NewTlsChannel(const std::string& address,
                                             const std::string& authority_pem,
                                             const KeyAndCertificate& client,
                                             absl::Duration silence) {
  grpc::ChannelArguments arguments = ChannelArguments();
  arguments.SetSslTargetNameOverride(kServerName);
  const int half = static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(silence) / 2));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, half);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, half);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = authority_pem;
  tls.pem_private_key = client.key_pem;
  tls.pem_cert_chain = client.certificate_pem;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
}

CoordinatorClient::CoordinatorClient(CoordinatorClientOptions options, Files& files)
    : options_(std::move(options)),
      identity_(options_.identity, files),
      mailbox_(std::make_shared<CoordinatorMailbox>()),
      random_(std::random_device{}()) {}

CoordinatorClient::~CoordinatorClient() {
  mailbox_->SetCurrent(nullptr);
  if (stream_ != nullptr) stream_->Cancel();
  stream_.reset();
  if (asking_.has_value()) asking_->context->TryCancel();
  asking_.reset();
  mailbox_->WaitForCalls(absl::Now() + absl::Seconds(2));
  mailbox_->DestroyFinishedCalls();
}

std::vector<Event> CoordinatorClient::Collect(absl::Time now) {
  std::vector<Event> events;
  mailbox_->DestroyFinishedCalls();
  for (CoordinatorMailbox::News& news : mailbox_->Take()) {
    std::visit([&](auto& n) { On(n, now, events); }, news);
  }
  if (stream_ == nullptr && now >= next_dial_) {
    if (!secure() || identity_.Usable(now)) {
      Dial();
      events.push_back(StreamOpened{});
    } else if (!asking_.has_value()) {
      const std::string address = NextAddress();
      Ask(address, NewChannel(address, {}), now);
    }
  } else if (stream_ != nullptr && secure() && !asking_.has_value() && now >= next_renewal_ &&
             identity_.WantsRenewal(now)) {
    Ask(stream_->address(), stream_->channel(), now);
  }
  return events;
}

void CoordinatorClient::On(v1alpha1::OperatorMessage& message, absl::Time,
                           std::vector<Event>& events) {
  heard_ = true;
  unheard_ = 0;
  // NotLeader must not reset the backoff, or standbys that name each other are dialled without
  // pause.
  if (message.has_welcome()) {
    failures_ = 0;
    spare_.reset();
  }
  events.push_back(OperatorMessageReceived{std::move(message)});
}

void CoordinatorClient::On(CoordinatorMailbox::StreamEnded& ended, absl::Time now,
                           std::vector<Event>& events) {
  const bool heard = std::exchange(heard_, false);
  KeepConnection(heard, IsRefusal(ended.why));
  if (absl::IsUnimplemented(ended.why)) {
    MUSTER_LOG_LIMITED(WARN, stream_->address(), "the coordinator speaks another protocol",
                       {"error", ended.why});
  }
  if (secure()) {
    if (!heard) ++unheard_;
    if (IsRefusal(ended.why)) {
      MUSTER_LOG_LIMITED(WARN, stream_->address(), "refused by the coordinator",
                         {"error", ended.why});
    }
    if (IsRefusal(ended.why) || unheard_ >= kUnheardStreams) {
      identity_.Drop();
      unheard_ = 0;
    }
  }
  stream_.reset();
  next_dial_ = BackOff(now);
  events.push_back(StreamClosed{.replaced = absl::IsFailedPrecondition(ended.why)});
}

void CoordinatorClient::KeepConnection(bool heard, bool refused) {
  if (heard && !refused) {
    spare_address_ = stream_->address();
    spare_ = stream_->channel();
  } else if (stream_->address() == spare_address_) {
    spare_.reset();
  }
}

void CoordinatorClient::On(CoordinatorMailbox::Identified& answer, absl::Time now,
                           std::vector<Event>&) {
  if (!asking_.has_value()) return;
  const Asking asked = *std::exchange(asking_, std::nullopt);
  const absl::Status status =
      answer.ok() ? identity_.Accept(*answer, asked.since) : answer.status();
  if (!status.ok()) return NotIdentified(status, now);
  MUSTER_LOG(DEBUG, "has a certificate", {"from", asked.address},
             {"seconds", answer->lifetime_seconds()});
  ++certificates_;
  if (stream_ != nullptr) return;
  preferred_ = asked.address;  // it is reachable, so the stream dials it at once
  next_dial_ = now;
}

void CoordinatorClient::NotIdentified(const absl::Status& why, absl::Time now) {
  MUSTER_LOG_LIMITED(WARN, options_.identity.token_path, "no certificate from the coordinator",
                     {"error", why});
  next_renewal_ = now + kRenewalRetry;
  if (stream_ == nullptr) next_dial_ = BackOff(now);
}

absl::Time CoordinatorClient::BackOff(absl::Time now) {
  const double share = std::uniform_real_distribution<double>(0.5, 1.0)(random_);
  return now + share * BackoffAfter(++failures_, kRedial);
}

std::string CoordinatorClient::NextAddress() {
  std::string address = std::exchange(preferred_, "");
  if (address.empty()) address = options_.addresses[next_address_++ % options_.addresses.size()];
  return address;
}

std::shared_ptr<grpc::Channel> CoordinatorClient::NewChannel(const std::string& address,
                                                             const KeyAndCertificate& client) {
  std::shared_ptr<grpc::Channel> channel =
      secure() ? NewTlsChannel(address, identity_.authority_pem(), client, options_.silence)
               : NewLocalChannel(address);
  if (first_channel_ == nullptr) first_channel_ = channel;
  ++connections_;
  return channel;
}

void CoordinatorClient::Dial() {
  const std::string address = NextAddress();
  const bool known = spare_ != nullptr && address == spare_address_;
  stream_ = std::make_shared<CoordinatorStream>(
      mailbox_, known ? spare_ : NewChannel(address, identity_.current()), address);
  mailbox_->SetCurrent(stream_.get());
  stream_->Start(stream_);
}

void CoordinatorClient::Ask(const std::string& address, std::shared_ptr<grpc::Channel> channel,
                            absl::Time now) {
  absl::StatusOr<v1alpha1::IdentifyRequest> request = identity_.NewRequest();
  if (!request.ok()) return NotIdentified(request.status(), now);
  asking_ =
      Asking{address, now,
             StartIdentify(mailbox_, std::move(channel), *std::move(request), kIdentifyTimeout)};
}

void CoordinatorClient::Send(const v1alpha1::AgentMessage& message) {
  if (stream_ != nullptr) stream_->Send(message);
}

void CoordinatorClient::Redial(const std::string& address) {
  preferred_ = address;
  if (stream_ != nullptr) stream_->Cancel();  // reported as StreamClosed, then redialled
}

void CoordinatorClient::HangUp(absl::Duration timeout) {
  if (stream_ != nullptr) stream_->HangUp(absl::Now() + timeout);
}

}  // namespace muster::agent
