#ifndef MUSTER_TOOLS_SCHEMA_COMMENTS_H_
#define MUSTER_TOOLS_SCHEMA_COMMENTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// The comment above a message or field as one paragraph, or empty if there is none. The descriptors
// must have been built with source info. Thread-safe.
std::string CommentOf(const google::protobuf::Descriptor& message);
std::string CommentOf(const google::protobuf::FieldDescriptor& field);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_COMMENTS_H_
