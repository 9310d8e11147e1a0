#include "base/object_store/credentials_source.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/object_store/credentials_answers.h"
#include "base/percent_encoding.h"
#include "base/random_name.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMostFileBytes = size_t{1} << 20;
constexpr size_t kMostAnswerBytes = size_t{256} << 10;

absl::Status WithContext(const std::string& context, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::StatusOr<std::string> TokenIn(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMostFileBytes));
  absl::StatusOr<std::string> token = ReadToken(text);
  if (!token.ok()) return WithContext(path, token.status());
  return token;
}

// Adds what was asked to each error.
template <typename Ask>
absl::StatusOr<ExpiringCredentials> Described(const CredentialsSource& source, Ask ask) {
  absl::StatusOr<ExpiringCredentials> answer = ask();
  if (answer.ok()) return answer;
  // A file that is missing is no object that is missing.
  const absl::Status& status = answer.status();
  const auto code =
      absl::IsNotFound(status) ? absl::StatusCode::kFailedPrecondition : status.code();
  return absl::Status(
      code, absl::StrCat("no keys for the store from ", source.Describe(), ": ", status.message()));
}

class FixedSource final : public CredentialsSource {
 public:
  explicit FixedSource(S3Credentials keys) : keys_(std::move(keys)) {}
  absl::StatusOr<ExpiringCredentials> Fetch() override { return ExpiringCredentials{keys_}; }
  std::string Describe() const override { return "AWS_ACCESS_KEY_ID"; }

 private:
  const S3Credentials keys_;
};

class WebIdentitySource final : public CredentialsSource {
 public:
  WebIdentitySource(WebIdentity identity, std::unique_ptr<HttpTransport> transport, Files& files)
      : identity_(std::move(identity)), transport_(std::move(transport)), files_(files) {
    if (identity_.session_name.empty()) {
      identity_.session_name = absl::StrCat("muster-", RandomName());
    }
  }
  absl::StatusOr<ExpiringCredentials> Fetch() override {
    return Described(*this, [this] { return Ask(); });
  }
  std::string Describe() const override {
    return absl::StrCat("web identity (AWS_WEB_IDENTITY_TOKEN_FILE ", identity_.token_file,
                        ", AWS_ROLE_ARN ", identity_.role, ") at ", identity_.endpoint);
  }

 private:
  absl::StatusOr<ExpiringCredentials> Ask() {
    MUSTER_ASSIGN_OR_RETURN(const std::string token, TokenIn(files_, identity_.token_file));
    const std::string form = absl::StrCat(
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=",
        PercentEncode(identity_.role), "&RoleSessionName=", PercentEncode(identity_.session_name),
        "&WebIdentityToken=", PercentEncode(token));
    HttpRequest request{.method = "POST", .url = absl::StrCat(identity_.endpoint, "/")};
    request.headers["content-type"] = "application/x-www-form-urlencoded";
    request.headers["accept"] = "application/xml";
    request.body = form;
    request.most_bytes = kMostAnswerBytes;
    MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, transport_->Send(request));
    return ReadStsAnswer(answer);
  }

  WebIdentity identity_;
  const std::unique_ptr<HttpTransport> transport_;
  Files& files_;
};

class FileSource final : public CredentialsSource {
 public:
  FileSource(CredentialsFile file, Files& files) : file_(std::move(file)), files_(files) {}
  absl::StatusOr<ExpiringCredentials> Fetch() override {
    return Described(*this, [this]() -> absl::StatusOr<ExpiringCredentials> {
      MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files_, file_.path, kMostFileBytes));
      MUSTER_ASSIGN_OR_RETURN(S3Credentials keys, ReadCredentialsFile(text, file_.profile));
      return ExpiringCredentials{std::move(keys)};
    });
  }
  std::string Describe() const override {
    return absl::StrCat("the file of AWS_SHARED_CREDENTIALS_FILE, ", file_.path);
  }

 private:
  const CredentialsFile file_;
  Files& files_;
};

class AgentSource final : public CredentialsSource {
 public:
  AgentSource(ContainerAgent agent, std::unique_ptr<HttpTransport> transport, Files& files)
      : agent_(std::move(agent)), transport_(std::move(transport)), files_(files) {}
  absl::StatusOr<ExpiringCredentials> Fetch() override {
    return Described(*this, [this] { return Ask(); });
  }
  std::string Describe() const override {
    return absl::StrCat("the agent of AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI, ",
                        agent_.url);
  }

 private:
  absl::StatusOr<std::string> Token() {
    if (!agent_.token_file.empty()) return TokenIn(files_, agent_.token_file);
    if (agent_.token.empty()) return std::string();
    return ReadToken(agent_.token);
  }
  absl::StatusOr<ExpiringCredentials> Ask() {
    HttpRequest request{.method = "GET", .url = agent_.url};
    MUSTER_ASSIGN_OR_RETURN(const std::string token, Token());
    if (!token.empty()) request.headers["authorization"] = token;
    request.headers["accept"] = "application/json";
    request.most_bytes = kMostAnswerBytes;
    MUSTER_ASSIGN_OR_RETURN(const HttpAnswer answer, transport_->Send(request));
    return ReadAgentAnswer(answer);
  }

  const ContainerAgent agent_;
  const std::unique_ptr<HttpTransport> transport_;
  Files& files_;
};

}  // namespace

std::unique_ptr<CredentialsSource> MakeCredentialsSource(const CredentialsChoice& choice,
                                                         std::unique_ptr<HttpTransport> transport,
                                                         Files& files) {
  if (const auto* keys = std::get_if<S3Credentials>(&choice)) {
    return std::make_unique<FixedSource>(*keys);
  }
  if (const auto* identity = std::get_if<WebIdentity>(&choice)) {
    return std::make_unique<WebIdentitySource>(*identity, std::move(transport), files);
  }
  if (const auto* file = std::get_if<CredentialsFile>(&choice)) {
    return std::make_unique<FileSource>(*file, files);
  }
  return std::make_unique<AgentSource>(std::get<ContainerAgent>(choice), std::move(transport),
                                       files);
}

}  // namespace muster
