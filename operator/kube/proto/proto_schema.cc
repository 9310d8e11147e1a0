#include "operator/kube/proto/proto_schema.h"

#include "operator/kube/proto/proto_schema_parts.h"

namespace muster::kube {
namespace {

using namespace proto_schema;

constexpr ProtoField kTaintFields[] = {Text(1, "key"), Text(2, "value"), Text(3, "effect"),
                                       Time(4, "timeAdded")};
constexpr ProtoMessage kTaint = Whole(kTaintFields);
constexpr ProtoField kNodeSpecFields[] = {Text(1, "podCIDR"), Texts(7, "podCIDRs"),
                                          Text(3, "providerID"), Bool(4, "unschedulable"),
                                          Many(5, "taints", kTaint)};
constexpr ProtoMessage kNodeSpec = PartOf(kNodeSpecFields);
constexpr ProtoField kNodeConditionFields[] = {Text(1, "type"),
                                               Text(2, "status"),
                                               Time(3, "lastHeartbeatTime"),
                                               Time(4, "lastTransitionTime"),
                                               Text(5, "reason"),
                                               Text(6, "message")};
constexpr ProtoMessage kNodeCondition = Whole(kNodeConditionFields);
constexpr ProtoField kAddressFields[] = {Text(1, "type"), Text(2, "address")};
constexpr ProtoMessage kAddress = Whole(kAddressFields);
constexpr ProtoField kNodeStatusFields[] = {
    Map(1, "capacity", Kind::kQuantities), Map(2, "allocatable", Kind::kQuantities),
    Text(3, "phase"), Many(4, "conditions", kNodeCondition), Many(5, "addresses", kAddress)};
constexpr ProtoMessage kNodeStatus = PartOf(kNodeStatusFields);
constexpr ProtoField kNodeFields[] = {One(1, "metadata", kObjectMeta), One(2, "spec", kNodeSpec),
                                      One(3, "status", kNodeStatus)};
constexpr ProtoMessage kNode = PartOf(kNodeFields);

constexpr ProtoField kListMetaFields[] = {Text(1, "selfLink"), Text(2, "resourceVersion"),
                                          Text(3, "continue"), Int(4, "remainingItemCount", true)};
constexpr ProtoMessage kListMeta = Whole(kListMetaFields);

constexpr ProtoField kCauseFields[] = {Text(1, "reason"), Text(2, "message"), Text(3, "field")};
constexpr ProtoMessage kCause = Whole(kCauseFields);
constexpr ProtoField kDetailsFields[] = {Text(1, "name"),           Text(2, "group"),
                                         Text(3, "kind"),           Text(6, "uid"),
                                         Many(4, "causes", kCause), Int(5, "retryAfterSeconds")};
constexpr ProtoMessage kDetails = Whole(kDetailsFields);
constexpr ProtoField kStatusFields[] = {
    One(1, "metadata", kListMeta), Text(2, "status"), Text(3, "message"), Text(4, "reason"),
    One(5, "details", kDetails),   Int(6, "code")};
constexpr ProtoMessage kStatus = Whole(kStatusFields);

}  // namespace

const ProtoMessage* ProtoMessageOf(const ResourceType& type) {
  if (type == kPods) return &ProtoPod();
  if (type == kNodes) return &kNode;
  return nullptr;
}

const ProtoMessage& ProtoListMeta() { return kListMeta; }
const ProtoMessage& ProtoStatus() { return kStatus; }

}  // namespace muster::kube
