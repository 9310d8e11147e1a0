#include "trainer/model/torchscript/state_watch.h"

#include <cstddef>
#include <cstring>

namespace muster::trainer {
namespace {

std::vector<std::pair<const void*, int64_t>> VersionsOf(const std::vector<at::Tensor>& tensors) {
  std::vector<std::pair<const void*, int64_t>> versions;
  for (const at::Tensor& tensor : tensors) {
    versions.emplace_back(tensor.unsafeGetTensorImpl(), tensor._version());
  }
  return versions;
}

// Unlike at::equal, takes a NaN for equal to itself.
bool HasBytesOf(const at::Tensor& tensor, const at::Tensor& copy) {
  const at::Tensor flat = tensor.detach().contiguous();
  return std::memcmp(flat.const_data_ptr(), copy.const_data_ptr(), copy.nbytes()) == 0;
}

bool IsContainer(const c10::IValue& value) {
  return value.isList() || value.isGenericDict() || value.isTuple();
}

}  // namespace

StateWatch::StateWatch(const std::vector<ScriptSlot>& slots, bool contents) : slots_(slots) {
  for (const ScriptSlot& slot : slots) {
    const std::vector<at::Tensor> tensors = TensorsIn(slot.value());
    Seen& seen = seen_.emplace_back();
    seen.value = slot.value();
    seen.versions = VersionsOf(tensors);
    if (tensors.empty() && IsContainer(slot.value())) seen.plain = slot.value().deepcopy();
    if (!contents || slot.is_parameter) continue;
    for (const at::Tensor& tensor : tensors) {
      seen.copies.push_back(tensor.detach().clone(at::MemoryFormat::Contiguous));
    }
  }
}

bool StateWatch::IsWritten(const Seen& seen, const c10::IValue& now) {
  if (!now.is(seen.value)) return true;
  const std::vector<at::Tensor> tensors = TensorsIn(now);
  if (VersionsOf(tensors) != seen.versions) return true;
  if (!seen.plain.isNone() && now != seen.plain) return true;
  for (size_t i = 0; i < seen.copies.size(); ++i) {
    if (!HasBytesOf(tensors[i], seen.copies[i])) return true;
  }
  return false;
}

std::string StateWatch::FirstWritten() const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (IsWritten(seen_[i], slots_[i].value())) return slots_[i].name;
  }
  return "";
}

}  // namespace muster::trainer
