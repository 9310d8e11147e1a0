#include "trainer/engine/link/round_mesh.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

absl::StatusOr<std::unique_ptr<Communicator>> Meet(const GroupPlace& place,
                                                   const std::string& store, RoundNetwork& network,
                                                   Inbox& inbox) {
  const auto connector = network.MakeConnector(place, store);
  inbox.SetAbort([&connector](std::string_view why) { connector->Abort(why); });
  auto connected = connector->Connect();
  inbox.SetAbort(nullptr);
  return connected;
}

}  // namespace

Mesh::Mesh(const MeshShape& shape, Communicator& world, GroupMaker make)
    : shape_(shape), world_(&world), make_(std::move(make)) {}

absl::StatusOr<Mesh> Mesh::Create(const MeshShape& shape, Communicator& world, GroupMaker make) {
  MUSTER_RETURN_IF_ERROR(shape.Check(world.size()));
  return Mesh(shape, world, std::move(make));
}

absl::StatusOr<Communicator*> Mesh::Group(const std::vector<MeshAxis>& axes) {
  return Among(shape_.Group(world_->rank(), axes));
}

absl::StatusOr<Communicator*> Mesh::GroupOfEnds(const std::vector<MeshAxis>& axes) {
  if (!shape_.IsEnd(world_->rank())) return nullptr;
  return Among(shape_.GroupOfEnds(world_->rank(), axes));
}

absl::StatusOr<Communicator*> Mesh::Among(const std::vector<int>& ranks) {
  if (static_cast<int>(ranks.size()) == world_->size()) return world_;
  std::unique_ptr<Communicator>& group = groups_[ranks];
  if (group == nullptr) {
    const std::string tag = absl::StrCat("group-", absl::StrJoin(ranks, "-"));
    MUSTER_ASSIGN_OR_RETURN(group, make_(tag, ranks, world_->rank()));
  }
  return group.get();
}

absl::StatusOr<Communicator*> Mesh::Channel(int from, int to) {
  const std::string tag = absl::StrCat("channel-", from, "-", to);
  MUSTER_ASSIGN_OR_RETURN(channels_.emplace_back(), make_(tag, {from, to}, world_->rank()));
  return channels_.back().get();
}

std::vector<Communicator*> Mesh::communicators() const {
  std::vector<Communicator*> out = {world_};
  for (const auto& channel : channels_) {
    if (channel != nullptr) out.push_back(channel.get());
  }
  for (const auto& [ranks, group] : groups_) {
    if (group != nullptr) out.push_back(group.get());
  }
  return out;
}

namespace {

// Goes around the circle of stages. Each channel is made by both of its ranks before they go on.
absl::StatusOr<StageChannels> MakeChannels(Mesh& mesh) {
  const MeshShape& shape = mesh.shape();
  const MeshCoordinates place = mesh.coordinates();
  StageChannels channels;
  const auto make = [&](int from, int to) -> absl::Status {
    if (place.pipeline != from && place.pipeline != to) return absl::OkStatus();
    MeshCoordinates sender = place, receiver = place;
    sender.pipeline = from;
    receiver.pipeline = to;
    Communicator*& channel = place.pipeline == from ? channels.to[to] : channels.from[from];
    MUSTER_ASSIGN_OR_RETURN(channel, mesh.Channel(shape.RankOf(sender), shape.RankOf(receiver)));
    return absl::OkStatus();
  };
  for (int stage = 0; stage < shape.pipeline; ++stage) {
    const int next = (stage + 1) % shape.pipeline;
    if (shape.pipeline == 2 && stage == 1) break;  // the two stages have met
    MUSTER_RETURN_IF_ERROR(make(stage, next));
    MUSTER_RETURN_IF_ERROR(make(next, stage));
  }
  return channels;
}

}  // namespace

absl::StatusOr<RoundGroups> MakeGroups(Mesh& mesh, Communicator& world) {
  RoundGroups groups{.world = &world};
  const MeshShape& shape = mesh.shape();
  if (shape.shard > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.shard, mesh.Group({MeshAxis::kShard}));
  }
  const std::vector<MeshAxis> copies = {MeshAxis::kData, MeshAxis::kContext};
  const std::vector<MeshAxis> whole_copies = {MeshAxis::kData, MeshAxis::kContext,
                                              MeshAxis::kTensor};
  if (shape.shard > 1 || shape.tensor > 1 || shape.pipeline > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.replicas, mesh.Group(copies));
  }
  if (shape.context > 1 || shape.tensor > 1 || shape.pipeline > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.workers, mesh.Group({MeshAxis::kData, MeshAxis::kShard}));
  }
  if (shape.pipeline > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.stages, mesh.Group({MeshAxis::kPipeline}));
    if (world.is_a_queue()) {
      MUSTER_ASSIGN_OR_RETURN(groups.channels, MakeChannels(mesh));
    }
    MUSTER_ASSIGN_OR_RETURN(groups.ends, mesh.GroupOfEnds({}));
    MUSTER_ASSIGN_OR_RETURN(groups.ends_replicas, mesh.GroupOfEnds(copies));
    MUSTER_ASSIGN_OR_RETURN(groups.ends_whole_replicas, mesh.GroupOfEnds(whole_copies));
  }
  if (shape.context > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.axes.context, mesh.Group({MeshAxis::kContext}));
  }
  if (shape.tensor > 1) {
    MUSTER_ASSIGN_OR_RETURN(groups.axes.tensor, mesh.Group({MeshAxis::kTensor}));
    MUSTER_ASSIGN_OR_RETURN(groups.sequence, mesh.Group({MeshAxis::kContext, MeshAxis::kTensor}));
    MUSTER_ASSIGN_OR_RETURN(groups.whole_replicas, mesh.Group(whole_copies));
  }
  return groups;
}

absl::StatusOr<MeshShape> MeshShapeOf(const v1alpha1::GoRound& go, int world_size) {
  MeshShape shape{.data = world_size};
  if (go.has_mesh()) {
    shape = {.pipeline = std::max(1, go.mesh().pipeline()),
             .data = std::max(1, go.mesh().data()),
             .shard = std::max(1, go.mesh().shard()),
             .context = std::max(1, go.mesh().context()),
             .tensor = std::max(1, go.mesh().tensor())};
  }
  MUSTER_RETURN_IF_ERROR(shape.Check(world_size));
  return shape;
}

absl::StatusOr<std::unique_ptr<RoundMesh>> RoundMesh::Connect(const v1alpha1::GoRound& go, int rank,
                                                              int world_size, RoundNetwork& network,
                                                              Inbox& inbox) {
  MUSTER_ASSIGN_OR_RETURN(const MeshShape shape, MeshShapeOf(go, world_size));
  const GroupPlace place{.round = go.round(), .rank = rank, .size = world_size};
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> world,
                          Meet(place, go.endpoint(), network, inbox));
  const auto make = [&](const std::string& tag, const std::vector<int>& ranks, int world_rank) {
    GroupPlace inside = place;
    inside.group = tag;
    inside.rank =
        static_cast<int>(std::find(ranks.begin(), ranks.end(), world_rank) - ranks.begin());
    inside.size = static_cast<int>(ranks.size());
    return Meet(inside, go.endpoint(), network, inbox);
  };
  MUSTER_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Create(shape, *world, make));
  MUSTER_ASSIGN_OR_RETURN(const RoundGroups groups, MakeGroups(mesh, *world));
  return std::unique_ptr<RoundMesh>(
      new RoundMesh(std::move(world), std::move(mesh), groups, inbox));
}

RoundMesh::RoundMesh(std::unique_ptr<Communicator> world, Mesh mesh, const RoundGroups& groups,
                     Inbox& inbox)
    : world_(std::move(world)), mesh_(std::move(mesh)), groups_(groups), inbox_(inbox) {
  inbox_.SetAbort([all = mesh_.communicators()](std::string_view why) {
    for (Communicator* communicator : all) communicator->Abort(why);
  });
}

void RoundMesh::Abort(std::string_view why) {
  inbox_.SetAbort(nullptr);
  for (Communicator* communicator : mesh_.communicators()) communicator->Abort(why);
}

}  // namespace muster::trainer
