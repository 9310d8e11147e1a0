#include "tools/schema/comments.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::schema {
namespace {

template <class D>
std::string Comment(const D& descriptor) {
  google::protobuf::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  const std::vector<std::string> words =
      absl::StrSplit(location.leading_comments, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

}  // namespace

std::string CommentOf(const google::protobuf::Descriptor& message) { return Comment(message); }
std::string CommentOf(const google::protobuf::FieldDescriptor& field) { return Comment(field); }

}  // namespace muster::schema
