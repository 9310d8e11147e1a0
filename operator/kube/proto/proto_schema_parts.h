#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_PARTS_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/kube/proto/proto_schema.h"

// Helpers to write the tables of proto_schema.h, and the messages that several of them share.
namespace muster::kube::proto_schema {

using Kind = ProtoField::Kind;

template <size_t N>
constexpr ProtoMessage Whole(const ProtoField (&fields)[N]) {
  return {fields, N, /*complete=*/true};
}
template <size_t N>
constexpr ProtoMessage PartOf(const ProtoField (&fields)[N]) {
  return {fields, N, /*complete=*/false};
}
constexpr ProtoField Text(uint32_t number, std::string_view name) { return {number, name}; }
constexpr ProtoField Texts(uint32_t number, std::string_view name) {
  return {number, name, Kind::kString, /*repeated=*/true};
}
constexpr ProtoField Int(uint32_t number, std::string_view name, bool keeps_zero = false) {
  return {number, name, Kind::kInt, false, keeps_zero};
}
constexpr ProtoField Bool(uint32_t number, std::string_view name, bool keeps_zero = false) {
  return {number, name, Kind::kBool, false, keeps_zero};
}
constexpr ProtoField Time(uint32_t number, std::string_view name) {
  return {number, name, Kind::kTime};
}
constexpr ProtoField Map(uint32_t number, std::string_view name, Kind kind) {
  return {number, name, kind};
}
constexpr ProtoField One(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, false, false, &message};
}
// Declares a message field for which an empty message differs from an absent one.
constexpr ProtoField Kept(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, false, /*keeps_zero=*/true, &message};
}
constexpr ProtoField Inlined(uint32_t number, const ProtoMessage& message) {
  return One(number, "", message);
}
constexpr ProtoField Many(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, true, false, &message};
}

inline constexpr ProtoField kOwnerFields[] = {Text(5, "apiVersion"),
                                              Text(1, "kind"),
                                              Text(3, "name"),
                                              Text(4, "uid"),
                                              Bool(6, "controller", true),
                                              Bool(7, "blockOwnerDeletion", true)};
inline constexpr ProtoMessage kOwner = Whole(kOwnerFields);

// The fields of ObjectMeta except managedFields.
inline constexpr ProtoField kObjectMetaFields[] = {Text(1, "name"),
                                                   Text(2, "generateName"),
                                                   Text(3, "namespace"),
                                                   Text(4, "selfLink"),
                                                   Text(5, "uid"),
                                                   Text(6, "resourceVersion"),
                                                   Int(7, "generation"),
                                                   Time(8, "creationTimestamp"),
                                                   Time(9, "deletionTimestamp"),
                                                   Int(10, "deletionGracePeriodSeconds", true),
                                                   Map(11, "labels", Kind::kStrings),
                                                   Map(12, "annotations", Kind::kStrings),
                                                   Many(13, "ownerReferences", kOwner),
                                                   Texts(14, "finalizers")};
// Complete, since the objects of a kube::Api have no managedFields.
inline constexpr ProtoMessage kObjectMeta = Whole(kObjectMetaFields);

}  // namespace muster::kube::proto_schema

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_PARTS_H_
