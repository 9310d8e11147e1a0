#include "trainer/engine/rejoin.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

at::Tensor ToTensor(const std::vector<int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

absl::Status SendState(TrainingState& state, Communicator& communicator, int to) {
  const RunCounts& counts = state.counts();
  at::Tensor position =
      ToTensor({state.applied()->step(), state.applied()->attempt(), counts.updates, counts.samples,
                counts.skipped.in_row, counts.skipped.total});
  MUSTER_RETURN_IF_ERROR(communicator.Send(position, to, "position")->Wait());
  for (const NamedTensor& flat : state.FlatTensors()) {
    MUSTER_RETURN_IF_ERROR(communicator.Send(flat.tensor, to, flat.name)->Wait());
  }
  return absl::OkStatus();
}

absl::Status ReceiveState(const v1alpha1::Version& version, int from, Communicator& communicator,
                          TrainingState& state) {
  at::Tensor position = ToTensor(std::vector<int64_t>(6));
  MUSTER_RETURN_IF_ERROR(communicator.Recv(position, from, "position")->Wait());
  for (const NamedTensor& flat : state.FlatTensors()) {
    MUSTER_RETURN_IF_ERROR(communicator.Recv(flat.tensor, from, flat.name)->Wait());
  }
  const int64_t* p = position.const_data_ptr<int64_t>();
  if (p[0] != version.step() || p[1] != version.attempt()) {
    return absl::DataLossError(absl::StrCat("rank ", from, " sent step ", p[0], " (attempt ", p[1],
                                            ") in place of ", ToText(version)));
  }
  state.set_counts({.updates = p[2], .samples = p[3], .skipped = {.in_row = p[4], .total = p[5]}});
  return absl::OkStatus();
}

}  // namespace

absl::Status TransferState(const v1alpha1::ResumePoint& resume, Communicator& communicator,
                           TrainingState& state) {
  const int rank = communicator.rank();
  for (const int receiver : resume.receivers()) {
    if (rank == resume.donor()) {
      MUSTER_RETURN_IF_ERROR(SendState(state, communicator, receiver));
    } else if (rank == receiver) {
      MUSTER_RETURN_IF_ERROR(ReceiveState(resume.version(), resume.donor(), communicator, state));
    }
  }
  return absl::OkStatus();
}

absl::Status CompareSpecs(uint64_t trajectory, Communicator& communicator) {
  const at::Tensor mine = ToTensor({static_cast<int64_t>(trajectory)});
  at::Tensor all = at::empty({communicator.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(communicator.AllGather(all, mine, "specs")->Wait());
  const int64_t* specs = all.const_data_ptr<int64_t>();
  for (int rank = 1; rank < communicator.size(); ++rank) {
    if (specs[rank] == specs[0]) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " and rank 0 were given different specs"));
  }
  return absl::OkStatus();
}

absl::Status CompareDigests(int reference, Communicator& communicator, TrainingState& state) {
  const at::Tensor mine = ToTensor(state.Digest());
  const int64_t size = mine.numel();
  at::Tensor all = at::empty({size * communicator.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(communicator.AllGather(all, mine, "digests")->Wait());
  const int64_t* digests = all.const_data_ptr<int64_t>();
  absl::Status status;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    for (int64_t i = 0; i < size && status.ok(); ++i) {
      if (digests[rank * size + i] == digests[reference * size + i]) continue;
      const bool position = i + 1 == size;
      status = absl::DataLossError(absl::StrCat(
          "rank ", rank, " and rank ", reference, " differ in ",
          position ? std::string(
                         "their version or in their counts of updates, samples and skipped steps")
                   : absl::StrCat("unit ", state.units()[static_cast<size_t>(i)].layout().name)));
    }
  }
  const int64_t* own = digests + communicator.rank() * size;
  if (!std::equal(own, own + size, digests + reference * size)) state.commit().Lose();
  return status;
}

}  // namespace muster::trainer
