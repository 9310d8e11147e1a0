#include "agent/node/fabric_probe.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxError = 300;

// Returns the first `most` bytes of a file in memory.
std::string Contents(int fd, size_t most) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0) return "";
  std::string text(std::min(static_cast<size_t>(info.st_size), most), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        ::pread(fd, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

FabricProbe::FabricProbe(ProcessLauncher& launcher, std::string program,
                         std::vector<std::string> environment)
    : launcher_(launcher), program_(std::move(program)), environment_(std::move(environment)) {}

FabricProbe::~FabricProbe() {
  if (running()) process_->SignalGroup(SIGKILL).IgnoreError();  // it may have ended by itself
}

absl::Status FabricProbe::Start(absl::Time now) {
  if (running()) return absl::OkStatus();
  // Files in memory take any amount without somebody who reads meanwhile.
  output_.emplace(::memfd_create("ibnetdiscover", MFD_CLOEXEC));
  errors_.emplace(::memfd_create("ibnetdiscover-errors", MFD_CLOEXEC));
  if (output_->get() < 0 || errors_->get() < 0) {
    return absl::ErrnoToStatus(errno, "no file in memory for the output of ibnetdiscover");
  }
  ProcessSpec spec;
  spec.argv = {program_};
  spec.env = environment_;
  spec.fds = {{output_->get(), STDOUT_FILENO}, {errors_->get(), STDERR_FILENO}};
  spec.group = ProcessSpec::Group::kProcessGroup;
  spec.die_with_parent = true;
  absl::StatusOr<std::unique_ptr<Process>> process = launcher_.Launch(spec);
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  started_ = now;
  killed_ = false;
  return absl::OkStatus();
}

std::optional<absl::StatusOr<FabricLinks>> FabricProbe::Poll(absl::Time now) {
  if (!running()) return std::nullopt;
  const absl::StatusOr<std::optional<ExitStatus>> ended = process_->Poll();
  if (!ended.ok()) {
    process_.reset();
    return ended.status();
  }
  if (!ended->has_value()) {
    if (now - started_ >= kLongest && !killed_) {
      killed_ = process_->SignalGroup(SIGKILL).ok();
    }
    return std::nullopt;
  }
  process_.reset();
  const ExitStatus exit = **ended;
  if (killed_) {
    return absl::DeadlineExceededError(
        absl::StrCat(program_, " had not ended after ", absl::FormatDuration(kLongest)));
  }
  if (exit.code == 0) return ParseIbnetdiscover(Contents(output_->get(), kMaxBytes));
  std::string said = Contents(errors_->get(), kMaxError);
  absl::StripAsciiWhitespace(&said);
  return absl::UnavailableError(absl::StrCat(program_, ": ", DescribeExit(exit), ": ", said));
}

}  // namespace muster::agent
