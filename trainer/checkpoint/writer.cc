#include "trainer/checkpoint/writer.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/failpoint.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/layout.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/shared_copy.h"

namespace muster::trainer {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
// In an object store each look is a request for each writer that is missing.
constexpr absl::Duration kStorePollInterval = absl::Milliseconds(500);
// The most memory made ready at once, which a save that comes early has to wait for.
constexpr size_t kPopulateBytes = size_t{16} << 20;
// Space for headers, manifest and documents on top of the tensors.
constexpr uint64_t kSlackBytes = 1 << 20;
// A store may be so fast for a small share only, which its caches take.
constexpr double kFastBytesPerSecond = 200e6;
// Other writers share the store, and may begin later.
constexpr double kPatience = 4;
// The lowest level of the best-effort class (in the kernel's encoding; C libraries have no name for
// it).
constexpr int kLowestIoPriority = (2 << 13) | 7;

// Puts the calling thread below the ranks' own threads, so that a save takes idle time only: it
// never preempts one when it wakes, and its reads and writes wait behind theirs. It does not use
// the idle class, in which a machine with a rank on every core would never finish a save. From now
// on the thread runs on core `cpu` only; -1: anywhere.
void LowerPriority(int cpu) {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
  syscall(SYS_ioprio_set, /*IOPRIO_WHO_PROCESS*/ 1, gettid(), kLowestIoPriority);
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

absl::Duration CollectTime(uint64_t largest, uint64_t bytes, absl::Duration took) {
  const double seconds = absl::ToDoubleSeconds(took);
  double rate = kFastBytesPerSecond;
  if (bytes > 0 && seconds > 0) rate = std::min(rate, static_cast<double>(bytes) / seconds);
  return absl::Seconds(kPatience * static_cast<double>(std::max(largest, bytes)) / rate);
}

struct CheckpointWriter::Job {
  Snapshot snapshot;  // its tensors' bytes lie in `memory` once `copy` is finished
  const std::shared_ptr<SharedCopy> copy = std::make_shared<SharedCopy>();
  HostBuffer memory;
  std::string partial;  // path
  absl::Time begun, share_written;
  absl::Duration collect_within;
  std::atomic<double> stall_seconds = 0.0;  // for which training waited, or copied itself
  bool collecting = false;
  Manifest manifest;          // so far
  std::vector<bool> arrived;  // by writer

  const RunRecord& run() const { return snapshot.run; }
};

CheckpointWriter::CheckpointWriter(Files& files, const Clock& clock, WriterOptions options,
                                   Report report)
    : files_(files),
      clock_(clock),
      options_(std::move(options)),
      report_(std::move(report)),
      keep_(options_.keep) {
  if (options_.start_thread) {
    thread_ = std::thread([this] {
      LowerPriority(options_.cpu);
      Loop();
    });
  }
}

CheckpointWriter::~CheckpointWriter() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::Expect(size_t bytes) {
  MutexLock lock(mu_);
  if (bytes > buffer_.size()) unready_ = bytes;
  changed_.NotifyAll();
}

absl::Status CheckpointWriter::Begin(const Snapshot& snapshot) {
  MUSTER_RETURN_IF_ERROR(CheckSnapshot(snapshot));
  auto job = std::make_unique<Job>();
  {
    MutexLock lock(mu_);
    if (job_ != nullptr && job_->collecting && !running_ &&
        job_->run().round < snapshot.run.round) {
      given_up_.push_back(std::move(job_));
    }
    if (job_ != nullptr || running_) {
      return absl::UnavailableError("checkpoint: the previous one is still being written");
    }
    unready_ = 0;
    while (populating_) changed_.Wait(mu_);
    running_ = true;
    job->memory = std::move(buffer_);
  }
  job->begun = clock_.Monotonic();
  const absl::Status planned = PlanCopy(snapshot, *job);
  job->stall_seconds = absl::ToDoubleSeconds(clock_.Monotonic() - job->begun);
  MutexLock lock(mu_);
  running_ = false;
  abandon_ = false;
  if (planned.ok()) job_ = std::move(job);
  changed_.NotifyAll();
  return planned;
}

void CheckpointWriter::FinishCopy() {
  std::shared_ptr<SharedCopy> copy;
  {
    MutexLock lock(mu_);
    if (job_ != nullptr) copy = job_->copy;
  }
  if (copy == nullptr) return;
  const absl::Time begun = clock_.Monotonic();
  copy->Finish();
  MutexLock lock(mu_);
  if (job_ == nullptr || job_->copy != copy) return;
  job_->stall_seconds += absl::ToDoubleSeconds(clock_.Monotonic() - begun);
}

absl::Status CheckpointWriter::PlanCopy(const Snapshot& snapshot, Job& job) const {
  job.snapshot = snapshot;
  job.partial = JoinPath(options_.uri, PartialName(files_, snapshot.run));
  MUSTER_RETURN_IF_ERROR(job.memory.Reserve(CopyBytes(snapshot.tensors)));
  return CopyTensors(job.snapshot.tensors, job.memory.data(), *job.copy);
}

bool CheckpointWriter::busy() const {
  MutexLock lock(mu_);
  return job_ != nullptr || running_;
}

std::optional<CheckpointWriter::Underway> CheckpointWriter::underway() const {
  MutexLock lock(mu_);
  if (job_ == nullptr) return std::nullopt;
  return Underway{job_->run().step, job_->begun};
}

absl::Status CheckpointWriter::WaitIdle(absl::Time deadline) {
  MutexLock lock(mu_);
  while (job_ != nullptr || running_) {
    const absl::Duration left = deadline - clock_.Monotonic();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("checkpoint: still being written");
    }
    changed_.WaitFor(mu_, std::min(left, kPollInterval));
  }
  return absl::OkStatus();
}

void CheckpointWriter::Abandon() {
  MutexLock lock(mu_);
  abandon_ = true;
  changed_.NotifyAll();
}

bool CheckpointWriter::RunOnce() {
  std::vector<std::unique_ptr<Job>> given_up;
  Job* job = nullptr;
  bool abandon = false;
  {
    MutexLock lock(mu_);
    given_up = std::move(given_up_);
    given_up_.clear();
    if (job_ != nullptr && !running_) {
      job = job_.get();
      running_ = true;
      abandon = abandon_ && job->collecting;
      abandon_ = abandon_ && !job->collecting;
    }
  }
  for (const auto& old : given_up) LastLook(*old);
  if (job == nullptr) return PopulateSome() || !given_up.empty();
  const Progress progress = abandon ? LastLook(*job) : Advance(*job);
  MutexLock lock(mu_);
  running_ = false;
  if (progress == Progress::kDone) {
    buffer_ = std::move(job_->memory);
    job_.reset();
  }
  changed_.NotifyAll();
  return progress != Progress::kWaiting || !given_up.empty();
}

bool CheckpointWriter::PopulateSome() {
  HostBuffer buffer;
  size_t wanted = 0;
  {
    MutexLock lock(mu_);
    if (unready_ == 0 || job_ != nullptr || running_) return false;
    populating_ = true;
    wanted = unready_;
    buffer = std::move(buffer_);
  }
  const bool more = buffer.Reserve(wanted).ok() && buffer.Populate(kPopulateBytes);
  MutexLock lock(mu_);
  populating_ = false;
  buffer_ = std::move(buffer);
  if (!more && unready_ == wanted) unready_ = 0;
  changed_.NotifyAll();
  return true;
}

// All shares may be there although the round is over: then it is a checkpoint like any other.
CheckpointWriter::Progress CheckpointWriter::LastLook(Job& job) {
  if (Advance(job) == Progress::kWaiting) {
    Finish(job, absl::AbortedError(
                    "given up: its round ended before all ranks had written their shares"));
  }
  return Progress::kDone;
}

CheckpointWriter::Progress CheckpointWriter::Advance(Job& job) {
  if (!job.collecting) {
    job.copy->Finish();
    SendReport(job, v1alpha1::CheckpointReport::STARTED, "");
    const absl::Time begun = clock_.Monotonic();
    const absl::Status written = WriteShare(job);
    if (!written.ok() || job.snapshot.writer != 0) {
      Finish(job, written);
      return Progress::kDone;
    }
    job.collecting = true;
    job.share_written = clock_.Monotonic();
    job.collect_within = options_.collect_margin + CollectTime(job.snapshot.largest_share,
                                                               CopyBytes(job.snapshot.tensors),
                                                               job.share_written - begun);
    return Progress::kMoved;
  }
  const absl::StatusOr<bool> all = Collect(job);
  if (all.ok() && !*all) return Progress::kWaiting;
  Finish(job, all.ok() ? Complete(job) : all.status());
  return Progress::kDone;
}

absl::Status CheckpointWriter::WriteGroup(Job& job, TensorGroup group) {
  std::vector<TensorView> views;
  std::map<std::string, const SnapshotTensor*> by_name;
  for (const SnapshotTensor& tensor : job.snapshot.tensors) {
    if (tensor.group != group) continue;
    // A part of a tensor is stored flat; only the manifest records its place in the whole.
    std::vector<int64_t> shape = tensor.shape;
    if (tensor.count != 0) shape = {static_cast<int64_t>(tensor.count)};
    if (tensor.count == 0 && !tensor.box.whole()) shape = tensor.box.lengths;
    views.push_back({tensor.name, tensor.type, std::move(shape), tensor.bytes});
    by_name[tensor.name] = &tensor;
  }
  if (views.empty()) return absl::OkStatus();
  const std::string name = ShareName(Name(group), job.snapshot.writer, job.run().writers);
  MUSTER_ASSIGN_OR_RETURN(const WrittenSafetensors written,
                          WriteSafetensors(files_, JoinPath(job.partial, name), views,
                                           {{"format", "pt"}}, options_.piece_bytes));
  job.manifest.files.push_back({name, written.bytes, written.checksum});
  for (const WrittenTensor& tensor : written.tensors) {
    const SnapshotTensor& from = *by_name.at(tensor.stored.name);
    TensorSlice slice;
    slice.file = name;
    slice.offset = tensor.stored.offset;
    slice.box = from.box;
    slice.begin = from.begin;
    slice.count = from.bytes.size() / ElementBytes(from.type);
    slice.checksums = tensor.checksums;
    job.manifest.tensors.push_back({from.name, from.type, from.shape, {slice}});
  }
  return absl::OkStatus();
}

absl::Status CheckpointWriter::WriteShare(Job& job) {
  job.manifest.run = job.run();
  job.manifest.piece_bytes = options_.piece_bytes;
  uint64_t needed = kSlackBytes;
  for (const SnapshotTensor& tensor : job.snapshot.tensors) needed += tensor.bytes.size();
  MUSTER_RETURN_IF_ERROR(files_.MakeDirectories(job.partial));
  MUSTER_ASSIGN_OR_RETURN(const uint64_t free, files_.FreeBytes(options_.uri));
  if (free < needed) {
    return absl::ResourceExhaustedError(absl::StrCat(options_.uri, ": the checkpoint needs ",
                                                     needed, " bytes, ", free, " are free"));
  }
  if (options_.owner && job.snapshot.writer == 0) {
    MUSTER_RETURN_IF_ERROR(
        ClaimCheckpoints(files_, options_.uri, *options_.owner, Takeover::kNever));
  }
  MUSTER_RETURN_IF_ERROR(WriteGroup(job, TensorGroup::kModel));
  MUSTER_RETURN_IF_ERROR(WriteGroup(job, TensorGroup::kOptimizer));
  MUSTER_FAILPOINT("checkpoint.after_shard");
  job.arrived.assign(static_cast<size_t>(job.run().writers), false);
  job.arrived[0] = true;
  if (job.snapshot.writer == 0) return absl::OkStatus();
  return WriteSidecar(files_, job.partial, job.snapshot.writer, job.manifest);
}

absl::StatusOr<bool> CheckpointWriter::Collect(Job& job) {
  std::vector<int> missing;
  for (int writer = 1; writer < job.run().writers; ++writer) {
    if (job.arrived[static_cast<size_t>(writer)]) continue;
    absl::StatusOr<Manifest> part = ReadSidecar(files_, job.partial, writer, job.run());
    if (absl::IsNotFound(part.status())) {
      missing.push_back(writer);
      continue;
    }
    MUSTER_RETURN_IF_ERROR(part.status());
    job.arrived[static_cast<size_t>(writer)] = true;
    JoinManifests(*std::move(part), job.manifest);
  }
  if (missing.empty()) return true;
  if (clock_.Monotonic() - job.share_written > job.collect_within) {
    return absl::DeadlineExceededError(absl::StrCat(
        "writers ", absl::StrJoin(missing, ", "), " have not written their shares within ",
        absl::FormatDuration(absl::Trunc(job.collect_within, absl::Seconds(1)))));
  }
  return false;
}

absl::Status CheckpointWriter::Complete(Job& job) {
  Manifest& manifest = job.manifest;
  if (manifest.run.created.empty()) {
    manifest.run.created =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", clock_.Wall(), absl::UTCTimeZone());
  }
  std::map<std::string, std::string> documents = job.snapshot.documents;
  documents["config.json"] = DumpJson(manifest.run.model, 2);
  if (std::string index = FormatModelIndex(manifest); !index.empty()) {
    documents["model.safetensors.index.json"] = std::move(index);
  }
  for (const auto& [name, contents] : documents) {
    MUSTER_RETURN_IF_ERROR(WriteDocument(files_, job.partial, name, contents, manifest));
  }
  SortManifest(manifest);
  return Publish(files_, options_.uri, job.partial, manifest);
}

// Deletes everything of a failed save: its bytes may be what the disk lacks.
void CheckpointWriter::Finish(Job& job, const absl::Status& status) {
  if (status.ok()) {
    SendReport(job, v1alpha1::CheckpointReport::WRITTEN, "");
    // A directory that cannot be deleted now is tried again after the next checkpoint.
    if (job.snapshot.writer == 0 && options_.prune) {
      Prune(files_, options_.uri, job.run(), keep_).IgnoreError();
    }
    return;
  }
  if (job.snapshot.writer == 0) {
    RemoveAll(files_, job.partial).IgnoreError();
  } else {
    for (const TensorGroup group : {TensorGroup::kModel, TensorGroup::kOptimizer}) {
      const std::string name = ShareName(Name(group), job.snapshot.writer, job.run().writers);
      files_.Remove(JoinPath(job.partial, name)).IgnoreError();
    }
    WriteFailedSidecar(files_, job.partial, job.snapshot.writer, std::string(status.message()))
        .IgnoreError();
  }
  SendReport(job, v1alpha1::CheckpointReport::FAILED, std::string(status.message()));
}

void CheckpointWriter::SendReport(const Job& job, v1alpha1::CheckpointReport::Phase phase,
                                  const std::string& error) const {
  if (!report_) return;
  v1alpha1::CheckpointReport report;
  report.set_phase(phase);
  report.mutable_version()->set_step(job.run().step);
  report.mutable_version()->set_attempt(job.run().attempt);
  report.set_directory(FinalName(files_, job.run()));
  report.set_uri(options_.uri);
  report.set_history(job.run().history);
  report.set_error(error);
  report.set_bytes(static_cast<int64_t>(TotalBytes(job)));
  report.set_seconds(absl::ToDoubleSeconds(clock_.Monotonic() - job.begun));
  report.set_stall_seconds(job.stall_seconds);
  report_(report);
}

uint64_t CheckpointWriter::TotalBytes(const Job& job) {
  uint64_t bytes = 0;
  for (const FileRecord& file : job.manifest.files) bytes += file.bytes;
  return bytes;
}

void CheckpointWriter::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      while (!stop_ && job_ == nullptr && given_up_.empty() && unready_ == 0) changed_.Wait(mu_);
      if (stop_ && job_ == nullptr && given_up_.empty()) return;
    }
    if (RunOnce()) continue;
    MutexLock lock(mu_);
    if (stop_) abandon_ = true;
    changed_.WaitFor(mu_, files_.IsObjectStore() ? kStorePollInterval : kPollInterval);
  }
}

}  // namespace muster::trainer
