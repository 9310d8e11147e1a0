#include "trainer/comm/operation.h"

#include "absl/strings/str_cat.h"
#include "c10/core/ScalarType.h"

namespace muster::trainer {
namespace {

absl::string_view Name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMin:
      return "min";
  }
  return "";
}

}  // namespace

absl::string_view Name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
      return "AllReduce";
    case OperationKind::kReduceScatter:
      return "ReduceScatter";
    case OperationKind::kAllGather:
      return "AllGather";
    case OperationKind::kAllToAllV:
      return "AllToAllV";
    case OperationKind::kBroadcast:
      return "Broadcast";
    case OperationKind::kSend:
      return "Send";
    case OperationKind::kRecv:
      return "Recv";
    case OperationKind::kBarrier:
      return "Barrier";
  }
  return "";
}

std::string Fingerprint::ToString() const {
  std::string text(Name(kind));
  if (kind == OperationKind::kBarrier) return text;
  if (kind == OperationKind::kAllReduce || kind == OperationKind::kReduceScatter) {
    absl::StrAppend(&text, " ", Name(op));
  }
  if (kind == OperationKind::kBroadcast || kind == OperationKind::kRecv) {
    absl::StrAppend(&text, " from ", peer);
  }
  if (kind == OperationKind::kSend) absl::StrAppend(&text, " to ", peer);
  absl::StrAppend(&text, " ", count, " ", c10::toString(type), " \"", label, "\"");
  return text;
}

std::string Fingerprint::AsMessage(int rank) const {
  const bool sends = kind == OperationKind::kSend;
  return absl::StrCat("message ", sends ? rank : peer, " -> ", sends ? peer : rank, " ", count, " ",
                      c10::toString(type), " \"", label, "\"");
}

Fingerprint FingerprintOf(OperationKind kind, const at::Tensor& tensor, std::string_view label,
                          ReduceOp op, int peer) {
  return {.kind = kind,
          .type = tensor.scalar_type(),
          .count = kind == OperationKind::kAllToAllV ? -1 : tensor.numel(),
          .op = op,
          .peer = peer,
          .label = std::string(label)};
}

}  // namespace muster::trainer
