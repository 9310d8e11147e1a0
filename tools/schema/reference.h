#ifndef MUSTER_TOOLS_SCHEMA_REFERENCE_H_
#define MUSTER_TOOLS_SCHEMA_REFERENCE_H_

#include <string>

#include "google/protobuf/descriptor.h"

namespace muster::schema {

// docs/api.md: one table for each message, from the root down, with types, defaults, constraints
// and the comments of training_job.proto. Thread-safe.
std::string MakeReference(const google::protobuf::Descriptor& root);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_REFERENCE_H_
