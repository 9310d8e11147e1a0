#ifndef MUSTER_TOOLS_SCHEMA_REFERENCE_H_
#define MUSTER_TOOLS_SCHEMA_REFERENCE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// The text of docs/api.md or docs/api-queue.md: one table for each message, from `root` down, with
// types, defaults, constraints and the comments of the proto. `checked_by` names the program that
// checks constraints without a cluster. Thread-safe.
std::string MakeReference(const google::protobuf::Descriptor& root, absl::string_view checked_by);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_REFERENCE_H_
