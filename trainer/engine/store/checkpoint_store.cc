#include "trainer/engine/store/checkpoint_store.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/Version.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "c10/util/accumulate.h"
#include "torch/version.h"
#include "trainer/checkpoint/abandon.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/layout.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/engine/link/tensor_bytes.h"
#include "trainer/engine/store/counts_record.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

constexpr size_t kMostPerHistory = 16;
constexpr size_t kMostListed = 64;

// Returns the box that the rank's part of the model has of a tensor.
TensorBox BoxOf(const TensorPart& part) {
  if (!part.is_part()) return {};
  PartBox box = BoxOfPart(part.shape, part.partition, part.part);
  if (box.view == part.shape) box.view.clear();
  return {std::move(box.view), std::move(box.start), std::move(box.lengths)};
}

// Returns the same as stripes of the tensor.
Stripes StripesOf(const TensorPart& part) {
  const PartStripes stripes = StripesOfPart(part.shape, part.partition, part.part);
  return {.begin = static_cast<uint64_t>(stripes.begin),
          .stride = static_cast<uint64_t>(stripes.stride),
          .length = static_cast<uint64_t>(stripes.length)};
}

// Returns what this rank holds of some tensors, which may be nothing of some. What rests elsewhere,
// or is on a device, is read from there when it is saved.
std::vector<SnapshotTensor> TensorsOfParts(const TrainingState& state,
                                           std::vector<TensorPart> parts) {
  std::vector<SnapshotTensor> out;
  for (TensorPart& part : parts) {
    const int64_t count = part.elements.numel();
    SnapshotTensor& tensor = out.emplace_back();
    tensor.box = BoxOf(part);
    const std::vector<int64_t>& all = tensor.box.whole() ? part.shape : tensor.box.lengths;
    const bool whole = count == c10::multiply_integers(all);
    tensor.name = part.name;
    tensor.group = part.of_optimizer ? TensorGroup::kOptimizer : TensorGroup::kModel;
    tensor.type = TypeOf(part.elements);
    tensor.shape = part.shape;
    tensor.begin = static_cast<uint64_t>(part.begin);
    tensor.count = whole ? 0 : static_cast<uint64_t>(count);
    if (count == 0 || (HasMemory(part.elements) && part.elements.is_cpu())) {
      tensor.bytes = BytesOf(part.elements);
      continue;
    }
    tensor.read_bytes = part.elements.nbytes();
    tensor.read = [&state, part = std::move(part)](std::span<std::byte> into) {
      return state.ReadPart(part, into);
    };
  }
  return out;
}

// The tensors that a writer saves.
struct WritersShare {
  std::vector<SnapshotTensor> tensors;
  uint64_t largest = 0;  // bytes, at most, of the writer that has the most
};

// Shares the parts among `writers` that all have them, and appends those of `writer`.
void TakeShare(const TrainingState& state, std::vector<TensorPart> parts, int writer, int writers,
               WritersShare& out) {
  std::vector<SnapshotTensor> tensors = TensorsOfParts(state, std::move(parts));
  std::vector<uint64_t> sizes;
  for (const SnapshotTensor& tensor : tensors) sizes.push_back(tensor.size());
  const std::vector<int> owners = AssignWriters(sizes, writers);
  std::vector<uint64_t> loads(static_cast<size_t>(writers));
  for (size_t i = 0; i < tensors.size(); ++i) {
    loads[static_cast<size_t>(owners[i])] += sizes[i];
    if (owners[i] == writer && sizes[i] > 0) out.tensors.push_back(std::move(tensors[i]));
  }
  out.largest += *std::max_element(loads.begin(), loads.end());
}

// The parts of tensors that the same writers have.
struct SameWriters {
  bool every_shard = false;       // the ranks of all shards
  bool every_model_part = false;  // the ranks of all parts of the model
  std::vector<TensorPart> parts;
};

void Add(TensorPart part, bool every_shard, std::vector<SameWriters>& out) {
  if (part.of_first_stage) return;  // which saves it
  const bool every_model_part = !part.is_part();
  for (SameWriters& same : out) {
    if (same.every_shard != every_shard || same.every_model_part != every_model_part) continue;
    same.parts.push_back(std::move(part));
    return;
  }
  out.push_back({every_shard, every_model_part, {std::move(part)}});
}

// Returns the tensors that this writer saves. Writers are numbered as ranks: by stage, then data,
// then shard, then context, then part of the model. Those along data and context have the same.
WritersShare ShareOf(const TrainingState& state, const CheckpointWriterId& writer) {
  const int shards = state.shard().count, model_parts = state.part().count;
  const int copies = writer.world_size / state.place().count(), data = copies / writer.context;
  const int group = writer.rank / model_parts;
  const int copy =
      group / (writer.context * shards) % data * writer.context + group % writer.context;
  const bool values_whole = shards == 1 || (!state.divides_values() && !writer.after_round);
  std::vector<SameWriters> all;
  for (TensorPart& part : state.ValueParts(writer.after_round)) {
    Add(std::move(part), values_whole, all);
  }
  for (TensorPart& part : state.OptimizerParts()) Add(std::move(part), shards == 1, all);
  WritersShare out;
  for (SameWriters& same : all) {
    int index = copy, count = copies;
    if (same.every_shard) {
      index = index * shards + state.shard().index;
      count *= shards;
    }
    if (same.every_model_part) {
      index = index * model_parts + state.part().index;
      count *= model_parts;
    }
    TakeShare(state, std::move(same.parts), index, count, out);
  }
  return out;
}

std::string TokenizerChecksum(const RunIdentity& identity) {
  return identity.tokenizer_json.empty() ? "" : ToHex(Hash64(identity.tokenizer_json));
}

// Returns the config.json that transformers reads beside the weights. transformers takes the
// released model's own for an id that is missing, which a smaller vocabulary does not have; null
// means no id.
absl::StatusOr<Json> HuggingFaceConfig(const TrainingState& state, const RunIdentity& identity) {
  MUSTER_ASSIGN_OR_RETURN(Json config, ParseJson(state.model().config_json));
  const bool wide = state.options().types.parameters == at::kDouble;
  config["torch_dtype"] = wide ? "float64" : "float32";
  const Json end = identity.end_of_text ? Json(*identity.end_of_text) : Json();
  // A document begins where another ends.
  config["bos_token_id"] = end;
  config["eos_token_id"] = end;
  return config;
}

ClaimOwner OwnerOf(const RunIdentity& identity) { return {identity.job, identity.job_uid}; }

RoundMark MarkOf(const RunIdentity& identity, const v1alpha1::RoundId& round) {
  return {.job_uid = identity.job_uid, .term = round.term(), .round = round.round()};
}

// Returns every tensor of the model's state, as a whole, those of other stages included.
std::vector<TensorRecord> RecordsOf(const TrainingState& state) {
  const DataType type = DataTypeOf(state.options().types.parameters);
  std::map<std::string, TensorRecord> records;
  for (const auto& block : state.model().blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      records.try_emplace(spec.name, TensorRecord{spec.name, type, spec.shape, {}});
      for (const std::string& of_optimizer : state.optimizer().state_names()) {
        const std::string name = absl::StrCat(spec.name, ".", of_optimizer);
        records.try_emplace(name, TensorRecord{name, type, spec.shape, {}});
      }
    }
  }
  std::vector<TensorRecord> out;
  for (auto& [name, record] : records) out.push_back(std::move(record));
  return out;
}

// Returns true if the part has the bytes of the checkpoint, which are read a piece at a time.
absl::StatusOr<bool> HasBytes(const CheckpointReader& reader, const TrainingState& state,
                              const TensorPart& part) {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  if (part.elements.numel() == 0) return true;
  std::vector<std::byte> copy;
  std::span<const std::byte> mine;
  if (HasMemory(part.elements) && part.elements.is_cpu()) {
    mine = BytesOf(part.elements);
  } else {
    copy.resize(part.elements.nbytes());
    MUSTER_RETURN_IF_ERROR(state.ReadPart(part, copy));
    mine = copy;
  }
  std::vector<std::byte> piece;
  const size_t element = part.elements.element_size();
  for (size_t at = 0; at < mine.size(); at += piece.size()) {
    piece.resize(std::min(kPieceBytes, mine.size() - at));
    const uint64_t begin = static_cast<uint64_t>(part.begin) + at / element;
    MUSTER_RETURN_IF_ERROR(reader.ReadStripes(part.name, TypeOf(part.elements), part.shape,
                                              StripesOf(part), begin, piece));
    if (!std::equal(piece.begin(), piece.end(), mine.begin() + static_cast<std::ptrdiff_t>(at))) {
      return false;
    }
  }
  return true;
}

// Returns true if a checkpoint that could not be read is damaged for good.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsOutOfRange(status);
}

}  // namespace

Json DeterminismRecord(const TrainingOptions& options) {
  return {{"generator", "philox4x32-10"},     {"deterministic", options.deterministic},
          {"threads", at::get_num_threads()}, {"instructionSet", at::get_cpu_capability()},
          {"torch", TORCH_VERSION},           {"microBatch", options.micro_batch},
          {"sequence", options.sequence}};
}

CheckpointStore::CheckpointStore(Files& files, const Clock& clock, std::string uri, int keep,
                                 RunIdentity identity, Outbox& outbox, int cpu)
    : files_(files),
      clock_(clock),
      uri_(std::move(uri)),
      identity_(std::move(identity)),
      writer_(files, clock, {.uri = uri_, .owner = OwnerOf(identity_), .keep = keep, .cpu = cpu},
              ReportTo(outbox)) {}

// Only the first rank's writer reports to the agent: other ranks' shares are no checkpoints.
CheckpointWriter::Report CheckpointStore::ReportTo(Outbox& outbox) {
  return [this, &outbox](const v1alpha1::CheckpointReport& report) {
    if (!is_first_) return;
    if (report.phase() == v1alpha1::CheckpointReport::WRITTEN) {
      MutexLock lock(mu_);
      durable_ = report.version();
    }
    v1alpha1::FromTrainer message;
    *message.mutable_checkpoint() = report;
    outbox.Send(message);
  };
}

absl::Status CheckpointStore::Claim() {
  return ClaimCheckpoints(files_, uri_, OwnerOf(identity_), Takeover::kFromEarlierJob);
}

absl::Status CheckpointStore::WriteMark(const v1alpha1::RoundId& round) {
  return WriteRoundMark(files_, uri_, MarkOf(identity_, round));
}

absl::Status CheckpointStore::FindMark(const v1alpha1::RoundId& round) {
  return FindRoundMark(files_, uri_, MarkOf(identity_, round));
}

std::optional<v1alpha1::Version> CheckpointStore::Durable() {
  MutexLock lock(mu_);
  return durable_;
}

Checkpoints::Listing CheckpointStore::List(const TrainingState& state) {
  Listing out;
  // A file holds no checkpoints; the first attempt to write reports the mistake.
  const absl::StatusOr<FileInfo> info = files_.Stat(uri_);
  if (info.ok() && info->kind != FileKind::kDirectory) return out;
  const auto listings = ListCheckpoints(files_, uri_);
  if (!listings.ok()) {
    out.error = std::string(listings.status().message());
    return out;
  }
  std::map<std::string, size_t> listed_by_history;
  for (const CheckpointListing& listing : *listings) {
    if (listing.unreadable) out.error = absl::StrCat(listing.directory, ": ", listing.problem);
    if (!listing.complete || out.complete.size() == kMostListed) continue;
    // Checkpoints of a run that was given up must not hide the others.
    if (++listed_by_history[listing.history] > kMostPerHistory) continue;
    const absl::StatusOr<std::string> mismatch = Mismatch(listing, state);
    if (!mismatch.ok()) out.error = std::string(mismatch.status().message());
    v1alpha1::CheckpointRef& ref = out.complete.emplace_back();
    ref.set_directory(listing.directory);
    ref.mutable_version()->set_step(listing.step);
    ref.mutable_version()->set_attempt(listing.attempt);
    ref.set_history(std::string(HistoryName(listing.history)));
    ref.set_mismatch(mismatch.value_or(""));
  }
  return out;
}

// Returns the reason that `state` cannot be loaded from the checkpoint; empty if it can, or if
// loading will show that it is damaged. Returns an error if the reason could not be found out.
absl::StatusOr<std::string> CheckpointStore::Mismatch(const CheckpointListing& listing,
                                                      const TrainingState& state) {
  const std::string key = absl::StrCat(listing.directory, " ", listing.job_uid, " ", listing.term,
                                       " ", listing.round, " ", listing.attempt);
  if (const auto known = mismatches_.find(key); known != mismatches_.end()) return known->second;
  const auto reader = CheckpointReader::Open(files_, JoinPath(uri_, listing.directory));
  if (IsDamage(reader.status())) return std::string();
  // Another program can load it.
  if (absl::IsUnimplemented(reader.status())) return std::string(reader.status().message());
  MUSTER_RETURN_IF_ERROR(reader.status());
  const absl::Status usable = CheckUsable((*reader)->manifest(), state);
  return mismatches_[key] = std::string(usable.message());
}

absl::Status CheckpointStore::CheckUsable(const Manifest& manifest,
                                          const TrainingState& state) const {
  const RunRecord& run = manifest.run;
  MUSTER_ASSIGN_OR_RETURN(const Json model, ParseJson(state.model().config_json));
  MUSTER_RETURN_IF_ERROR(
      CheckCompatible(run, model, identity_.vocabulary, TokenizerChecksum(identity_)));
  if (!run.data_checksum.empty() && run.data_checksum != identity_.data_checksum) {
    return absl::FailedPreconditionError(
        "the checkpoint was trained on other data: its training tokens differ from this run's");
  }
  return CheckTensors(manifest, RecordsOf(state));
}

absl::Status CheckpointStore::SetAside(const TrainingState& state, const v1alpha1::RoundId& round) {
  RunRecord run;
  run.job_uid = identity_.job_uid;
  run.history = state.commit().history();
  run.step = state.applied()->step();
  run.term = round.term();
  run.round = round.round();
  return trainer::SetAside(files_, uri_, run);
}

absl::StatusOr<RunRecord> CheckpointStore::Record(const TrainingState& state,
                                                  const CheckpointWriterId& writer) const {
  const TrainingOptions& options = state.options();
  RunRecord record;
  record.job = identity_.job;
  record.job_uid = identity_.job_uid;
  record.history = state.commit().history();
  record.step = state.applied()->step();
  record.attempt = state.applied()->attempt();
  record.term = writer.round.term();
  record.round = writer.round.round();
  WriteCounts(state, record);
  record.writers = writer.world_size;
  record.after_round = writer.after_round;
  record.seed = options.seed;
  record.vocabulary = identity_.vocabulary;
  record.tokenizer_checksum = TokenizerChecksum(identity_);
  record.data_checksum = identity_.data_checksum;
  record.created = absl::FormatTime(absl::RFC3339_sec, clock_.Wall(), absl::UTCTimeZone());
  const int shards = state.shard().count, model_parts = state.part().count;
  record.layout = {{"data", writer.world_size / state.place().count() / writer.context}};
  if (shards > 1) record.layout["shard"] = shards;
  if (writer.context > 1) record.layout["context"] = writer.context;
  if (model_parts > 1) record.layout["tensor"] = model_parts;
  if (state.cut().stages() > 1) record.layout["pipeline"] = state.cut().stages();
  MUSTER_ASSIGN_OR_RETURN(record.model, HuggingFaceConfig(state, identity_));
  record.random = DeterminismRecord(options);
  return record;
}

void CheckpointStore::Expect(const TrainingState& state, const CheckpointWriterId& writer) {
  writer_.Expect(CopyBytes(ShareOf(state, writer).tensors));
}

absl::Status CheckpointStore::Save(const TrainingState& state, const CheckpointWriterId& writer) {
  Snapshot snapshot;
  MUSTER_ASSIGN_OR_RETURN(snapshot.run, Record(state, writer));
  snapshot.writer = writer.rank;
  WritersShare share = ShareOf(state, writer);
  snapshot.tensors = std::move(share.tensors);
  snapshot.largest_share = share.largest;
  if (!identity_.tokenizer_json.empty()) {
    snapshot.documents["tokenizer.json"] = identity_.tokenizer_json;
  }
  is_first_ = writer.rank == 0;
  MUSTER_RETURN_IF_ERROR(writer_.Begin(snapshot));
  // Memory of state that rests elsewhere comes and goes within a step, and a device is read in the
  // order of its own work.
  const OffloadOptions& offload = state.options().offload;
  const bool deferred = state.announces_changes() && state.options().device.is_cpu();
  if (!deferred || offload.optimizer || offload.weights) writer_.FinishCopy();
  return absl::OkStatus();
}

absl::StatusOr<bool> CheckpointStore::TakeShard(const TrainingState& state,
                                                const v1alpha1::RoundId& round) {
  const RunRecord run = RecordAfter(state, round);
  const absl::Status taken =
      ClaimShare(files_, JoinPath(uri_, PartialName(files_, run)), state.place().index());
  if (absl::IsAlreadyExists(taken)) return false;
  MUSTER_RETURN_IF_ERROR(taken);
  return true;
}

// The round may have completed its own checkpoint of this step before it broke.
bool CheckpointStore::IsComplete(const TrainingState& state, const v1alpha1::RoundId& round) {
  RunRecord run = RecordAfter(state, round);
  for (const bool after_round : {false, true}) {
    run.after_round = after_round;
    const CheckpointListing there =
        InspectCheckpoint(files_, JoinPath(uri_, FinalName(files_, run)));
    if (!there.complete || there.job_uid != run.job_uid || there.attempt != run.attempt ||
        HistoryName(there.history) != HistoryName(run.history)) {
      continue;
    }
    MutexLock lock(mu_);
    durable_ = *state.applied();
    return true;
  }
  return false;
}

// Returns what names the checkpoint of the applied version that the ranks left of `round` save.
RunRecord CheckpointStore::RecordAfter(const TrainingState& state,
                                       const v1alpha1::RoundId& round) const {
  RunRecord run;
  run.job_uid = identity_.job_uid;
  run.history = state.commit().history();
  run.step = state.applied()->step();
  run.attempt = state.applied()->attempt();
  run.term = round.term();
  run.round = round.round();
  run.after_round = true;
  return run;
}

std::optional<SaveUnderway> CheckpointStore::Underway() {
  const auto underway = writer_.underway();
  if (!underway) return std::nullopt;
  return SaveUnderway{underway->step, clock_.Monotonic() - underway->begun, files_.trouble()};
}

bool CheckpointStore::WaitIdle(absl::Duration timeout) {
  if (timeout == absl::ZeroDuration()) return !writer_.busy();
  return writer_.WaitIdle(clock_.Monotonic() + timeout).ok();
}

absl::StatusOr<bool> CheckpointStore::Holds(const v1alpha1::CheckpointRef& checkpoint,
                                            const TrainingState& state) {
  MUSTER_ASSIGN_OR_RETURN(const auto reader,
                          CheckpointReader::Open(files_, JoinPath(uri_, checkpoint.directory())));
  MUSTER_RETURN_IF_ERROR(CheckUsable(reader->manifest(), state));
  bool holds = ReadCounts(reader->manifest().run, state.options()) == state.counts();
  for (const auto& parts : {state.ValueParts(), state.OptimizerParts()}) {
    for (const TensorPart& part : parts) {
      if (!holds) return false;
      MUSTER_ASSIGN_OR_RETURN(holds, HasBytes(*reader, state, part));
    }
  }
  return holds;
}

absl::StatusOr<v1alpha1::Version> CheckpointStore::Load(const v1alpha1::CheckpointRef& checkpoint,
                                                        TrainingState& state) {
  const std::string path = JoinPath(uri_, checkpoint.directory());
  absl::StatusOr<v1alpha1::Version> loaded = LoadFrom(path, state);
  if (IsDamage(loaded.status())) {
    if (absl::IsNotFound(files_.Stat(path).status())) {
      return absl::UnavailableError(absl::StrCat(path, ": was deleted after it was listed"));
    }
    return absl::DataLossError(loaded.status().message());
  }
  if (loaded.ok()) {
    MutexLock lock(mu_);
    durable_ = *loaded;
  }
  return loaded;
}

absl::StatusOr<v1alpha1::Version> CheckpointStore::LoadFrom(const std::string& path,
                                                            TrainingState& state) {
  MUSTER_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files_, path));
  const RunRecord& run = reader->manifest().run;
  MUSTER_RETURN_IF_ERROR(CheckUsable(reader->manifest(), state));
  if (state.options().deterministic && run.random != DeterminismRecord(state.options())) {
    MUSTER_LOG(
        WARN,
        "resuming within tolerance, not bitwise: the checkpoint was saved under other settings",
        {"saved", DumpJson(run.random)}, {"here", DumpJson(DeterminismRecord(state.options()))});
  }
  for (const auto& parts : {state.ValueParts(), state.OptimizerParts()}) {
    for (const TensorPart& part : parts) {
      MUSTER_RETURN_IF_ERROR(state.FillPart(part, [&](const at::Tensor& elements) {
        auto* into = static_cast<std::byte*>(elements.mutable_data_ptr());
        return reader->ReadStripes(part.name, TypeOf(elements), part.shape, StripesOf(part),
                                   static_cast<uint64_t>(part.begin), {into, elements.nbytes()});
      }));
    }
  }
  state.EndFill();
  v1alpha1::Version version;
  version.set_step(run.step);
  version.set_attempt(run.attempt);
  state.set_counts(ReadCounts(run, state.options()));
  return version;
}

}  // namespace muster::trainer
