#include "agent/worker/ranks/rank_supervisor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/worker/client/client_socket.h"
#include "agent/worker/ranks/rank_log.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "base/net/link_frame.h"
#include "base/process/pidfd.h"
#include "proto/muster/v1alpha1/kind_of.h"

namespace muster::agent {
namespace {

constexpr int kChildLinkFd = 3;
// A trainer that lets this many bytes queue up unread is considered dead.
constexpr size_t kMaxOutgoing = size_t{64} << 20;

void CloseFd(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

bool SetNonBlocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

// Reads the available bytes; returns false at the end of the stream.
bool ReadAvailable(int fd, const std::function<void(std::string_view)>& take) {
  char bytes[64 << 10];
  for (int i = 0; i < 64; ++i) {  // a chatty rank must not starve the others
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0) {
      take(std::string_view(bytes, static_cast<size_t>(n)));
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
  return true;
}

// Looks for the kernel's kills only when a rank was killed.
void NoteOutOfMemory(OomKills& kills, std::vector<Event>& events) {
  std::vector<RankEnded*> killed;
  for (Event& event : events) {
    RankEnded* ended = std::get_if<RankEnded>(&event);
    if (ended != nullptr && ended->signal == SIGKILL) killed.push_back(ended);
  }
  if (killed.empty() || !kills.Advanced()) return;
  for (RankEnded* ended : killed) ended->out_of_memory = true;
}

}  // namespace

// One local rank: its log, and its process while there is one.
class RankSupervisor::Rank {
 public:
  Rank(int local_rank, RankLog::Options log, Files& files, ProcessLauncher& launcher,
       const std::string& folder, const Clock& clock)
      : local_rank_(local_rank),
        log_(std::move(log), files),
        launcher_(launcher),
        socket_path_(PathIn(folder, local_rank, ".sock")),
        error_path_(PathIn(folder, local_rank, "-error.json")),
        socket_(clock) {}
  ~Rank() {
    if (process_ != nullptr) process_->SignalGroup(SIGKILL).IgnoreError();
    CloseFd(link_);
    CloseFd(output_);
  }

  absl::Status Launch(int generation, const Program& program);
  void Kill(int generation, int signal);
  void Send(const v1alpha1::ToTrainer& message);
  void AddPollFds(std::vector<pollfd>* fds) const;
  void Collect(std::vector<Event>* events);
  bool Owns(pid_t pid) const { return process_ != nullptr && process_->pid() == pid; }

 private:
  static std::string PathIn(const std::string& folder, int local_rank, const char* end) {
    return folder.empty() ? "" : JoinPath(folder, absl::StrCat("rank-", local_rank, end));
  }
  void Flush();
  void ReadLink(std::vector<Event>* events);
  void LoseLink(std::vector<Event>* events, const absl::Status& why);
  void ReadOutput();
  void CollectEnd(std::vector<Event>* events);

  void OpenSocket(ProcessSpec& spec);
  void OfferErrorFile(ProcessSpec& spec);
  std::string TakeLastWords();
  void ReadSocket(std::vector<Event>* events);

  const int local_rank_;
  RankLog log_;
  ProcessLauncher& launcher_;
  const std::string socket_path_;  // empty: commands get no socket
  const std::string error_path_;   // empty: commands get no error file
  ClientSocket socket_;
  std::unique_ptr<Process> process_;
  int generation_ = 0;
  int link_ = -1;
  int output_ = -1;
  LinkFrameDecoder decoder_;
  std::string outgoing_;
};

absl::Status RankSupervisor::Rank::Launch(int generation, const Program& program) {
  generation_ = generation;
  int output[2] = {-1, -1};
  int link[2] = {-1, -1};
  if (pipe2(output, O_CLOEXEC) < 0 ||
      (program.link && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) < 0)) {
    CloseFd(output[0]);
    CloseFd(output[1]);
    return absl::ResourceExhaustedError(absl::StrCat("rank pipes: ", std::strerror(errno)));
  }
  ProcessSpec spec;
  spec.argv = program.argv;
  spec.env = program.env;
  spec.cwd = program.cwd;
  spec.cpus = program.cpus;
  spec.fds = {{output[1], STDOUT_FILENO}, {output[1], STDERR_FILENO}};
  if (program.link) spec.fds.push_back({link[1], kChildLinkFd});
  if (!program.link) {
    OpenSocket(spec);
    OfferErrorFile(spec);
  }
  spec.group = ProcessSpec::Group::kProcessGroup;
  spec.die_with_parent = true;
  absl::StatusOr<std::unique_ptr<Process>> process = launcher_.Launch(spec);
  CloseFd(output[1]);
  CloseFd(link[1]);
  if (!process.ok()) {
    CloseFd(output[0]);
    CloseFd(link[0]);
    return process.status();
  }
  process_ = *std::move(process);
  output_ = output[0];
  link_ = link[0];
  SetNonBlocking(output_);
  if (link_ >= 0) SetNonBlocking(link_);
  decoder_ = LinkFrameDecoder();
  outgoing_.clear();
  log_.BeginProcess();
  log_.SetPrefix(absl::StrCat("[rank ", program.rank, "] "));
  MUSTER_LOG(INFO, "rank started", {"rank", program.rank}, {"pid", process_->pid()},
             {"generation", generation});
  return absl::OkStatus();
}

// A command runs without the socket, too.
void RankSupervisor::Rank::OpenSocket(ProcessSpec& spec) {
  if (socket_path_.empty()) return;
  if (const absl::Status opened = socket_.Open(socket_path_); !opened.ok()) {
    MUSTER_LOG(WARN, "no socket for the command's reports", {"error", opened});
    return;
  }
  spec.env.push_back(absl::StrCat("MUSTER_AGENT_SOCKET=", socket_path_));
}

// The file is made by the process, and only if it fails.
void RankSupervisor::Rank::OfferErrorFile(ProcessSpec& spec) {
  if (error_path_.empty()) return;
  unlink(error_path_.c_str());
  spec.env.push_back(absl::StrCat("TORCHELASTIC_ERROR_FILE=", error_path_));
}

// Returns the end of the log, and below it the exception that a command has left in its error file.
std::string RankSupervisor::Rank::TakeLastWords() {
  const std::string exception = error_path_.empty() ? "" : ReadErrorFile(error_path_);
  if (exception.empty()) return log_.tail();
  unlink(error_path_.c_str());
  const bool whole_line = log_.tail().empty() || log_.tail().back() == '\n';
  return absl::StrCat(log_.tail(), whole_line ? "" : "\n", exception, "\n");
}

void RankSupervisor::Rank::ReadSocket(std::vector<Event>* events) {
  for (v1alpha1::FromTrainer& message : socket_.Collect()) {
    events->push_back(RankMessageReceived{local_rank_, generation_, std::move(message)});
  }
}

void RankSupervisor::Rank::Kill(int generation, int signal) {
  if (process_ == nullptr || generation != generation_) return;
  // A stopped process handles SIGTERM only after SIGCONT.
  process_->SignalGroup(signal).IgnoreError();
  if (signal == SIGTERM) process_->SignalGroup(SIGCONT).IgnoreError();
}

void RankSupervisor::Rank::Send(const v1alpha1::ToTrainer& message) {
  if (link_ < 0) return socket_.Notify(message);
  MUSTER_FAILPOINT_OF("agent.before_order", v1alpha1::KindOf(message));
  if (absl::Status status = AppendLinkFrame(message, &outgoing_); !status.ok()) {
    MUSTER_LOG(ERROR, "message not sent to rank", {"local_rank", local_rank_}, {"error", status});
  }
  Flush();
  MUSTER_FAILPOINT_OF("agent.after_order", v1alpha1::KindOf(message));
}

void RankSupervisor::Rank::Flush() {
  while (link_ >= 0 && !outgoing_.empty()) {
    const ssize_t n = send(link_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (n > 0) {
      outgoing_.erase(0, static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return;  // full, or gone: the next read detects the latter
    }
  }
}

void RankSupervisor::Rank::AddPollFds(std::vector<pollfd>* fds) const {
  if (process_ == nullptr) return;
  if (process_->poll_fd() >= 0) fds->push_back({process_->poll_fd(), POLLIN, 0});
  if (output_ >= 0) fds->push_back({output_, POLLIN, 0});
  socket_.AddPollFds(fds);
  if (link_ >= 0) {
    fds->push_back({link_, static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
}

void RankSupervisor::Rank::Collect(std::vector<Event>* events) {
  if (process_ == nullptr) return;
  // Checked before reading, so that all output of an ended process precedes the report of its end.
  const bool ended = HasEnded(process_->poll_fd());
  if (ended) process_->SignalGroup(SIGKILL).IgnoreError();  // its remaining children
  Flush();
  ReadOutput();
  ReadLink(events);
  ReadSocket(events);
  if (link_ >= 0 && outgoing_.size() > kMaxOutgoing) {
    LoseLink(events, absl::ResourceExhaustedError("it does not read its link"));
  }
  if (ended) CollectEnd(events);
}

void RankSupervisor::Rank::ReadOutput() {
  if (output_ < 0) return;
  if (!ReadAvailable(output_, [this](std::string_view bytes) { log_.Write(bytes); })) {
    CloseFd(output_);
  }
}

void RankSupervisor::Rank::ReadLink(std::vector<Event>* events) {
  if (link_ < 0) return;
  const bool open = ReadAvailable(link_, [this](std::string_view b) { decoder_.Append(b); });
  while (true) {
    absl::StatusOr<std::optional<std::string>> frame = decoder_.Next();
    if (!frame.ok()) return LoseLink(events, frame.status());
    if (!frame->has_value()) break;
    RankMessageReceived said{local_rank_, generation_, {}};
    if (!said.message.ParseFromString(**frame)) {
      return LoseLink(events,
                      absl::InvalidArgumentError("a frame does not hold a FromTrainer message"));
    }
    MUSTER_FAILPOINT_OF("agent.heard", v1alpha1::KindOf(said.message));
    events->push_back(std::move(said));
  }
  if (!open) LoseLink(events, decoder_.AtEnd());
}

void RankSupervisor::Rank::LoseLink(std::vector<Event>* events, const absl::Status& why) {
  if (!why.ok()) {
    MUSTER_LOG(WARN, "link broken", {"local_rank", local_rank_}, {"error", why});
  }
  CloseFd(link_);
  events->push_back(RankLinkClosed{local_rank_, generation_});
}

void RankSupervisor::Rank::CollectEnd(std::vector<Event>* events) {
  absl::StatusOr<std::optional<ExitStatus>> exit = process_->Poll();
  if (exit.ok() && !exit->has_value()) return;
  const ExitStatus status = exit.ok() ? **exit : ExitStatus{.code = 255, .known = false};
  log_.EndOfProcess();
  CloseFd(output_);
  CloseFd(link_);
  socket_.Close();
  MUSTER_LOG(INFO, "rank ended", {"local_rank", local_rank_}, {"pid", process_->pid()},
             {"how", DescribeExit(status)});
  process_.reset();
  events->push_back(RankEnded{local_rank_, generation_, status.code, status.signal, TakeLastWords(),
                              /*out_of_memory=*/false});
}

RankSupervisor::RankSupervisor(Options options, ProcessLauncher& launcher, Files& files,
                               const Clock& clock) {
  for (int i = 0; i < options.ranks; ++i) {
    RankLog::Options log;
    if (!options.log_directory.empty()) {
      log.path = JoinPath(options.log_directory, absl::StrCat("rank-", i, ".log"));
    }
    log.max_bytes = options.max_log_bytes;
    log.show = options.show;
    ranks_.push_back(std::make_unique<Rank>(i, std::move(log), files, launcher,
                                            options.socket_directory, clock));
  }
}

RankSupervisor::~RankSupervisor() = default;

absl::Status RankSupervisor::Launch(int local_rank, int generation, const Program& program) {
  return ranks_[local_rank]->Launch(generation, program);
}

void RankSupervisor::Kill(int local_rank, int generation, int signal) {
  ranks_[local_rank]->Kill(generation, signal);
}

void RankSupervisor::Send(int local_rank, const v1alpha1::ToTrainer& message) {
  ranks_[local_rank]->Send(message);
}

bool RankSupervisor::Owns(pid_t pid) const {
  for (const auto& rank : ranks_) {
    if (rank->Owns(pid)) return true;
  }
  return false;
}

void RankSupervisor::AddPollFds(std::vector<pollfd>* fds) const {
  for (const auto& rank : ranks_) rank->AddPollFds(fds);
}

std::vector<Event> RankSupervisor::Collect() {
  std::vector<Event> events;
  for (const auto& rank : ranks_) rank->Collect(&events);
  NoteOutOfMemory(oom_kills_, events);
  return events;
}

}  // namespace muster::agent
