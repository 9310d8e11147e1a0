#include "trainer/engine/step/stage_link.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/zeros_like.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "c10/core/ScalarType.h"
#include "trainer/engine/link/message_tensor.h"

namespace muster::trainer {
namespace {

// A header has this many numbers: how many tensors there are, and for each its type, the number of
// its dimensions, and their lengths.
constexpr size_t kHeaderNumbers = 64;

absl::StatusOr<std::vector<int64_t>> HeaderOf(int block, const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> header = {static_cast<int64_t>(tensors.size())};
  for (const at::Tensor& tensor : tensors) {
    header.push_back(static_cast<int64_t>(tensor.scalar_type()));
    header.push_back(tensor.dim());
    header.insert(header.end(), tensor.sizes().begin(), tensor.sizes().end());
  }
  if (header.size() > kHeaderNumbers) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block, " passes on ", tensors.size(),
                     " tensors, which are too many to send to the next stage of the pipeline"));
  }
  header.resize(kHeaderNumbers);
  return header;
}

// Makes tensors without contents as a header says, which came from another rank.
absl::StatusOr<std::vector<at::Tensor>> TensorsOf(const std::vector<int64_t>& header,
                                                  c10::Device device) {
  const auto broken = [] {
    return absl::InternalError("another stage of the pipeline sent a header that makes no sense");
  };
  std::vector<at::Tensor> tensors;
  size_t at = 1;
  for (int64_t i = 0; i < header[0]; ++i) {
    if (at + 2 > header.size()) return broken();
    const int64_t type = header[at], dims = header[at + 1];
    at += 2;
    if (type < 0 || type >= static_cast<int64_t>(c10::ScalarType::NumOptions)) return broken();
    if (dims < 0 || dims > static_cast<int64_t>(header.size() - at)) return broken();
    const auto first = header.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<int64_t> sizes(first, first + dims);
    if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
      return broken();
    }
    at += static_cast<size_t>(dims);
    const auto scalar = static_cast<c10::ScalarType>(type);
    tensors.push_back(at::empty(sizes, at::TensorOptions(device).dtype(scalar)));
  }
  return tensors;
}

std::string OutputsLabel(int block) { return absl::StrCat("outputs of block ", block); }
std::string GradientsLabel(int block) { return absl::StrCat("gradients of block ", block); }

}  // namespace

absl::Status StageLink::BeginPass() {
  // A stage takes messages in the order in which they were sent. With several chunks it may itself
  // wait here before it takes the oldest; no schedule lets all stages of a circle do so while each
  // may send ahead of this many passes.
  const size_t most = 4 * static_cast<size_t>(stages_.size());
  while (sendings_.size() >= most) MUSTER_RETURN_IF_ERROR(AwaitOldest());
  sendings_.emplace_back();
  return absl::OkStatus();
}

absl::Status StageLink::AwaitOldest() {
  for (const Sending& sending : sendings_.front()) {
    MUSTER_RETURN_IF_ERROR(sending.pending->Wait());
  }
  sendings_.pop_front();
  return absl::OkStatus();
}

void StageLink::Send(const at::Tensor& tensor, int stage, const std::string& label) {
  Sending& sending = sendings_.back().emplace_back();
  sending.tensor = tensor.detach().contiguous();
  const auto channel = channels_.to.find(stage);
  if (channel == channels_.to.end()) {
    sending.pending = stages_.Send(sending.tensor, stage, label);
    return;
  }
  sending.pending = channel->second->Send(sending.tensor, /*to=*/1, label);
  channel->second->StartMessages();
}

absl::Status StageLink::Receive(const at::Tensor& tensor, int stage, const std::string& label) {
  const auto channel = channels_.from.find(stage);
  if (channel == channels_.from.end()) return stages_.Recv(tensor, stage, label)->Wait();
  return channel->second->Recv(tensor, /*from=*/0, label)->Wait();
}

absl::Status StageLink::SendOutputs(int block, int stage, const std::vector<at::Tensor>& outputs) {
  MUSTER_ASSIGN_OR_RETURN(std::vector<int64_t> header, HeaderOf(block, outputs));
  const auto [known, is_new] = headers_.try_emplace(block, header);
  MUSTER_RETURN_IF_ERROR(BeginPass());
  if (is_new) {
    Send(ToTensor(header), stage, OutputsLabel(block));
  } else if (known->second != header) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", block,
        " passes on tensors of other types or shapes than for an earlier micro-batch, which a "
        "pipeline cannot send"));
  }
  for (const at::Tensor& output : outputs) Send(output, stage, OutputsLabel(block));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<at::Tensor>> StageLink::ReceiveOutputs(int block, int stage) {
  const auto [known, is_new] = headers_.try_emplace(block);
  if (is_new) {
    const at::Tensor header = ToTensor(std::vector<int64_t>(kHeaderNumbers));
    MUSTER_RETURN_IF_ERROR(Receive(header, stage, OutputsLabel(block)));
    const int64_t* numbers = header.const_data_ptr<int64_t>();
    known->second.assign(numbers, numbers + kHeaderNumbers);
  }
  MUSTER_ASSIGN_OR_RETURN(std::vector<at::Tensor> outputs, TensorsOf(known->second, device_));
  for (const at::Tensor& output : outputs) {
    MUSTER_RETURN_IF_ERROR(Receive(output, stage, OutputsLabel(block)));
  }
  return outputs;
}

absl::Status StageLink::SendGradients(int block, int stage, const std::vector<at::Tensor>& outputs,
                                      const std::vector<at::Tensor>& gradients) {
  MUSTER_RETURN_IF_ERROR(BeginPass());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    const at::Tensor& gradient = gradients[i];
    Send(gradient.defined() ? gradient : at::zeros_like(outputs[i]), stage, GradientsLabel(block));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<at::Tensor>> StageLink::ReceiveGradients(
    int block, int stage, const std::vector<at::Tensor>& outputs) {
  std::vector<at::Tensor> gradients(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    gradients[i] = at::empty_like(outputs[i].detach(), at::MemoryFormat::Contiguous);
    MUSTER_RETURN_IF_ERROR(Receive(gradients[i], stage, GradientsLabel(block)));
  }
  return gradients;
}

absl::Status StageLink::Finish() {
  while (!sendings_.empty()) MUSTER_RETURN_IF_ERROR(AwaitOldest());
  return absl::OkStatus();
}

}  // namespace muster::trainer
