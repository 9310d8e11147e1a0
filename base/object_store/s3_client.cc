#include "base/object_store/s3_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/object_store/object_uri.h"
#include "base/percent_encoding.h"
#include "base/random_name.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr absl::Duration kLongestWait = absl::Seconds(10);
constexpr char kWriterHeader[] = "x-amz-meta-muster-writer";
constexpr size_t kMostDocument = size_t{8} << 20;

// Where a bucket is found: the scheme and host of its requests, and what stands before a key.
struct Address {
  std::string scheme, host, path;
};

Address AddressOf(const S3Options& options, const std::string& bucket) {
  if (!options.endpoint.empty()) {
    const size_t end = options.endpoint.find("://") + 3;
    return {options.endpoint.substr(0, end), options.endpoint.substr(end),
            absl::StrCat("/", bucket)};
  }
  const char* suffix =
      absl::StartsWith(options.region, "cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  const std::string host = absl::StrCat("s3.", options.region, suffix);
  // A certificate for *.s3.… does not cover a name with more dots.
  if (absl::StrContains(bucket, ".")) return {"https://", host, absl::StrCat("/", bucket)};
  return {"https://", absl::StrCat(bucket, ".", host), ""};
}

// HTTP clients leave the standard port out of the header Host.
std::string HostHeader(const Address& address) {
  const std::string standard = address.scheme == "https://" ? ":443" : ":80";
  std::string host = address.host;
  if (absl::EndsWith(host, standard)) host.resize(host.size() - standard.size());
  return host;
}

absl::Duration Jittered(absl::Duration wait) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return wait * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

std::string HeaderOf(const HttpAnswer& answer, const char* name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

}  // namespace

struct S3Client::Request {
  const char* method;
  std::string bucket, key;
  std::map<std::string, std::string> query = {};
  std::map<std::string, std::string> headers = {};
  std::string_view body = {};
  size_t most_bytes = kMostDocument;
};

// The result of one try.
struct S3Client::Outcome {
  absl::Status status;
  bool retry = false;  // the same request may succeed soon
  S3Credentials keys = {};
  bool keys_refused = false;  // others may do
};

std::string NewWriterName() { return RandomName() + RandomName(); }

S3Client::S3Client(S3Options options, std::unique_ptr<HttpTransport> transport, const Clock& clock,
                   Sleep sleep)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      clock_(clock),
      sleep_(std::move(sleep)) {}

HttpRequest S3Client::Sign(const Request& request, const S3Credentials& keys) const {
  const Address address = AddressOf(options_, request.bucket);
  const absl::Time now = clock_.Wall();
  RequestToSign sign{.method = request.method, .query = request.query, .headers = request.headers};
  sign.path = PercentEncode(absl::StrCat(address.path, "/", request.key), "/");
  sign.body_sha256 = Sha256Hex(request.body);
  sign.headers["host"] = HostHeader(address);
  sign.headers["x-amz-date"] = AmzDate(now);
  sign.headers["x-amz-content-sha256"] = sign.body_sha256;
  if (!keys.session_token.empty()) sign.headers["x-amz-security-token"] = keys.session_token;
  HttpRequest out{.method = request.method};
  const std::string query = CanonicalQuery(request.query);
  out.url = absl::StrCat(address.scheme, address.host, sign.path, query.empty() ? "" : "?", query);
  out.headers = sign.headers;
  out.headers["authorization"] = AuthorizationHeader(sign, keys, options_.region, now);
  out.body = request.body;
  out.most_bytes = request.most_bytes;
  return out;
}

S3Client::Outcome S3Client::Try(const Request& request, Reply& reply) {
  absl::StatusOr<S3Credentials> keys = options_.credentials->Get();
  if (!keys.ok()) return {keys.status(), absl::IsUnavailable(keys.status())};
  absl::StatusOr<HttpAnswer> answer = transport_->Send(Sign(request, *keys));
  if (!answer.ok()) return {answer.status(), true};
  reply.answer = *std::move(answer);
  S3Verdict verdict = JudgeAnswer(reply.answer, clock_.Wall());
  return {std::move(verdict.status), verdict.retry, *std::move(keys), verdict.keys_refused};
}

void S3Client::NoteTry(const absl::Status& status, bool retry) {
  MutexLock lock(mu_);
  newest_error_ = retry ? std::string(status.message()) : "";
  failing_since_ = retry ? std::min(failing_since_, clock_.Monotonic()) : absl::InfiniteFuture();
}

std::optional<StorageTrouble> S3Client::trouble() const {
  MutexLock lock(mu_);
  if (failing_since_ == absl::InfiniteFuture()) return std::nullopt;
  return StorageTrouble{clock_.Monotonic() - failing_since_, newest_error_};
}

// Keys that are refused are replaced once, and not counted as a try.
absl::Status S3Client::TryUntilDecided(const Request& request, Reply& reply, int& tries,
                                       bool& gave_up) {
  const absl::Time begun = clock_.Monotonic();
  bool replaced = false;
  for (tries = 1;; ++tries) {
    Outcome outcome = Try(request, reply);
    if (outcome.keys_refused && !replaced) {
      replaced = true;
      if (ReplaceKeys(outcome.keys)) outcome = Try(request, reply);
    }
    NoteTry(outcome.status, outcome.retry);
    if (!outcome.retry) return outcome.status;
    const absl::Duration spent = clock_.Monotonic() - begun;
    gave_up = tries >= options_.most_tries || spent >= options_.most_time;
    if (gave_up) return outcome.status;
    reply.repeated = true;
    sleep_(Jittered(BackoffAfter(tries, {options_.first_wait, kLongestWait})));
  }
}

bool S3Client::ReplaceKeys(const S3Credentials& refused) {
  if (!options_.credentials->Replace(refused)) return false;
  MutexLock lock(mu_);
  ++key_changes_;
  return true;
}

int64_t S3Client::key_changes() const {
  MutexLock lock(mu_);
  return key_changes_;
}

absl::Status S3Client::Send(const Request& request, Reply& reply) {
  const absl::Time begun = clock_.Monotonic();
  int tries = 0;
  bool gave_up = false;
  const absl::Status status = TryUntilDecided(request, reply, tries, gave_up);
  if (status.ok()) return status;
  const absl::Duration spent = clock_.Monotonic() - begun;
  const Address address = AddressOf(options_, request.bucket);
  const std::string place = ToText({request.bucket, request.key});
  const std::string after =
      gave_up ? absl::StrCat("; given up after ", tries, " tries in ",
                             absl::FormatDuration(absl::Trunc(spent, absl::Milliseconds(1))))
              : "";
  return absl::Status(status.code(), absl::StrCat(place, " at ", address.scheme, address.host, ": ",
                                                  status.message(), after));
}

absl::StatusOr<HttpAnswer> S3Client::Ask(const Request& request) {
  Reply reply;
  MUSTER_RETURN_IF_ERROR(Send(request, reply));
  return std::move(reply.answer);
}

absl::StatusOr<S3Client::Object> S3Client::Head(const std::string& bucket, const std::string& key) {
  MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer,
                          Ask({.method = "HEAD", .bucket = bucket, .key = key}));
  Object object;
  object.etag = HeaderOf(answer, "etag");
  if (!absl::SimpleAtoi(HeaderOf(answer, "content-length"), &object.size)) {
    return absl::UnavailableError(
        absl::StrCat(ToText({bucket, key}), ": the store did not say how long it is"));
  }
  return object;
}

absl::StatusOr<std::string> S3Client::Get(const std::string& bucket, const std::string& key,
                                          const std::string& etag, uint64_t offset, uint64_t size) {
  Request request{.method = "GET", .bucket = bucket, .key = key};
  request.headers["range"] = absl::StrCat("bytes=", offset, "-", offset + size - 1);
  if (!etag.empty()) request.headers["if-match"] = etag;
  request.most_bytes = std::max<size_t>(size, kMostDocument);
  absl::StatusOr<HttpAnswer> answer = Ask(request);
  if (absl::IsAlreadyExists(answer.status())) {
    return absl::DataLossError(
        absl::StrCat(ToText({bucket, key}), ": was replaced while it was read"));
  }
  MUSTER_RETURN_IF_ERROR(answer.status());
  if (answer->body.size() != size) {
    return absl::UnavailableError(absl::StrCat(ToText({bucket, key}), ": the store sent ",
                                               answer->body.size(), " bytes, not ", size));
  }
  return std::move(answer->body);
}

// A conditional request whose answer was lost is refused when it is sent again, because it did
// create the object.
bool S3Client::IsOurs(const std::string& bucket, const std::string& key,
                      const std::string& writer) {
  const auto answer = Ask({.method = "HEAD", .bucket = bucket, .key = key});
  return answer.ok() && HeaderOf(*answer, kWriterHeader) == writer;
}

absl::Status S3Client::Put(const std::string& bucket, const std::string& key, std::string_view body,
                           bool exclusive) {
  Request request{.method = "PUT", .bucket = bucket, .key = key, .body = body};
  request.headers["content-type"] = "application/octet-stream";
  const std::string writer = NewWriterName();
  if (exclusive) {
    request.headers["if-none-match"] = "*";
    request.headers[kWriterHeader] = writer;
  }
  Reply reply;
  const absl::Status status = Send(request, reply);
  const bool ours = absl::IsAlreadyExists(status) && reply.repeated && IsOurs(bucket, key, writer);
  return ours ? absl::OkStatus() : status;
}

absl::Status S3Client::Delete(const std::string& bucket, const std::string& key) {
  const absl::Status status = Ask({.method = "DELETE", .bucket = bucket, .key = key}).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<ObjectPage> S3Client::List(const std::string& bucket, const std::string& prefix,
                                          bool by_slash, const std::string& token, int most) {
  Request request{.method = "GET", .bucket = bucket};
  request.query = {{"list-type", "2"}, {"prefix", prefix}, {"max-keys", absl::StrCat(most)}};
  if (by_slash) request.query["delimiter"] = "/";
  if (!token.empty()) request.query["continuation-token"] = token;
  MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask(request));
  return ParseObjectPage(answer.body);
}

absl::StatusOr<UploadPage> S3Client::ListUploads(const std::string& bucket,
                                                 const std::string& prefix,
                                                 const UploadPage& after) {
  Request request{.method = "GET", .bucket = bucket};
  request.query = {{"uploads", ""}, {"prefix", prefix}};
  if (!after.next_key.empty()) {
    request.query["key-marker"] = after.next_key;
    request.query["upload-id-marker"] = after.next_id;
  }
  MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask(request));
  return ParseUploadPage(answer.body);
}

absl::StatusOr<std::string> S3Client::BeginUpload(const std::string& bucket, const std::string& key,
                                                  const std::string& writer) {
  Request request{.method = "POST", .bucket = bucket, .key = key, .query = {{"uploads", ""}}};
  request.headers["content-type"] = "application/octet-stream";
  request.headers[kWriterHeader] = writer;
  MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask(request));
  return ParseUploadId(answer.body);
}

absl::StatusOr<std::string> S3Client::PutPart(const std::string& bucket, const std::string& key,
                                              const std::string& upload, size_t number,
                                              std::string_view body) {
  Request request{.method = "PUT", .bucket = bucket, .key = key, .body = body};
  request.query = {{"partNumber", absl::StrCat(number)}, {"uploadId", upload}};
  MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask(request));
  std::string etag = HeaderOf(answer, "etag");
  if (!etag.empty()) return etag;
  return absl::UnavailableError(
      absl::StrCat(ToText({bucket, key}), ": the store took a part without an entity tag"));
}

absl::Status S3Client::CompleteUpload(const std::string& bucket, const std::string& key,
                                      const std::string& upload, const std::string& writer,
                                      const std::vector<std::string>& etags, bool exclusive) {
  const std::string parts = FormatParts(etags);
  Request request{.method = "POST", .bucket = bucket, .key = key, .body = parts};
  request.query = {{"uploadId", upload}};
  request.headers["content-type"] = "application/xml";
  if (exclusive) request.headers["if-none-match"] = "*";
  Reply reply;
  const absl::Status status = Send(request, reply);
  if (status.ok()) return CheckCompleted(reply.answer.body);
  const bool done = absl::IsAlreadyExists(status) || absl::IsNotFound(status);
  return done && reply.repeated && IsOurs(bucket, key, writer) ? absl::OkStatus() : status;
}

absl::Status S3Client::AbortUpload(const std::string& bucket, const std::string& key,
                                   const std::string& upload) {
  Request request{.method = "DELETE", .bucket = bucket, .key = key};
  request.query = {{"uploadId", upload}};
  const absl::Status status = Ask(request).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace muster
