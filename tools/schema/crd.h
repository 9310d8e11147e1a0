#ifndef MUSTER_TOOLS_SCHEMA_CRD_H_
#define MUSTER_TOOLS_SCHEMA_CRD_H_

#include "base/json.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// The CustomResourceDefinition (apiextensions v1) of a message whose options set `kind`: its
// structural schema, defaults, CEL rules, printer columns, and the subresources status and, for a
// scalable kind, scale. Thread-safe.
Json MakeCrd(const google::protobuf::Descriptor& root);

// The structural schema of any message of the API's protos. Thread-safe.
Json MakeSchema(const google::protobuf::Descriptor& message);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_CRD_H_
