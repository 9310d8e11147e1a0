#include "trainer/comm/gloo_operation.h"

#include <exception>
#include <iterator>
#include <thread>
#include <utility>

#include "ATen/core/ivalue.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "trainer/comm/group_sockets.h"

namespace muster::trainer {
namespace {

absl::Status StatusOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return GlooStatus(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return GlooStatus(e.what());
  }
}

absl::Status Named(int64_t sequence, const Fingerprint& fingerprint, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("operation #", sequence, " ",
                                                  fingerprint.ToString(), ": ", status.message()));
}

}  // namespace

absl::Status GlooStatus(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::string lower = absl::AsciiStrToLower(line);
  if (absl::StrContains(lower, "timed out") || absl::StrContains(lower, "timeout")) {
    return absl::DeadlineExceededError(absl::StrCat("a peer is silent: ", line));
  }
  return absl::UnavailableError(absl::StrCat("a peer is gone: ", line));
}

LiveGroup::~LiveGroup() {
  if (!tracker_->failure().ok() || tracker_->busy()) ShutDown(group_.sockets);
  if (!tracker_->busy()) return;
  // A detached thread destroys the process group, because that may block; the process may end
  // first.
  std::thread([group = std::move(group_.process_group), tensors = std::move(abandoned_)]() mutable {
    group.reset();
  }).detach();
}

absl::Status LiveGroup::Fail(const absl::Status& status) {
  const absl::Status failure = tracker_->Fail(status);
  ShutDown(group_.sockets);
  MutexLock lock(mu_);
  for (const GlooWork& message : messages_) message->abort();
  return failure;
}

void LiveGroup::AddMessage(const GlooWork& work) {
  MutexLock lock(mu_);
  messages_.push_back(work);
  if (!tracker_->failure().ok()) work->abort();
}

void LiveGroup::RemoveMessage(const GlooWork& work) {
  MutexLock lock(mu_);
  std::erase(messages_, work);
}

void LiveGroup::Abandon(std::vector<at::Tensor> tensors) {
  MutexLock lock(mu_);
  std::move(tensors.begin(), tensors.end(), std::back_inserter(abandoned_));
}

GlooOperation::GlooOperation(std::shared_ptr<LiveGroup> group, int64_t sequence,
                             Fingerprint fingerprint, GlooWork work,
                             std::vector<at::Tensor> tensors)
    : group_(std::move(group)),
      sequence_(sequence),
      fingerprint_(std::move(fingerprint)),
      work_(std::move(work)),
      tensors_(std::move(tensors)) {
  if (IsMessage()) {
    group_->AddMessage(work_);
    return;
  }
  tracked_ = group_->tracker()->Started();
  auto end = [tracker = group_->tracker(), id = tracked_, sequence,
              print = fingerprint_](c10::ivalue::Future& future) {
    if (!future.hasError()) return tracker->Ended(id);
    tracker->Broke(id, Named(sequence, print, StatusOf(future.exception_ptr())));
  };
  work_->getFuture()->addCallback(std::move(end), /*uses_future=*/false);
}

GlooOperation::~GlooOperation() {
  if (work_ != nullptr) Leave();
}

absl::Status GlooOperation::Wait() {
  if (work_ == nullptr) return result_;
  result_ = IsMessage() ? WaitForMessage() : group_->tracker()->Await(tracked_, group_->deadline());
  if (!result_.ok()) result_ = group_->Fail(Named(sequence_, fingerprint_, result_));
  Leave();
  return result_;
}

bool GlooOperation::IsMessage() const {
  return fingerprint_.kind == OperationKind::kSend || fingerprint_.kind == OperationKind::kRecv;
}

absl::Status GlooOperation::WaitForMessage() {
  try {
    const bool done = work_->wait(absl::ToChronoMilliseconds(group_->deadline()));
    return done ? absl::OkStatus() : group_->tracker()->failure();
  } catch (...) {
    return StatusOf(std::current_exception());
  }
}

void GlooOperation::Leave() {
  if (IsMessage()) {
    group_->RemoveMessage(work_);
  } else if (!group_->tracker()->Settle(tracked_)) {
    group_->Abandon(std::move(tensors_));
  }
  work_.reset();
  tensors_.clear();
}

}  // namespace muster::trainer
