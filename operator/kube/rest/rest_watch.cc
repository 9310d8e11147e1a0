#include "operator/kube/rest/rest_watch.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/rest/proto_stream.h"
#include "operator/kube/rest/rest_paths.h"
#include "operator/kube/rest/tls_client.h"
#include "operator/kube/rest/watch_decoder.h"

namespace muster::kube {
namespace {

// Spreads lifetimes, so that the watches of many replicas do not all end at once.
double Spread() {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>(0.8, 1.0)(random);
}

absl::Status Cancelled() { return absl::CancelledError("the watch was stopped"); }

}  // namespace

void Normalise(const ResourceType& type, Json& object) {
  if (!object.is_object()) return;
  object["apiVersion"] = type.ApiVersion();
  object["kind"] = std::string(type.kind);
  const auto meta = object.find("metadata");
  if (meta != object.end() && meta->is_object()) meta->erase("managedFields");
}

std::unique_ptr<ProtoPlan> PlanFor(const RestTransport& transport, const ResourceType& type,
                                   const FieldMask* fields) {
  const ProtoMessage* message = ProtoMessageOf(type);
  if (fields == nullptr || message == nullptr || !transport.config().protobuf) return nullptr;
  return ProtoPlan::Make(fields->root(), *message);
}

RestWatcher::RestWatcher(RestTransport& transport, const ResourceType& type)
    : transport_(transport), type_(type), label_{.verb = "watch", .resource = type_.plural} {}

RestWatcher::~RestWatcher() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::unique_ptr<Watcher>> RestWatcher::Open(RestTransport& transport,
                                                           const ResourceType& type,
                                                           const std::string& path,
                                                           const WatchOptions& options,
                                                           const CallOptions& call) {
  const RestConfig& config = transport.config();
  const absl::Time start = transport.clock().Monotonic();
  const absl::Time deadline = start + std::min<absl::Duration>(call.timeout, absl::Hours(1));
  const absl::Duration lifetime =
      std::min(options.server_timeout, config.watch_lifetime * Spread());
  std::unique_ptr<RestWatcher> watcher(new RestWatcher(transport, type));
  httplib::Request request;
  request.method = "GET";
  request.path = transport.server().prefix + WithQuery(path, WatchQuery(options, lifetime));
  watcher->plan_ = PlanFor(transport, type, call.fields);
  if (watcher->plan_ != nullptr)
    request.set_header("Accept", AcceptHeader(/*protobuf=*/true, /*metadata_only=*/false));
  MUSTER_ASSIGN_OR_RETURN(watcher->client_, transport.Dial(request, deadline));
  const absl::Duration left =
      std::max(deadline - transport.clock().Monotonic(), absl::Duration(absl::Milliseconds(1)));
  SetTimeouts(*watcher->client_, std::min(config.connect_timeout, left), config.watch_silence);
  watcher->thread_ = std::thread([w = watcher.get(), r = std::move(request)] { w->Run(r); });
  int code = 0;
  absl::Status end;
  {
    MutexLock lock(watcher->mu_);
    const auto answered = [&]() MUSTER_REQUIRES(watcher->mu_) {
      return watcher->end_.has_value() || watcher->code_ == 200;
    };
    while (!answered() && transport.clock().Monotonic() < deadline) {
      watcher->changed_.WaitFor(watcher->mu_, deadline - transport.clock().Monotonic());
    }
    code = watcher->code_;
    if (code != 200) {
      end = watcher->end_.value_or(
          ApiError(Reason::kTimeout, config.server + ": it did not answer the watch in time"));
    }
  }
  transport.Observe(watcher->label_, code, transport.clock().Monotonic() - start);
  if (code == 401) transport.Refused();
  if (code != 200) return end;
  watcher->MakeDecoder();
  return std::unique_ptr<Watcher>(std::move(watcher));
}

void RestWatcher::MakeDecoder() {
  MutexLock lock(mu_);
  if (protobuf_ && plan_ != nullptr) {
    decoder_ = std::make_unique<ProtoWatchDecoder>(std::move(plan_));
  } else {
    decoder_ = std::make_unique<WatchDecoder>();
  }
}

void RestWatcher::Run(httplib::Request request) {
  request.response_handler = [this](const httplib::Response& response) {
    return Answered(response);
  };
  request.content_receiver = [this](const char* data, size_t size, uint64_t, uint64_t) {
    return Received(data, size);
  };
  {
    MutexLock lock(mu_);
    heard_at_ = transport_.clock().Monotonic();
    if (stopped_) {
      end_ = Cancelled();
      return;
    }
  }
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const bool whole = client_->send(request, response, error);
  MutexLock lock(mu_);
  end_ = EndOf(whole, error, transport_.clock().Monotonic() - heard_at_);
  changed_.NotifyAll();
}

bool RestWatcher::Answered(const httplib::Response& response) {
  MutexLock lock(mu_);
  code_ = response.status;
  protobuf_ = response.get_header_value("Content-Type").find("protobuf") != std::string::npos;
  retry_after_ = response.get_header_value("Retry-After");
  heard_at_ = transport_.clock().Monotonic();
  changed_.NotifyAll();
  return !stopped_;
}

bool RestWatcher::Received(const char* data, size_t size) {
  MutexLock lock(mu_);
  const RestConfig& config = transport_.config();
  if (code_ != 200) {
    if (pending_.size() + size > config.watch_buffer_bytes) return false;
  }
  while (!stopped_ && !pending_.empty() && pending_.size() + size > config.watch_buffer_bytes) {
    changed_.Wait(mu_);
  }
  heard_at_ = transport_.clock().Monotonic();
  pending_.append(data, size);
  changed_.NotifyAll();
  return !stopped_;
}

absl::Status RestWatcher::EndOf(bool whole, httplib::Error error, absl::Duration silence) const {
  const std::string& server = transport_.config().server;
  if (stopped_) return Cancelled();
  if (code_ != 0 && code_ != 200) return RefusalOf(code_, pending_, retry_after_);
  if (whole) return ApiError(Reason::kWatchClosed, "the server ended the watch");
  MUSTER_RETURN_IF_ERROR(transport_.ConnectError(*client_, error));
  if (silence >= transport_.config().watch_silence) {
    return ApiError(Reason::kServiceUnavailable,
                    absl::StrCat(server, ": a watch received no data for ",
                                 absl::FormatDuration(transport_.config().watch_silence)));
  }
  return ApiError(Reason::kServiceUnavailable,
                  absl::StrCat(server, ": the connection of a watch broke"));
}

absl::StatusOr<bool> RestWatcher::Feed(absl::Time deadline) {
  std::string chunk;
  {
    MutexLock lock(mu_);
    while (!stopped_ && pending_.empty() && !end_.has_value()) {
      const absl::Duration left = deadline - transport_.clock().Monotonic();
      if (left <= absl::ZeroDuration()) return false;
      changed_.WaitFor(mu_, std::min(left, absl::Duration(absl::Hours(1))));
    }
    if (stopped_) return Cancelled();
    if (pending_.empty()) {
      if (end_->ok() || decoder_->Finish().ok()) return *end_;
      return ApiError(Reason::kServiceUnavailable, "the watch ended inside an event");
    }
    chunk.swap(pending_);
    changed_.NotifyAll();
  }
  MUSTER_RETURN_IF_ERROR(decoder_->Feed(chunk));
  return true;
}

absl::StatusOr<std::optional<WatchEvent>> RestWatcher::Next(absl::Duration wait) {
  const absl::Time deadline = transport_.clock().Monotonic() + wait;
  while (true) {
    {
      MutexLock lock(mu_);
      if (stopped_) return Cancelled();
    }
    MUSTER_ASSIGN_OR_RETURN(std::optional<WatchEvent> event, decoder_->Next());
    if (event.has_value()) {
      Normalise(type_, event->object);
      return event;
    }
    MUSTER_ASSIGN_OR_RETURN(const bool more, Feed(deadline));
    if (!more) return std::optional<WatchEvent>();
  }
}

void RestWatcher::Stop() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
    changed_.NotifyAll();
    if (end_.has_value() || client_ == nullptr) return;
  }
  client_->stop();
}

}  // namespace muster::kube
