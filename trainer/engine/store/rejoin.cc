#include "trainer/engine/store/rejoin.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/version.h"
#include "trainer/engine/link/message_tensor.h"
#include "trainer/engine/step/slice_gather.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// Sends the version and how many numbers the counts have, and then these.
absl::Status SendPosition(const TrainingState& state, Communicator& world, int to) {
  const std::vector<int64_t> numbers = ToNumbers(state.counts());
  at::Tensor version = ToTensor<int64_t>(
      {state.applied()->step(), state.applied()->attempt(), static_cast<int64_t>(numbers.size())});
  MUSTER_RETURN_IF_ERROR(world.Send(version, to, "position")->Wait());
  return world.Send(ToTensor(numbers), to, "counts")->Wait();
}

absl::Status ReceivePosition(const v1alpha1::Version& version, int from, Communicator& world,
                             TrainingState& state) {
  constexpr int64_t kMostNumbers = 4096;
  at::Tensor position = ToTensor(std::vector<int64_t>(3));
  MUSTER_RETURN_IF_ERROR(world.Recv(position, from, "position")->Wait());
  const int64_t* p = position.const_data_ptr<int64_t>();
  if (p[0] != version.step() || p[1] != version.attempt()) {
    return absl::DataLossError(absl::StrCat("rank ", from, " sent step ", p[0], " (attempt ", p[1],
                                            ") in place of ", ToText(version)));
  }
  if (p[2] < 1 || p[2] > kMostNumbers) {
    return absl::DataLossError(absl::StrCat("rank ", from, " sends ", p[2], " counts"));
  }
  at::Tensor numbers = ToTensor(std::vector<int64_t>(static_cast<size_t>(p[2])));
  MUSTER_RETURN_IF_ERROR(world.Recv(numbers, from, "counts")->Wait());
  MUSTER_ASSIGN_OR_RETURN(const RunCounts counts, CountsOf({numbers.const_data_ptr<int64_t>(),
                                                            static_cast<size_t>(numbers.numel())}));
  state.set_counts(counts);
  return absl::OkStatus();
}

// Moves this rank's pieces of one unit from what it holds to what it will hold, which may be the
// same: values and the optimizer's state.
class UnitTransfer {
 public:
  UnitTransfer(const TrainingState& state, int unit, const HeldSlice& next,
               const std::vector<at::Tensor>& next_optimizer)
      : name_(state.units()[static_cast<size_t>(unit)].layout().name),
        states_(state.optimizer().state_names()),
        had_(state.units()[static_cast<size_t>(unit)].held().chunks),
        has_(next.chunks),
        from_(All(state.units()[static_cast<size_t>(unit)].held().values,
                  state.optimizer().state(unit))),
        into_(All(next.values, next_optimizer)) {}

  // Copies what this rank keeps and is not there already.
  void Keep() {
    const TreeNode both = {std::max(had_.begin, has_.begin), std::min(had_.end, has_.end)};
    if (both.leaves() <= 0) return;
    for (size_t i = 0; i < into_.size(); ++i) {
      if (into_[i].is_alias_of(from_[i])) continue;
      Part(into_[i], has_, both).copy_(Part(from_[i], had_, both));
    }
  }
  void Send(const SliceMove& move, Communicator& world) {
    for (const at::Tensor& tensor : from_) {
      pending_.push_back(world.Send(LeaseMemory(Part(tensor, had_, move.chunks)), move.to, name_));
    }
  }
  // Returns the bytes that will come.
  int64_t Receive(const SliceMove& move, Communicator& world) {
    int64_t bytes = 0;
    for (const at::Tensor& tensor : into_) {
      const at::Tensor part = Part(tensor, has_, move.chunks);
      bytes += static_cast<int64_t>(part.nbytes());
      pending_.push_back(world.Recv(LeaseMemory(part), move.from, name_));
    }
    return bytes;
  }
  // Sends what this rank reads from `stored`, whose slice of the unit is `slice`; or takes it, as
  // no rank can send to itself.
  absl::Status SendStored(const SliceMove& move, StoredSlice& stored, const TreeNode& slice,
                          Communicator& world) {
    for (size_t i = 0; i < into_.size(); ++i) {
      const at::Tensor piece = at::empty({move.chunks.leaves() * kChunkElements},
                                         into_[i].options().device(c10::DeviceType::CPU));
      const absl::Status read =
          stored.Read(i == 0 ? name_ : absl::StrCat(name_, ".", states_[i - 1]),
                      slice.leaves() * kChunkElements,
                      (move.chunks.begin - slice.begin) * kChunkElements, piece);
      if (!read.ok()) return Break(read, world);
      if (move.to == world.rank()) {
        Part(into_[i], has_, move.chunks).copy_(piece);
      } else {
        pieces_.push_back(piece.to(into_[i].device()));
        pending_.push_back(world.Send(pieces_.back(), move.to, name_));
      }
    }
    return absl::OkStatus();
  }
  absl::Status Finish(Communicator& world) {
    for (const auto& pending : pending_) {
      if (const absl::Status status = pending->Wait(); !status.ok()) return Break(status, world);
    }
    return absl::OkStatus();
  }

 private:
  // The operations under way may be destroyed only when nothing can still arrive.
  static absl::Status Break(const absl::Status& status, Communicator& world) {
    world.Abort("the transfer of the state broke off");
    return status;
  }
  static std::vector<at::Tensor> All(const at::Tensor& values, std::vector<at::Tensor> optimizer) {
    optimizer.insert(optimizer.begin(), values);
    return optimizer;
  }
  // Returns the chunks of `run` from a tensor that begins at those of `slice`.
  static at::Tensor Part(const at::Tensor& tensor, const TreeNode& slice, const TreeNode& run) {
    return ChunksOf(tensor, {run.begin - slice.begin, run.end - slice.begin});
  }

  const std::string name_;
  const std::vector<std::string> states_;
  const TreeNode had_, has_;
  const std::vector<at::Tensor> from_, into_;
  std::vector<at::Tensor> pieces_;  // read, and being sent
  std::vector<std::unique_ptr<Pending>> pending_;
};

// One transfer, as this rank takes part in it.
struct Transfer {
  const v1alpha1::ResumePoint& resume;
  const std::vector<std::optional<CopyPlace>> held;  // by holder
  const std::vector<CopyPlace> wanted;               // by rank
  const StoredSlices& stored;
  Communicator& world;
  const TrainingState& state;
  int64_t received = 0;  // bytes, from the memory of other ranks

  const CopyPlace& mine() const { return wanted[static_cast<size_t>(world.rank())]; }
  bool had() const { return held[static_cast<size_t>(world.rank())].has_value(); }
  bool IsStored(int holder) const { return holder >= world.size(); }
  int RankOf(int holder) const { return RankOfHolder(resume, world.size(), holder); }
};

// How one unit moves among the ranks that have it alike.
struct UnitPlan {
  int64_t chunks = 0;
  std::vector<SliceMove> moves;
};

// Plans the moves of a unit among the ranks of its stages: of one that is whole among all of them,
// of others among those of the model's part `part`.
absl::StatusOr<UnitPlan> PlanUnit(const UnitLayout& unit, int part, const Transfer& transfer,
                                  std::vector<int64_t>& sent) {
  const auto has = [&](const CopyPlace& place) {
    return (!unit.is_part || place.part.index == part) && unit.IsOfStage(place.stage.index);
  };
  std::vector<std::optional<Shard>> held, wanted;
  for (const std::optional<CopyPlace>& place : transfer.held) {
    held.push_back(place && has(*place) ? std::optional(place->shard) : std::nullopt);
  }
  for (const CopyPlace& place : transfer.wanted) {
    wanted.push_back(has(place) ? std::optional(place.shard) : std::nullopt);
  }
  UnitPlan plan;
  plan.chunks = unit.chunks_of_parts[static_cast<size_t>(part)];
  MUSTER_ASSIGN_OR_RETURN(plan.moves, PlanMoves(plan.chunks, held, wanted, sent));
  return plan;
}

// Sends, receives or takes what `move` is for this rank. The unit has `chunks`.
absl::Status MovePiece(int64_t chunks, const SliceMove& move, Transfer& transfer,
                       UnitTransfer& unit) {
  const int from = transfer.RankOf(move.from);
  if (from == transfer.world.rank()) {
    if (!transfer.IsStored(move.from)) {
      unit.Send(move, transfer.world);
      return absl::OkStatus();
    }
    return unit.SendStored(
        move, *transfer.stored[static_cast<size_t>(move.from - transfer.world.size())],
        SliceOf(chunks, transfer.held[static_cast<size_t>(move.from)]->shard), transfer.world);
  }
  if (move.to == transfer.world.rank()) {
    const int64_t bytes =
        unit.Receive({.from = from, .to = move.to, .chunks = move.chunks}, transfer.world);
    if (!transfer.IsStored(move.from)) transfer.received += bytes;
  }
  return absl::OkStatus();
}

// Carries out this rank's moves of one unit, and waits for them.
absl::Status MovePieces(const UnitPlan& plan, Transfer& transfer, UnitTransfer& unit) {
  for (const SliceMove& move : plan.moves) {
    MUSTER_RETURN_IF_ERROR(MovePiece(plan.chunks, move, transfer, unit));
  }
  return unit.Finish(transfer.world);
}

// Returns true if this rank sends anything by the plan.
bool Sends(const UnitPlan& plan, const Transfer& transfer) {
  return std::any_of(plan.moves.begin(), plan.moves.end(), [&](const SliceMove& move) {
    return transfer.RankOf(move.from) == transfer.world.rank();
  });
}

// Moves this rank's pieces of one unit by a plan of all ranks that have it. What rests elsewhere is
// in memory meanwhile, and everything that `next`, or a rank that held nothing, gets is kept.
absl::Status MoveUnit(int unit, const UnitPlan& plan, const Holding* next, Transfer& transfer) {
  const TrainingState& state = transfer.state;
  const bool had = transfer.had();
  if (had && next == nullptr && !Sends(plan, transfer)) return absl::OkStatus();
  if (had) MUSTER_RETURN_IF_ERROR(state.rests().Bring(unit));
  const StateRests& into = next == nullptr ? state.rests() : next->rests;
  if (!had || next != nullptr) into.MakeRoom(unit);
  {
    const auto u = static_cast<size_t>(unit);
    const Optimizer& optimizer = next == nullptr ? state.optimizer() : *next->optimizer;
    UnitTransfer pieces(state, unit, next == nullptr ? state.units()[u].held() : next->slices[u],
                        optimizer.state(unit));
    if (had) pieces.Keep();
    MUSTER_RETURN_IF_ERROR(MovePieces(plan, transfer, pieces));
  }
  if (had) state.rests().Drop(unit);
  return had && next == nullptr ? absl::OkStatus() : into.Keep(unit);
}

// Sends what this rank reads from replicas of another part of the unit than its own.
absl::Status SendOtherPart(int unit, const UnitPlan& plan, Transfer& transfer) {
  if (!Sends(plan, transfer)) return absl::OkStatus();
  const TrainingState& state = transfer.state;
  UnitTransfer pieces(state, unit, state.units()[static_cast<size_t>(unit)].held(),
                      state.optimizer().state(unit));
  return MovePieces(plan, transfer, pieces);
}

// Returns an error unless this rank has what the round's order says that it has.
absl::Status CheckHoldings(const Transfer& transfer) {
  const TrainingState& state = transfer.state;
  const auto& had = transfer.held[static_cast<size_t>(transfer.world.rank())];
  if (had && !(*had == state.place())) {
    return absl::InternalError(absl::StrCat("the order to go says that this rank holds shard ",
                                            had->index(), " of ", had->count(), ", and it holds ",
                                            state.place().index(), " of ", state.place().count()));
  }
  for (const std::optional<CopyPlace>& place : transfer.held) {
    if (!place || place->IsOfModelOf(state.place())) continue;
    return absl::InternalError(absl::StrCat("the order to go names state of a model in ",
                                            place->part.count, " parts and ", place->stage.count,
                                            " stages, and the ranks of this round have it in ",
                                            state.part().count, " and ", state.cut().stages()));
  }
  for (int i = 0; i < transfer.resume.replicas_size(); ++i) {
    if (transfer.resume.replicas(i).rank() != transfer.world.rank()) continue;
    const auto at = static_cast<size_t>(i);
    if (at >= transfer.stored.size() || transfer.stored[at] == nullptr) {
      return absl::InternalError("the order to go names a replica that this rank did not open");
    }
  }
  return absl::OkStatus();
}

// Moves one unit, part after part: all ranks make the same plans, in the same order.
absl::Status MoveParts(int unit, const Holding* next, Transfer& transfer,
                       std::vector<int64_t>& sent) {
  const UnitLayout& layout = transfer.state.units()[static_cast<size_t>(unit)].layout();
  const int own = transfer.state.part().index;
  const auto parts = static_cast<int>(layout.chunks_of_parts.size());
  for (int part = 0; part < parts; ++part) {
    MUSTER_ASSIGN_OR_RETURN(const UnitPlan plan, PlanUnit(layout, part, transfer, sent));
    MUSTER_RETURN_IF_ERROR(!layout.is_part || part == own ? MoveUnit(unit, plan, next, transfer)
                                                          : SendOtherPart(unit, plan, transfer));
  }
  return absl::OkStatus();
}

// Fills `next`, which this rank will hold, or, if it is null, the rest of what it holds.
absl::Status MoveSlices(const Holding* next, Transfer& transfer) {
  const TrainingState& state = transfer.state;
  std::vector<int64_t> sent(transfer.held.size());
  for (size_t u = 0; u < state.units().size(); ++u) {
    const absl::Status moved = MoveParts(static_cast<int>(u), next, transfer, sent);
    if (moved.ok()) continue;
    state.rests().Discard();
    transfer.world.Abort("the transfer of the state broke off");
    return moved;
  }
  (next == nullptr ? state.rests() : next->rests).Swap();
  return absl::OkStatus();
}

}  // namespace

CopyPlace PlaceOf(const MeshShape& mesh, int rank) {
  const MeshCoordinates at = mesh.CoordinatesOf(rank);
  return {.part = {at.tensor, mesh.tensor},
          .shard = {at.shard, mesh.shard},
          .stage = {at.pipeline, mesh.pipeline}};
}

absl::StatusOr<int64_t> TransferState(const v1alpha1::ResumePoint& resume, const MeshShape& mesh,
                                      Communicator& world, TrainingState& state,
                                      const StoredSlices& stored) {
  const int rank = world.rank();
  std::vector<CopyPlace> wanted;
  for (int r = 0; r < world.size(); ++r) wanted.push_back(PlaceOf(mesh, r));
  Transfer transfer = {.resume = resume,
                       .held = HeldPlaces(resume, world.size()),
                       .wanted = std::move(wanted),
                       .stored = stored,
                       .world = world,
                       .state = state};
  MUSTER_RETURN_IF_ERROR(CheckHoldings(transfer));
  for (const int receiver : resume.receivers()) {
    if (rank == resume.donor()) {
      MUSTER_RETURN_IF_ERROR(SendPosition(state, world, receiver));
    } else if (rank == receiver) {
      MUSTER_RETURN_IF_ERROR(ReceivePosition(resume.version(), resume.donor(), world, state));
    }
  }
  const Shard& mine = transfer.mine().shard;
  const int stage = transfer.mine().stage.index;
  if (!transfer.had()) MUSTER_RETURN_IF_ERROR(state.Divide(mine, stage));
  if (state.Holds(mine, stage)) {
    MUSTER_RETURN_IF_ERROR(MoveSlices(nullptr, transfer));
    return transfer.received;
  }
  MUSTER_ASSIGN_OR_RETURN(Holding next, state.MakeHolding(mine, stage));
  MUSTER_RETURN_IF_ERROR(MoveSlices(&next, transfer));
  state.Adopt(std::move(next));
  return transfer.received;
}

absl::Status GatherValues(Communicator& group, TrainingState& state) {
  SliceGather gather(group);
  StateRest& rest = *state.rests().weights;
  const int units = static_cast<int>(state.units().size());
  absl::Status status;
  for (int u = 0; u < units; ++u) {
    const Unit& unit = state.units()[static_cast<size_t>(u)];
    if (unit.layout().elements == 0) continue;
    unit.AllocateValues();
    if (status.ok()) status = rest.Bring(u);
    if (status.ok()) {
      status = gather.Start(unit.values(), unit.held().values, unit.layout().name);
    }
  }
  if (status.ok()) status = gather.Finish();
  for (int u = 0; u < units; ++u) rest.Drop(u);
  if (!status.ok()) group.Abort("the gathering of the values broke off");
  return status;
}

absl::Status CompareSpecs(uint64_t trajectory, Communicator& communicator) {
  const at::Tensor mine = ToTensor<int64_t>({static_cast<int64_t>(trajectory)});
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

}  // namespace muster::trainer
