#include "base/object_store/curl_transport.h"

#include <curl/curl.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr long kSlowBytes = 1024;  // a second
constexpr size_t kMostHeaders = 100;

struct Exchange {
  HttpAnswer answer;
  size_t most_bytes = 0;
  bool too_long = false;
};

size_t TakeBody(char* bytes, size_t size, size_t count, void* data) {
  auto& exchange = *static_cast<Exchange*>(data);
  const size_t length = size * count;
  if (length > exchange.most_bytes - exchange.answer.body.size()) {
    exchange.too_long = true;
    return CURL_WRITEFUNC_ERROR;
  }
  exchange.answer.body.append(bytes, length);
  return length;
}

size_t TakeHeader(char* bytes, size_t size, size_t count, void* data) {
  auto& headers = static_cast<Exchange*>(data)->answer.headers;
  const std::string_view line(bytes, size * count);
  // A status line begins another answer, such as the one after "100 Continue".
  if (line.starts_with("HTTP/")) headers.clear();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || headers.size() == kMostHeaders) return line.size();
  const std::string name = absl::AsciiStrToLower(std::string(line.substr(0, colon)));
  std::string value(line.substr(colon + 1));
  absl::StripAsciiWhitespace(&value);
  headers[name] = std::move(value);
  return line.size();
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void Add(const std::string& line, HeaderList& list) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str()); longer != nullptr) {
    list.release();
    list.reset(longer);
  }
}

HeaderList HeadersOf(const HttpRequest& request) {
  HeaderList list;
  for (const auto& [name, value] : request.headers) Add(absl::StrCat(name, ": ", value), list);
  // libcurl would wait for "100 Continue" before it sends a body, and name a type of its own.
  Add("Expect:", list);
  if (request.headers.count("content-type") == 0) Add("Content-Type:", list);
  return list;
}

void SetMethod(CURL* easy, const HttpRequest& request) {
  curl_easy_setopt(easy, CURLOPT_NOBODY, request.method == "HEAD" ? 1L : 0L);
  if (request.method == "HEAD") return;
  if (request.method == "GET") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    return;
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method == "DELETE") return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
}

}  // namespace

struct CurlTransport::Handle {
  CURL* const easy = curl_easy_init();
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (easy != nullptr) curl_easy_cleanup(easy);
  }
};

CurlTransport::CurlTransport(CurlOptions options) : options_(std::move(options)) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(initialised);  // a failure shows when a handle is made
}

CurlTransport::~CurlTransport() = default;

std::unique_ptr<CurlTransport::Handle> CurlTransport::Take() {
  MutexLock lock(mu_);
  if (idle_.empty()) return std::make_unique<Handle>();
  std::unique_ptr<Handle> handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void CurlTransport::Configure(void* easy) const {
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // The path is signed as it is.
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options_.connect_timeout)));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(absl::ToInt64Seconds(options_.stall_timeout)));
  if (!options_.proxies) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!options_.authorities.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.authorities.c_str());
  }
}

absl::StatusOr<HttpAnswer> CurlTransport::Send(const HttpRequest& request) {
  std::unique_ptr<Handle> handle = Take();
  CURL* const easy = handle->easy;
  if (easy == nullptr) return absl::UnavailableError("libcurl could not be started");
  Exchange exchange;
  exchange.most_bytes = request.most_bytes;
  char problem[CURL_ERROR_SIZE] = "";
  const HeaderList headers = HeadersOf(request);
  curl_easy_reset(easy);  // keeps the connection
  Configure(easy);
  SetMethod(easy, request);
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, problem);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  const CURLcode code = curl_easy_perform(easy);
  if (exchange.too_long) {
    return absl::UnavailableError(
        absl::StrCat("the answer has more than ", request.most_bytes, " bytes"));
  }
  if (code != CURLE_OK) {
    return absl::UnavailableError(*problem != '\0' ? problem : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  exchange.answer.status = static_cast<int>(status);
  MutexLock lock(mu_);
  idle_.push_back(std::move(handle));
  return std::move(exchange.answer);
}

}  // namespace muster
