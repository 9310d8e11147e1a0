#include "operator/kube/credentials/credentials.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::kube {
namespace {

constexpr absl::Duration kReadAgain = absl::Seconds(10);
constexpr absl::Duration kRefusedAgain = absl::Seconds(1);
// A credential is replaced this long before it expires.
constexpr absl::Duration kExpiryMargin = absl::Seconds(10);
constexpr absl::Duration kPluginTime = absl::Seconds(30);
constexpr size_t kMaxFile = size_t{1} << 20;

// Stores the PEM text of `source` or of its file in `text`. If the file cannot be read or is empty,
// the previous non-empty `text` stays in use.
absl::Status Reread(Files& files, const PemSource& source, std::string& text) {
  if (!source.pem.empty()) {
    text = source.pem;
    return absl::OkStatus();
  }
  if (source.file.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> read = ReadFile(files, source.file, kMaxFile);
  if (read.ok() && !read->empty()) {
    text = *std::move(read);
    return absl::OkStatus();
  }
  if (!text.empty()) return absl::OkStatus();
  if (!read.ok()) return read.status();
  return absl::InvalidArgumentError(absl::StrCat(source.file, ": it is empty"));
}

}  // namespace

CredentialSource::CredentialSource(RestConfig config, const Clock& clock, Files& files,
                                   ProcessLauncher& launcher)
    : config_(std::move(config)),
      clock_(clock),
      files_(files),
      launcher_(launcher),
      stop_(config_.exec.has_value() ? eventfd(0, EFD_CLOEXEC) : -1) {}

CredentialSource::~CredentialSource() {
  std::thread runner;
  {
    MutexLock lock(mu_);
    runner.swap(runner_);
  }
  if (runner.joinable()) {
    eventfd_write(stop_, 1);
    runner.join();
  }
  if (stop_ >= 0) close(stop_);
}

bool CredentialSource::CanChange() const {
  return config_.exec.has_value() || !config_.token_file.empty() || !config_.ca.file.empty() ||
         !config_.client_certificate.file.empty() || !config_.client_key.file.empty();
}

absl::StatusOr<Credentials> CredentialSource::Get(absl::Time deadline) {
  MutexLock lock(mu_);
  if (config_.exec.has_value()) MUSTER_RETURN_IF_ERROR(FollowPlugin(deadline));
  const bool due = CanChange() && clock_.Monotonic() - read_at_ >= kReadAgain;
  if (!read_ || due) MUSTER_RETURN_IF_ERROR(Refresh());
  return current_;
}

absl::Status CredentialSource::Refresh() {
  Credentials fresh = current_;
  MUSTER_RETURN_IF_ERROR(RefreshFiles(fresh));
  if (!plugin_.token.empty()) fresh.token = plugin_.token;
  if (!plugin_.client_certificate.empty()) {
    fresh.client_certificate = plugin_.client_certificate;
    fresh.client_key = plugin_.client_key;
  }
  const bool same = fresh.ca == current_.ca && fresh.client_key == current_.client_key &&
                    fresh.client_certificate == current_.client_certificate;
  if (!same) ++fresh.tls_generation;
  current_ = std::move(fresh);
  read_ = true;
  read_at_ = clock_.Monotonic();
  return absl::OkStatus();
}

absl::Status CredentialSource::FollowPlugin(absl::Time deadline) {
  const auto holds_for = [this](absl::Duration more) MUSTER_REQUIRES(mu_) {
    return plugin_ran_ && clock_.Wall() + more < plugin_.expires;
  };
  if (holds_for(kExpiryMargin)) return absl::OkStatus();
  const bool failed_just_now =
      !plugin_end_.ok() && clock_.Monotonic() - plugin_ended_at_ < kRefusedAgain;
  if (!running_ && !failed_just_now) StartPlugin();
  if (holds_for(absl::ZeroDuration())) return absl::OkStatus();
  while (running_) {
    const absl::Duration left = deadline - clock_.Monotonic();
    if (left <= absl::ZeroDuration()) {
      return absl::UnavailableError(absl::StrCat("credential plugin ", config_.exec->argv.front(),
                                                 ": it did not answer within the call's time"));
    }
    ended_.WaitFor(mu_, std::min(left, absl::Duration(absl::Hours(1))));
  }
  return plugin_end_;
}

void CredentialSource::StartPlugin() {
  if (runner_.joinable()) runner_.join();  // it has nothing left to do
  running_ = true;
  runner_ = std::thread([this] { RunPlugin(); });
}

void CredentialSource::RunPlugin() {
  absl::StatusOr<ExecCredential> ran = RunExecPlugin(config_, kPluginTime, launcher_, stop_);
  MutexLock lock(mu_);
  running_ = false;
  plugin_end_ = ran.status();
  plugin_ended_at_ = clock_.Monotonic();
  if (ran.ok()) {
    plugin_ = *std::move(ran);
    plugin_ran_ = true;
    read_ = false;
  }
  ended_.NotifyAll();
}

absl::Status CredentialSource::RefreshFiles(Credentials& fresh) {
  MUSTER_RETURN_IF_ERROR(Reread(files_, config_.ca, fresh.ca));
  MUSTER_RETURN_IF_ERROR(Reread(files_, config_.client_certificate, fresh.client_certificate));
  MUSTER_RETURN_IF_ERROR(Reread(files_, config_.client_key, fresh.client_key));
  std::string token = fresh.token;
  const PemSource source{config_.token_file.empty() ? config_.token : "", config_.token_file};
  MUSTER_RETURN_IF_ERROR(Reread(files_, source, token));
  fresh.token = std::string(absl::StripAsciiWhitespace(token));
  for (char c : fresh.token) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError(
          absl::StrCat(config_.token_file.empty() ? "the token" : config_.token_file,
                       " contains a character that is not allowed in a token"));
    }
  }
  return absl::OkStatus();
}

bool CredentialSource::Refuse() {
  MutexLock lock(mu_);
  if (!CanChange() || clock_.Monotonic() - read_at_ < kRefusedAgain) return false;
  read_ = false;
  plugin_ran_ = false;
  return true;
}

}  // namespace muster::kube
