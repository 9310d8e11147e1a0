#include "trainer/offload/rest_in_file.h"

#include <utility>

#include "base/status_macros.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

std::span<std::byte> MemoryOf(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

const void* StorageOf(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

}  // namespace

absl::StatusOr<std::unique_ptr<RestInFile>> RestInFile::Create(StateFiles& files,
                                                               const std::string& directory,
                                                               const TensorsByUnit& tensors) {
  std::vector<RestingUnit> units;
  uint64_t bytes = 0;
  for (const std::vector<at::Tensor>& of_unit : tensors) {
    RestingUnit& unit = units.emplace_back();
    for (const at::Tensor& tensor : of_unit) {
      if (tensor.storage_offset() != 0 || tensor.storage().nbytes() != tensor.nbytes()) {
        return absl::InternalError("only a tensor that is the whole of its storage can rest");
      }
      if (!tensor.device().is_cpu()) {
        return absl::UnimplementedError(
            "trainer.parallelism.offload: state on a device cannot rest in files");
      }
      unit.places.push_back({tensor, bytes});
      bytes += tensor.nbytes();
    }
  }
  std::unique_ptr<RestInFile> rest(new RestInFile(std::move(units), bytes));
  for (size_t u = 0; u < rest->units_.size(); ++u) {
    for (size_t p = 0; p < rest->units_[u].places.size(); ++p) {
      rest->by_storage_[StorageOf(rest->units_[u].places[p].tensor)] = {u, p};
    }
  }
  MUSTER_ASSIGN_OR_RETURN(rest->file_, files.Create(directory, 2 * bytes));
  rest->Discard();
  return rest;
}

absl::Status RestInFile::ReadFile(uint64_t offset, std::span<std::byte> into) {
  absl::Status read = file_->Read(offset, into);
  if (!read.ok()) ++refusals_;
  return read;
}

absl::Status RestInFile::WriteFile(uint64_t offset, std::span<const std::byte> from) {
  absl::Status written = file_->Write(offset, from);
  if (!written.ok()) ++refusals_;
  return written;
}

absl::Status RestInFile::Bring(int unit) {
  RestingUnit& brought = Of(unit);
  for (const Place& place : brought.places) {
    if (HasMemory(place.tensor) || place.tensor.numel() == 0) continue;
    GiveMemory(place.tensor);
    const absl::Status read =
        ReadFile(Offset(place.offset, brought.current), MemoryOf(place.tensor));
    if (read.ok()) continue;
    TakeMemory(place.tensor);
    return read;
  }
  return absl::OkStatus();
}

void RestInFile::MakeRoom(int unit) {
  for (const Place& place : Of(unit).places) GiveMemory(place.tensor);
}

absl::Status RestInFile::Keep(int unit) {
  RestingUnit& kept = Of(unit);
  kept.written = true;
  for (const Place& place : kept.places) {
    if (place.tensor.numel() == 0) continue;
    MUSTER_RETURN_IF_ERROR(
        WriteFile(Offset(place.offset, 1 - kept.current), MemoryOf(place.tensor)));
  }
  Drop(unit);
  return absl::OkStatus();
}

void RestInFile::Drop(int unit) {
  for (const Place& place : Of(unit).places) TakeMemory(place.tensor);
}

absl::StatusOr<std::pair<RestInFile::RestingUnit*, uint64_t>> RestInFile::Find(
    const at::Tensor& part) {
  const auto found = by_storage_.find(StorageOf(part));
  if (found == by_storage_.end()) {
    return absl::InternalError("the tensor is not part of a state that rests in this file");
  }
  const auto [unit, place] = found->second;
  const auto begin = static_cast<uint64_t>(part.storage_offset()) * part.element_size();
  return std::pair{&units_[unit], units_[unit].places[place].offset + begin};
}

absl::Status RestInFile::Read(const at::Tensor& part, std::span<std::byte> into) {
  if (into.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const auto found, Find(part));
  return ReadFile(Offset(found.second, found.first->current), into);
}

absl::Status RestInFile::Write(const at::Tensor& part, std::span<const std::byte> from) {
  if (from.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const auto found, Find(part));
  found.first->written = true;
  return WriteFile(Offset(found.second, 1 - found.first->current), from);
}

void RestInFile::Swap() {
  for (RestingUnit& unit : units_) {
    if (std::exchange(unit.written, false)) unit.current = 1 - unit.current;
  }
}

void RestInFile::Discard() {
  for (size_t u = 0; u < units_.size(); ++u) {
    units_[u].written = false;
    Drop(static_cast<int>(u));
  }
}

}  // namespace muster::trainer
