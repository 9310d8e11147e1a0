#include "trainer/engine/store/state_copies.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/from_blob.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/version.h"
#include "trainer/engine/link/tensor_bytes.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/store/copy_folder.h"
#include "trainer/engine/store/counts_record.h"
#include "trainer/parallel/slices.h"

namespace muster::trainer {
namespace {

// Headers, manifest and documents beside the tensors, as the writer counts them.
constexpr int64_t kSlackBytes = int64_t{1} << 20;

// The state's flat tensors that have elements: a slice of a small unit may be empty.
std::vector<NamedTensor> TensorsOf(const TrainingState& state) {
  std::vector<NamedTensor> tensors = state.FlatTensors();
  std::erase_if(tensors, [](const NamedTensor& flat) { return flat.tensor.numel() == 0; });
  return tensors;
}

int64_t BytesIn(const std::vector<NamedTensor>& tensors) {
  int64_t bytes = 0;
  for (const NamedTensor& flat : tensors) bytes += static_cast<int64_t>(flat.tensor.nbytes());
  return bytes;
}

SnapshotTensor ToSnapshot(const NamedTensor& flat) {
  SnapshotTensor tensor;
  tensor.name = flat.name;
  tensor.group = TensorGroup::kOptimizer;
  tensor.type = TypeOf(flat.tensor);
  tensor.shape = {flat.tensor.numel()};
  if (flat.tensor.is_cpu()) {
    tensor.bytes = BytesOf(flat.tensor);
    return tensor;
  }
  tensor.read_bytes = flat.tensor.nbytes();
  tensor.read = [from = flat.tensor](std::span<std::byte> into) {
    return CatchTorch("copying the state to the host", [&]() -> absl::Status {
      at::from_blob(into.data(), from.sizes(), from.options().device(at::kCPU)).copy_(from);
      return absl::OkStatus();
    });
  };
  return tensor;
}

absl::Status Fill(const CheckpointReader& reader, const NamedTensor& flat) {
  at::Tensor host = flat.tensor;
  if (!host.is_cpu()) host = at::empty(host.sizes(), host.options().device(at::kCPU));
  auto* into = static_cast<std::byte*>(host.mutable_data_ptr());
  MUSTER_RETURN_IF_ERROR(
      reader.Read(flat.name, TypeOf(flat.tensor), {flat.tensor.numel()}, {into, host.nbytes()}));
  if (!flat.tensor.is_cpu()) flat.tensor.copy_(host);
  return absl::OkStatus();
}

std::vector<TensorRecord> RecordsOf(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorRecord> records;
  for (const NamedTensor& flat : tensors) {
    records.push_back({flat.name, TypeOf(flat.tensor), {flat.tensor.numel()}, {}});
  }
  return records;
}

RunRecord RecordOf(const TrainingState& state, const v1alpha1::RoundId& round,
                   const StateCopies::Job& job) {
  RunRecord record;
  record.job = job.name;
  record.job_uid = job.uid;
  record.history = state.commit().history();
  record.step = state.applied()->step();
  record.attempt = state.applied()->attempt();
  record.term = round.term();
  record.round = round.round();
  WriteCounts(state, record);
  record.seed = state.options().seed;
  record.layout = LayoutOfCopy(state.place(), ChunksOf(state.cut()));
  return record;
}

}  // namespace

StateCopies::StateCopies(Files& files, const Clock& clock, std::string folder, Job job)
    : files_(files),
      folder_(std::move(folder)),
      job_(std::move(job)),
      writer_(files, clock, {.uri = folder_, .prune = false},
              [this](const v1alpha1::CheckpointReport& report) {
                if (report.phase() == v1alpha1::CheckpointReport::STARTED) return;
                complete_ = report.phase() == v1alpha1::CheckpointReport::WRITTEN;
                if (complete_) return;
                MUSTER_LOG(ERROR, "could not copy the state in memory; training goes on",
                           {"step", report.version().step()}, {"error", report.error()});
              }) {}

std::vector<v1alpha1::StateCopy> StateCopies::List() {
  Await();
  std::vector<v1alpha1::StateCopy> copies = ListCopies(files_, folder_, job_.uid, job_.chunks);
  std::erase_if(copies, [&](const v1alpha1::StateCopy& copy) {
    return !failed_.IsOffered(PathOf(copy.version().step()));
  });
  return copies;
}

std::string StateCopies::PathOf(int64_t step) const {
  return JoinPath(folder_, CheckpointName(step));
}

bool StateCopies::Has(const v1alpha1::Version& version) {
  const std::vector<v1alpha1::StateCopy> copies = List();
  return std::any_of(copies.begin(), copies.end(),
                     [&](const auto& copy) { return Same(copy.version(), version); });
}

void StateCopies::Expect(const TrainingState& state) {
  writer_.Expect(static_cast<size_t>(BytesIn(TensorsOf(state))));
}

void StateCopies::BeginRound(const TrainingState& state) {
  begun_in_round_ = false;
  newest_.reset();
  complete_ = true;
  std::vector<std::string> kept;
  for (const v1alpha1::StateCopy& copy : List()) {
    const v1alpha1::Version& version = copy.version();
    const bool of_this_place = ToPlace(copy.slice()) == state.place();
    if (Same(version, *state.applied()) && !of_this_place) continue;
    if (copy.history() == state.commit().history() && version.step() <= state.applied()->step() &&
        version.attempt() <= state.applied()->attempt()) {
      kept.push_back(CheckpointName(version.step()));
      if (!newest_) newest_ = version;
    }
  }
  RemoveAllBut(kept);
}

void StateCopies::RemoveAllBut(const std::vector<std::string>& kept) {
  const auto entries = files_.List(folder_);
  if (!entries.ok()) return;  // nothing was copied yet
  for (const DirectoryEntry& entry : *entries) {
    if (std::count(kept.begin(), kept.end(), entry.name) > 0) continue;
    const absl::Status removed = RemoveAll(files_, JoinPath(folder_, entry.name));
    if (!removed.ok()) MUSTER_LOG(WARN, "could not remove an old copy", {"error", removed});
  }
}

void StateCopies::Await() { writer_.WaitIdle(absl::InfiniteFuture()).IgnoreError(); }

absl::Status StateCopies::Save(const TrainingState& state, const v1alpha1::RoundId& round) {
  Await();
  // Only a copy of this round is known to be complete on the other ranks, too.
  const size_t keep = begun_in_round_ && complete_ ? 1 : 2;
  std::vector<std::string> kept;
  for (const v1alpha1::StateCopy& copy : List()) {
    if (kept.size() < keep) kept.push_back(CheckpointName(copy.version().step()));
  }
  RemoveAllBut(kept);
  Snapshot snapshot;
  snapshot.run = RecordOf(state, round, job_);
  for (const NamedTensor& flat : TensorsOf(state)) snapshot.tensors.push_back(ToSnapshot(flat));
  failed_.Forget(PathOf(state.applied()->step()));
  complete_ = false;
  newest_ = *state.applied();
  begun_in_round_ = true;
  MUSTER_RETURN_IF_ERROR(writer_.Begin(snapshot));
  // A device is read in the order of its own work.
  const bool deferred = state.announces_changes() && state.options().device.is_cpu();
  if (!deferred) writer_.FinishCopy();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> StateCopies::Load(const v1alpha1::Version& version, TrainingState& state) {
  Await();
  const std::string path = PathOf(version.step());
  absl::StatusOr<int64_t> loaded = LoadFrom(path, version, state);
  if (loaded.ok()) {
    failed_.Forget(path);
  } else {
    failed_.Note(files_, path, loaded.status(), /*owned=*/true);
  }
  return loaded;
}

absl::StatusOr<int64_t> StateCopies::LoadFrom(const std::string& path,
                                              const v1alpha1::Version& version,
                                              TrainingState& state) {
  MUSTER_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files_, path));
  const RunRecord& run = reader->manifest().run;
  const std::optional<CopyPlace> place = PlaceOfCopy(run, ChunksOf(state.cut()));
  if (run.step != version.step() || run.attempt != version.attempt() || !place ||
      !place->IsOfPartOf(state.place())) {
    return absl::NotFoundError(absl::StrCat(path, ": is no copy of ", ToText(version)));
  }
  MUSTER_RETURN_IF_ERROR(state.Divide(place->shard, place->stage.index));
  const std::vector<NamedTensor> tensors = TensorsOf(state);
  MUSTER_RETURN_IF_ERROR(CheckTensors(reader->manifest(), RecordsOf(tensors)));
  for (const NamedTensor& flat : tensors) MUSTER_RETURN_IF_ERROR(Fill(*reader, flat));
  state.set_counts(ReadCounts(run, state.options()));
  return BytesIn(tensors);
}

int64_t StateCopies::RoomFor(const TrainingState& state) {
  return 3 * (BytesIn(TensorsOf(state)) + kSlackBytes);
}

}  // namespace muster::trainer
