#ifndef MUSTER_TOOLS_SCHEMA_COMMENTS_H_
#define MUSTER_TOOLS_SCHEMA_COMMENTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// Returns the comment above a message or field as one paragraph; empty without a comment. The
// descriptors must have been built with source info. Thread-safe.
std::string CommentOf(const google::protobuf::Descriptor& message);
std::string CommentOf(const google::protobuf::FieldDescriptor& field);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_COMMENTS_H_
