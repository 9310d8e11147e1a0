#ifndef MUSTER_BASE_OBJECT_STORE_CREDENTIALS_SOURCE_H_
#define MUSTER_BASE_OBJECT_STORE_CREDENTIALS_SOURCE_H_

#include <memory>

#include "base/files/files.h"
#include "base/object_store/credentials.h"
#include "base/object_store/credentials_choice.h"
#include "base/object_store/http_transport.h"

namespace muster {

// Makes the chosen source. Files with tokens and keys are read again at each Fetch(), because
// mounted credentials are rotated. `files` must outlive the source.
std::unique_ptr<CredentialsSource> MakeCredentialsSource(const CredentialsChoice& choice,
                                                         std::unique_ptr<HttpTransport> transport,
                                                         Files& files);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CREDENTIALS_SOURCE_H_
