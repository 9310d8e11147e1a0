#ifndef MUSTER_OPERATOR_KUBE_REST_REST_WATCH_H_
#define MUSTER_OPERATOR_KUBE_REST_REST_WATCH_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "httplib.h"
#include "operator/kube/api.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/event_decoder.h"
#include "operator/kube/rest/rest_transport.h"

namespace muster::kube {

// One watch on a real server. Its own thread moves bytes from the connection to a bounded buffer
// and stops reading while that is full, so a slow consumer costs no memory but slows the server
// down (which eventually ends such a stream). Next decodes.
//
// The server is asked to end the stream after at most `watch_lifetime`, so a stream without data
// for `watch_silence` is dead and ends as kUnavailable.
class RestWatcher final : public Watcher {
 public:
  // Blocks until the server has answered, at most for `call.timeout`. `path` is the collection's.
  static absl::StatusOr<std::unique_ptr<Watcher>> Open(RestTransport& transport,
                                                       const ResourceType& type,
                                                       const std::string& path,
                                                       const WatchOptions& options,
                                                       const CallOptions& call);
  ~RestWatcher() override;

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration wait) override;
  void Stop() override;

 private:
  RestWatcher(RestTransport& transport, const ResourceType& type);

  // The body of `thread_`: runs until the request has ended.
  void Run(httplib::Request request);
  void MakeDecoder();
  bool Answered(const httplib::Response& response);
  bool Received(const char* data, size_t size);
  absl::Status EndOf(bool whole, httplib::Error error, absl::Duration silence) const
      MUSTER_REQUIRES(mu_);
  // Moves received bytes into the decoder. Returns false if none arrived by `deadline`.
  absl::StatusOr<bool> Feed(absl::Time deadline);

  RestTransport& transport_;
  const ResourceType type_;
  RestRequest label_;
  std::unique_ptr<httplib::SSLClient> client_;
  std::thread thread_;
  std::unique_ptr<ProtoPlan> plan_;  // null: JSON was requested
  std::unique_ptr<EventDecoder>
      decoder_;  // used by Next's thread; made when the server has answered

  mutable Mutex mu_;
  CondVar changed_;
  int code_ MUSTER_GUARDED_BY(mu_) = 0;           // HTTP status; 0: none yet
  bool protobuf_ MUSTER_GUARDED_BY(mu_) = false;  // the answer's format
  std::string pending_ MUSTER_GUARDED_BY(mu_);    // bytes of the stream, or of a refusal
  std::string retry_after_ MUSTER_GUARDED_BY(mu_);
  absl::Time heard_at_ MUSTER_GUARDED_BY(mu_);
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mu_);
};

// Returns the plan to read `fields` from protobuf, or null if JSON is needed: for all fields, for
// types without a protobuf schema, and if RestConfig::protobuf is false.
std::unique_ptr<ProtoPlan> PlanFor(const RestTransport& transport, const ResourceType& type,
                                   const FieldMask* fields);

// Gives an object the form that kube::Api promises: with its kind, and without managedFields.
void Normalise(const ResourceType& type, Json& object);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_WATCH_H_
