#ifndef MUSTER_TOOLS_SCHEMA_CRD_H_
#define MUSTER_TOOLS_SCHEMA_CRD_H_

#include "base/json.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// The CustomResourceDefinition (apiextensions v1) of a message whose options say `kind`: structural
// schema, defaults, CEL rules, columns, and the status (and, of a scalable kind, scale)
// subresource. Thread-safe.
Json MakeCrd(const google::protobuf::Descriptor& root);

// The structural schema of any message of these protos.
Json MakeSchema(const google::protobuf::Descriptor& message);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_CRD_H_
