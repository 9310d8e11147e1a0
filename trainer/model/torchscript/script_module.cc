#include "trainer/model/torchscript/script_module.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>

#include "ATen/core/class_type.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "c10/util/Exception.h"
#include "caffe2/serialize/read_adapter_interface.h"
#include "torch/csrc/jit/serialization/import.h"

namespace muster::trainer {
namespace {

// Gives LibTorch the bytes of a file, and keeps the first error.
class FileAdapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit FileAdapter(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  size_t size() const override { return file_->size(); }
  // Returns how many bytes were read; LibTorch throws if that is less than `n`.
  size_t read(uint64_t position, void* into, size_t n, const char*) const override {
    const absl::Status read = file_->Read(position, static_cast<char*>(into), n);
    if (read.ok()) return n;
    if (status_.ok()) status_ = read;
    return 0;
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::unique_ptr<ReadableFile> file_;
  mutable absl::Status status_;
};

absl::Status NoScript(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is no TorchScript file, as torch.jit.save writes it: ",
                   absl::StripTrailingAsciiWhitespace(why)));
}

std::string Below(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : absl::StrCat(prefix, ".", name);
}

void AddSlots(const NamedModule& module, std::set<const void*>& seen,
              std::vector<ScriptSlot>& slots) {
  if (!seen.insert(module.module.get()).second) return;
  const c10::ClassType& type = *module.module->type();
  for (size_t i = 0; i < type.numAttributes(); ++i) {
    const std::string name = Below(module.name, type.getAttributeName(i));
    const c10::IValue& value = module.module->getSlot(i);
    if (type.getAttribute(i)->is_module()) {
      AddSlots({name, value.toObject()}, seen, slots);
    } else {
      slots.push_back({name, module.module, i, type.is_parameter(i)});
    }
  }
}

}  // namespace

absl::StatusOr<ScriptModule> LoadScriptModule(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.Open(path));
  const auto adapter = std::make_shared<FileAdapter>(std::move(file));
  absl::Status refused;
  try {
    return torch::jit::load(adapter, c10::Device(c10::kCPU))._ivalue();
  } catch (const c10::Error& e) {
    refused = NoScript(path, e.what_without_backtrace());
  } catch (const std::exception& e) {
    refused = NoScript(path, e.what());
  }
  return adapter->status().ok() ? refused : adapter->status();
}

std::vector<NamedModule> ChildrenOf(const NamedModule& module) {
  std::vector<NamedModule> children;
  const c10::ClassType& type = *module.module->type();
  for (size_t i = 0; i < type.numAttributes(); ++i) {
    if (!type.getAttribute(i)->is_module()) continue;
    children.push_back(
        {Below(module.name, type.getAttributeName(i)), module.module->getSlot(i).toObject()});
  }
  return children;
}

std::vector<ScriptSlot> SlotsOf(const NamedModule& module) {
  std::vector<ScriptSlot> slots;
  std::set<const void*> seen;
  AddSlots(module, seen, slots);
  return slots;
}

std::vector<at::Tensor> TensorsIn(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  value.visit([&](const c10::IValue& part) {
    if (part.isTensor() && part.toTensor().defined()) tensors.push_back(part.toTensor());
    return false;  // visit what is inside, too
  });
  return tensors;
}

void SetTraining(const ScriptModule& module, bool training) {
  const c10::ClassType& type = *module->type();
  if (const std::optional<size_t> slot = type.findAttributeSlot("training")) {
    module->setSlot(*slot, training);
  }
  for (const NamedModule& child : ChildrenOf({"", module})) SetTraining(child.module, training);
}

}  // namespace muster::trainer
