#include "trainer/cuda/nccl_check.h"

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace muster::trainer::cuda {

absl::Status OperationCheck::Collective(int64_t sequence, const Fingerprint& fingerprint) {
  const int64_t number = collectives_++;
  auto key = [&](int rank) { return absl::StrCat(tag_, "/collective/", number, "/", rank); };
  const absl::Time until = Clock::Real().Monotonic() + deadline_;
  const std::string mine = fingerprint.ToString();
  MUSTER_RETURN_IF_ERROR(store_->Set(key(rank_), mine, until));
  for (int r = 0; r < size_; ++r) {
    MUSTER_ASSIGN_OR_RETURN(const std::string theirs, store_->WaitFor(key(r), until));
    if (theirs == mine) continue;
    return absl::InternalError(absl::StrCat("ranks are at different operations: #", sequence,
                                            ": rank ", rank_, ": ", mine, "; rank ", r, ": ",
                                            theirs));
  }
  return absl::OkStatus();
}

std::string OperationCheck::MessageKey(int from, int to, int64_t number) const {
  return absl::StrCat(tag_, "/message/", from, "/", to, "/", number);
}

absl::Status OperationCheck::Sent(const Fingerprint& fingerprint) {
  const int64_t number = messages_[{rank_, fingerprint.peer}]++;
  return store_->Set(MessageKey(rank_, fingerprint.peer, number), fingerprint.AsMessage(rank_),
                     Clock::Real().Monotonic() + deadline_);
}

int64_t OperationCheck::NumberOf(const Fingerprint& fingerprint) {
  return messages_[{fingerprint.peer, rank_}]++;
}

absl::Status OperationCheck::Received(int64_t sequence, const Fingerprint& fingerprint,
                                      int64_t number) {
  MUSTER_ASSIGN_OR_RETURN(const std::string theirs,
                          store_->WaitFor(MessageKey(fingerprint.peer, rank_, number),
                                          Clock::Real().Monotonic() + deadline_));
  const std::string expected = fingerprint.AsMessage(rank_);
  if (theirs == expected) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("ranks are at different operations: #", sequence,
                                          ": expected ", expected, ", the peer sent ", theirs));
}

}  // namespace muster::trainer::cuda
