#include "operator/kube/api_call.h"

namespace muster::kube {

std::string_view Name(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kWatch:
    case Verb::kWatchNext:
      return "watch";
    case Verb::kCreate:
    case Verb::kCreateSubresource:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kUpdateStatus:
      return "update_status";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
    case Verb::kBind:
      return "bind";
  }
  return "";
}

bool IsWrite(Verb verb) {
  return verb != Verb::kGet && verb != Verb::kList && verb != Verb::kWatch &&
         verb != Verb::kWatchNext;
}

ObjectKey ApiCall::Key() const {
  if (key != nullptr) return *key;
  return object != nullptr ? KeyOf(*object) : ObjectKey{};
}

}  // namespace muster::kube
