#ifndef MUSTER_AGENT_NOTICES_FAKE_METADATA_H_
#define MUSTER_AGENT_NOTICES_FAKE_METADATA_H_

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "httplib.h"

// Metadata services on the loopback that behave as the clouds document theirs. Thread-safe.
namespace muster::agent {

// The server below them.
class FakeMetadata {
 public:
  virtual ~FakeMetadata() = default;
  std::string base() const { return absl::StrCat("http://127.0.0.1:", port_); }
  int requests() const { return requests_; }

  // Answers every request with this, whatever a service would say; an empty body is one as well.
  void Break(int status, const std::string& body) {
    MutexLock lock(mu_);
    broken_ = {status, body};
  }
  void Mend() {
    MutexLock lock(mu_);
    broken_.reset();
  }

 protected:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  void Start(Handler handler) {
    handler_ = std::move(handler);
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      ++requests_;
      MutexLock lock(mu_);
      if (broken_) {
        response.status = broken_->first;
        response.set_content(broken_->second, "text/plain");
        return;
      }
      handler_(request, response);
    };
    server_.Get(".*", answer);
    server_.Put(".*", answer);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  void Stop() {
    while (!server_.is_running()) std::this_thread::yield();  // stop() has no effect before
    server_.stop();
    thread_.join();
  }
  static void Say(httplib::Response& response, int status, const std::string& body,
                  const char* type = "text/plain") {
    response.status = status;
    response.set_content(body, type);
  }

  Mutex mu_;

 private:
  httplib::Server server_;
  int port_ = 0;
  std::atomic<int> requests_ = 0;
  std::optional<std::pair<int, std::string>> broken_ MUSTER_GUARDED_BY(mu_);
  Handler handler_;
  std::thread thread_;
};

// EC2's IMDSv2, with tokens required: 401 without a valid one, 400 for a PUT without a time to
// live, 404 while nothing is announced.
class FakeAws : public FakeMetadata {
 public:
  FakeAws() {
    Start([this](const auto& request, auto& response) { Answer(request, response); });
  }
  ~FakeAws() override { Stop(); }
  // `body` is that of spot/instance-action; "" takes it back.
  void Action(const std::string& body) {
    MutexLock lock(mu_);
    action_ = body;
  }
  void Rebalance(bool recommended) {
    MutexLock lock(mu_);
    rebalance_ = recommended;
  }
  // Ends the life of every token.
  void ExpireTokens() {
    MutexLock lock(mu_);
    valid_.clear();
  }
  // From now on no token is valid.
  void RefuseTokens() {
    MutexLock lock(mu_);
    refuses_ = true;
    valid_.clear();
  }
  int tokens() {
    MutexLock lock(mu_);
    return tokens_;
  }

 private:
  void Answer(const httplib::Request& request, httplib::Response& response) {
    if (request.path == "/latest/api/token") return Token(request, response);
    if (valid_.count(request.get_header_value("X-aws-ec2-metadata-token")) == 0) {
      return Say(response, 401, "<title>401 - Unauthorized</title>", "text/html");
    }
    if (request.path == "/latest/meta-data/spot/instance-action" && !action_.empty()) {
      return Say(response, 200, action_, "application/json");
    }
    if (request.path == "/latest/meta-data/events/recommendations/rebalance" && rebalance_) {
      return Say(response, 200, R"({"noticeTime": "2026-11-25T08:22:00Z"})", "application/json");
    }
    Say(response, 404, "<title>404 - Not Found</title>", "text/html");
  }
  void Token(const httplib::Request& request, httplib::Response& response) {
    int seconds = 0;
    if (request.method != "PUT") return Say(response, 405, "");
    const std::string life = request.get_header_value("X-aws-ec2-metadata-token-ttl-seconds");
    if (!absl::SimpleAtoi(life, &seconds) || seconds < 1 || seconds > 21600) {
      return Say(response, 400, "");
    }
    if (request.has_header("X-Forwarded-For")) return Say(response, 403, "");
    const std::string token = absl::StrCat("AQAAAtoken", ++tokens_, "==");
    if (!refuses_) valid_.insert(token);
    response.set_header("X-aws-ec2-metadata-token-ttl-seconds", life);
    Say(response, 200, token);
  }

  std::string action_;
  bool rebalance_ = false;
  bool refuses_ = false;
  int tokens_ = 0;
  std::set<std::string> valid_;
};

// Compute Engine's metadata server: 403 without the header Metadata-Flavor, which its answers have
// too, with an ETag.
class FakeGoogle : public FakeMetadata {
 public:
  FakeGoogle() {
    Start([this](const auto& request, auto& response) { Answer(request, response); });
  }
  ~FakeGoogle() override { Stop(); }
  void Set(const std::string& key, const std::string& value) {
    MutexLock lock(mu_);
    values_[key] = value;
    ++etag_;
  }
  void OmitFlavor() {
    MutexLock lock(mu_);
    flavored_ = false;
  }

 private:
  void Answer(const httplib::Request& request, httplib::Response& response) {
    if (flavored_) response.set_header("Metadata-Flavor", "Google");
    if (request.get_header_value("Metadata-Flavor") != "Google") {
      return Say(response, 403, "Missing Metadata-Flavor:Google header.");
    }
    if (request.has_header("X-Forwarded-For")) return Say(response, 403, "");
    const std::string prefix = "/computeMetadata/v1/instance/";
    const auto found = request.path.rfind(prefix, 0) == 0
                           ? values_.find(request.path.substr(prefix.size()))
                           : values_.end();
    if (request.method != "GET" || found == values_.end()) return Say(response, 404, "");
    response.set_header("ETag", absl::StrCat(absl::Hex(etag_, absl::kZeroPad16)));
    Say(response, 200, found->second, "application/text");
  }

  std::map<std::string, std::string> values_ = {{"preempted", "FALSE"},
                                                {"maintenance-event", "NONE"}};
  int etag_ = 1;
  bool flavored_ = true;
};

// Azure's instance metadata service: 400 without the header Metadata or a known version.
class FakeAzure : public FakeMetadata {
 public:
  explicit FakeAzure(std::string name) : name_(std::move(name)) {
    Start([this](const auto& request, auto& response) { Answer(request, response); });
  }
  ~FakeAzure() override { Stop(); }
  // `events` are the elements of the list Events.
  void Events(const std::string& events) {
    MutexLock lock(mu_);
    events_ = events;
    ++incarnation_;
  }

 private:
  void Answer(const httplib::Request& request, httplib::Response& response) {
    const std::string version = request.get_param_value("api-version");
    if (request.get_header_value("Metadata") != "true" || version.empty()) {
      return Say(response, 400, R"({"error": "Bad request. api-version or Metadata is missing."})");
    }
    if (request.method != "GET") return Say(response, 405, "");
    if (request.path == "/metadata/instance/compute/name") return Say(response, 200, name_);
    if (request.path != "/metadata/scheduledevents") return Say(response, 404, "");
    if (version != "2020-07-01") return Say(response, 400, "");
    Say(response, 200,
        absl::StrCat(R"({"DocumentIncarnation":)", incarnation_, R"(,"Events":[)", events_, "]}"),
        "application/json");
  }

  const std::string name_;
  std::string events_;
  int incarnation_ = 1;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_FAKE_METADATA_H_
