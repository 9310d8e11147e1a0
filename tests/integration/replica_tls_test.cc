// Tests the agents of workers that exchange replicas over TLS, with certificates as the coordinator
// issues them, in one process: who is served, and who is refused.
#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/replicas/copy_fixture.h"
#include "agent/replicas/exchange_fixture.h"
#include "agent/replicas/peer_keys.h"
#include "agent/replicas/replica_fetch.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/tls/x509.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "proto/muster/v1alpha1/replica.grpc.pb.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaTlsTest : public testing::Test {
 protected:
  // The keys of a worker as the coordinator makes them.
  PeerKeys KeysOf(int index, const std::string& job_uid = kJobUid, int incarnation = 1) {
    const PrivateKey key = *PrivateKey::Generate();
    const control::PeerIdentity identity{"team", "gpt", job_uid, index, incarnation, "pod", "p"};
    return {authority_.bundle_pem(), key.ToPem(),
            *authority_.SignWorker(identity, *MakeSigningRequest(key, "x"), Clock::Real().Wall(),
                                   absl::Hours(1))};
  }
  // Fetches the replicas of `worker` from `peer` with those keys.
  absl::Status Fetch(const v1alpha1::ReplicaPeer& peer, const v1alpha1::WorkerId& worker,
                     const PeerKeys& keys) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
    const std::string into = testing::TempDir() + "/fetched";
    const FetchedCopies fetched = FetchCopies(NewPeerChannel(peer, worker.job_uid(), keys), context,
                                              worker, 1, into, FileSystem());
    EXPECT_EQ(fetched.copies > 0, fetched.status.ok());
    return fetched.status;
  }
  // An agent with a replica of worker 1.
  void KeepOne(Agent& keeper, const v1alpha1::ReplicaPeer& peer) {
    Agent owner(1, 1, KeysOf(1));
    owner.Serve(1);
    WriteCopy(FileSystem(), owner.Rank(), 10, "ten");
    owner.exchange->SetPeer(peer);
    ASSERT_THAT(keeper.Await<ReplicasChanged>().kept.workers(), ElementsAre(1));
  }

  const control::CertificateAuthority authority_ =
      *control::CertificateAuthority::Make(Clock::Real().Wall());
};

TEST_F(ReplicaTlsTest, AWorkersSuccessorGetsItsCopiesFromItsKeeper) {
  Agent keeper(2, 1, KeysOf(2));
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  ASSERT_NO_FATAL_FAILURE(KeepOne(keeper, peer));
  Agent successor(1, 2, KeysOf(1, kJobUid, 2));
  successor.Serve(1);
  successor.exchange->Fetch(1, {peer}, kPatience);
  successor.Await<ReplicasFetched>();
  EXPECT_THAT(Names(successor.Rank()), ElementsAre("step-000000010"));
}

TEST_F(ReplicaTlsTest, ASpareGetsTheCopiesOfTheWorkerWhosePlaceItTakes) {
  Agent keeper(2, 1, KeysOf(2));
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  ASSERT_NO_FATAL_FAILURE(KeepOne(keeper, peer));
  Agent spare(3, 1, KeysOf(3));
  spare.Serve(3);
  spare.exchange->Fetch(1, {peer}, kPatience);
  spare.Await<ReplicasFetched>();
  EXPECT_THAT(Names(spare.Rank()), ElementsAre("step-000000010"));
}

TEST_F(ReplicaTlsTest, AWorkerOfAnotherJobNeitherStoresNorReadsReplicas) {
  Agent keeper(2, 1, KeysOf(2));
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  ASSERT_NO_FATAL_FAILURE(KeepOne(keeper, peer));
  const PeerKeys stranger = KeysOf(1, "other-uid");
  const absl::Status reads = Fetch(peer, WorkerNamed(1), stranger);
  EXPECT_TRUE(absl::IsPermissionDenied(reads)) << reads;
  const auto stub = v1alpha1::Replicas::NewStub(NewPeerChannel(peer, kJobUid, stranger));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  v1alpha1::ReplicaKept kept;
  const auto writer = stub->Keep(&context, &kept);
  const std::string copy = WriteCopy(FileSystem(), testing::TempDir() + "/stranger", 90, "forged");
  for (const v1alpha1::ReplicaPart& part : PartsOf(FileSystem(), copy, 1)) {
    if (!writer->Write(part)) break;
  }
  writer->WritesDone();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(Names(keeper.folder + "/replicas-1/rank-0"), ElementsAre("step-000000010"));
}

TEST_F(ReplicaTlsTest, APeerThatIsAnotherWorkerThanTheOperatorNamedGetsNoCopy) {
  Agent keeper(2, 1, KeysOf(2));
  v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  peer.set_worker(3);
  const absl::Status refused = Fetch(peer, WorkerNamed(1), KeysOf(1));
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(Names(keeper.folder + "/replicas-1"), IsEmpty());
}

TEST_F(ReplicaTlsTest, WithoutACertificateNobodyIsServed) {
  Agent keeper(2, 1, KeysOf(2));
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  PeerKeys none = KeysOf(1);
  none.key_pem.clear();
  none.certificate_pem.clear();
  const absl::Status refused = Fetch(peer, WorkerNamed(1), none);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
}

// Certificates live for an hour; the server takes the newest at each handshake.
TEST_F(ReplicaTlsTest, ARenewedCertificateIsServedFromThenOn) {
  Agent keeper(2, 1, KeysOf(7));
  const v1alpha1::ReplicaPeer peer = keeper.Serve(2);
  EXPECT_TRUE(absl::IsUnavailable(Fetch(peer, WorkerNamed(1), KeysOf(1))));
  keeper.exchange->SetKeys(KeysOf(2));
  EXPECT_NO_FATAL_FAILURE(KeepOne(keeper, peer));
}

}  // namespace
}  // namespace muster::agent
