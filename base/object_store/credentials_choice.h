#ifndef MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CHOICE_H_
#define MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CHOICE_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "base/environment.h"
#include "base/object_store/aws_signature.h"

namespace muster {

// A role that STS gives keys of to who shows a token, as EKS arranges for a service account.
struct WebIdentity {
  std::string role;
  std::string token_file;
  std::string session_name;  // empty: one is made up
  std::string endpoint;      // of STS
};

// A file with sections of keys, in the format of ~/.aws/credentials.
struct CredentialsFile {
  std::string path;
  std::string profile;
};

// An agent on the node that hands out keys: that of EKS Pod Identity or of ECS.
struct ContainerAgent {
  std::string url;
  std::string token_file;  // empty: `token`
  std::string token;       // empty: none is asked for
};

using CredentialsChoice = std::variant<S3Credentials, WebIdentity, CredentialsFile, ContainerAgent>;

// Returns where the keys of an object store come from: the first of AWS's own sources, in the order
// of its SDKs, whose variables `environment` has. `region` is where STS is asked without
// AWS_REGION. FailedPrecondition says which variable is missing, or which ones were looked for.
absl::StatusOr<CredentialsChoice> ChooseCredentials(const Environment& environment,
                                                    const std::string& region);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CREDENTIALS_CHOICE_H_
