#include "trainer/cuda/fake_nccl.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "c10/util/BFloat16.h"
#include "c10/util/Half.h"
#include "trainer/cuda/fake_stream.h"

namespace muster::trainer::cuda {
namespace {

enum class Kind { kAllReduce, kReduceScatter, kAllGather, kBroadcast };

// One rank's part in a collective.
struct Part {
  Kind kind = Kind::kAllReduce;
  const char* from = nullptr;
  char* to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;
};

struct Collective {
  std::map<int, Part> parts;
  bool done = false;
};

struct Mailbox {
  std::deque<std::vector<char>> messages;
  int64_t sent = 0, received = 0;
};

// Shared by the ranks of one unique id.
struct Hub {
  Mutex mu;
  CondVar changed;
  int size MUSTER_GUARDED_BY(mu) = 0;
  std::set<int> here MUSTER_GUARDED_BY(mu);
  std::set<int> gone MUSTER_GUARDED_BY(mu);
  bool broken MUSTER_GUARDED_BY(mu) = false;  // a rank was aborted
  std::map<int64_t, Collective> collectives MUSTER_GUARDED_BY(mu);
  std::map<std::pair<int, int>, Mailbox> mail MUSTER_GUARDED_BY(mu);
};

// One rank's place in a hub; operations on a stream may outlive its handle.
struct Place {
  std::shared_ptr<Hub> hub;
  int rank = 0;
  int64_t collectives = 0;  // issued so far
  bool aborted = false;     // guarded by hub->mu
  ncclResult_t error = ncclSuccess;
};

struct Registry {
  Mutex mu;
  int64_t ids MUSTER_GUARDED_BY(mu) = 0;
  std::map<std::string, std::shared_ptr<Hub>> hubs MUSTER_GUARDED_BY(mu);
  std::map<ncclComm_t, std::shared_ptr<Place>> handles MUSTER_GUARDED_BY(mu);
  int64_t next_handle MUSTER_GUARDED_BY(mu) = 16;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

std::shared_ptr<Place> PlaceOf(ncclComm_t comm) {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mu);
  const auto found = registry.handles.find(comm);
  if (found == registry.handles.end()) {
    std::fprintf(stderr, "fake NCCL: a communicator is used after its end\n");
    std::abort();
  }
  return found->second;
}

size_t SizeOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
    case ncclInt64:
      return 8;
    case ncclBfloat16:
    case ncclFloat16:
      return 2;
    case ncclUint8:
      return 1;
    default:
      return 4;
  }
}

template <typename T>
void Reduce(const std::map<int, Part>& parts, size_t begin, size_t count, T* to) {
  std::vector<T> result(count);
  bool first = true;
  for (const auto& [rank, part] : parts) {
    const T* from = reinterpret_cast<const T*>(part.from) + begin;
    for (size_t i = 0; i < count; ++i) {
      if (first) {
        result[i] = from[i];
      } else if (part.op == ncclSum) {
        result[i] = static_cast<T>(result[i] + from[i]);
      } else {
        result[i] =
            part.op == ncclMax ? std::max(result[i], from[i]) : std::min(result[i], from[i]);
      }
    }
    first = false;
  }
  std::memcpy(to, result.data(), count * sizeof(T));
}

void ReduceAs(ncclDataType_t type, const std::map<int, Part>& parts, size_t begin, size_t count,
              void* to) {
  if (type == ncclFloat64) return Reduce(parts, begin, count, static_cast<double*>(to));
  if (type == ncclInt64) return Reduce(parts, begin, count, static_cast<int64_t*>(to));
  if (type == ncclBfloat16) return Reduce(parts, begin, count, static_cast<c10::BFloat16*>(to));
  if (type == ncclFloat16) return Reduce(parts, begin, count, static_cast<c10::Half*>(to));
  if (type == ncclUint8) return Reduce(parts, begin, count, static_cast<uint8_t*>(to));
  Reduce(parts, begin, count, static_cast<float*>(to));
}

// Inputs may be outputs, so all results are made before one is written.
void CarryOut(const std::map<int, Part>& parts) {
  std::map<int, std::vector<char>> results;
  const Part& one = parts.begin()->second;
  const size_t bytes = one.count * SizeOf(one.type);
  for (const auto& [rank, part] : parts) {
    std::vector<char>& result = results[rank];
    const auto number = static_cast<size_t>(rank);
    if (part.kind == Kind::kAllReduce || part.kind == Kind::kReduceScatter) {
      result.resize(bytes);
      ReduceAs(part.type, parts, part.kind == Kind::kAllReduce ? 0 : number * part.count,
               part.count, result.data());
    } else if (part.kind == Kind::kBroadcast) {
      const char* from = parts.at(part.root).from;
      result.assign(from, from + bytes);
    } else {
      for (const auto& [other, theirs] : parts) {
        result.insert(result.end(), theirs.from, theirs.from + bytes);
      }
    }
  }
  for (const auto& [rank, part] : parts) {
    std::memcpy(part.to, results[rank].data(), results[rank].size());
  }
}

// Waits until `done`, and returns true, or until the rank is aborted: its memory may then be gone.
// Meanwhile `lost` tells whether a peer that is needed is gone.
bool WaitFor(Hub& hub, Place& place, const std::function<bool()>& done,
             const std::function<bool()>& lost) MUSTER_REQUIRES(hub.mu) {
  while (!place.aborted && !done()) {
    if (lost()) place.error = ncclRemoteError;
    hub.changed.Wait(hub.mu);
  }
  return !place.aborted;
}

void RunCollective(const std::shared_ptr<Place>& place, int64_t number, const Part& part) {
  Hub& hub = *place->hub;
  MutexLock lock(hub.mu);
  if (place->aborted) return;
  Collective& collective = hub.collectives[number];
  collective.parts[place->rank] = part;
  if (static_cast<int>(collective.parts.size()) == hub.size && !hub.broken) {
    CarryOut(collective.parts);
    collective.done = true;
    hub.changed.NotifyAll();
  }
  (void)WaitFor(
      hub, *place, [&] { return collective.done; },
      [&hub]() MUSTER_REQUIRES(hub.mu) { return hub.broken || !hub.gone.empty(); });
}

struct Message {
  std::shared_ptr<Place> place;
  bool sends = false;
  const char* from = nullptr;
  char* to = nullptr;
  size_t bytes = 0;
  int peer = 0;
};

// The messages of one group make progress together: all are sent, then received, and then the group
// ends when the peers have received theirs.
void RunMessages(const std::vector<Message>& messages) {
  Place& place = *messages[0].place;
  Hub& hub = *place.hub;
  MutexLock lock(hub.mu);
  if (place.aborted) return;
  for (const Message& message : messages) {
    if (!message.sends) continue;
    Mailbox& box = hub.mail[{place.rank, message.peer}];
    box.messages.emplace_back(message.from, message.from + message.bytes);
    ++box.sent;
  }
  hub.changed.NotifyAll();
  for (const Message& message : messages) {
    if (message.sends) continue;
    Mailbox& box = hub.mail[{message.peer, place.rank}];
    auto lost = [&]() MUSTER_REQUIRES(hub.mu) {
      return hub.broken || hub.gone.contains(message.peer);
    };
    if (!WaitFor(hub, place, [&] { return !box.messages.empty(); }, lost)) return;
    std::memcpy(message.to, box.messages.front().data(),
                std::min(message.bytes, box.messages.front().size()));
    box.messages.pop_front();
    ++box.received;
    hub.changed.NotifyAll();
  }
  for (const Message& message : messages) {
    if (!message.sends) continue;
    Mailbox& box = hub.mail[{place.rank, message.peer}];
    auto lost = [&]() MUSTER_REQUIRES(hub.mu) {
      return hub.broken || hub.gone.contains(message.peer);
    };
    if (!WaitFor(hub, place, [&, sent = box.sent] { return box.received >= sent; }, lost)) return;
  }
}

struct ThreadGroup {
  int depth = 0;
  std::vector<std::pair<FakeStream*, Message>> messages;
};
thread_local ThreadGroup thread_group;

ncclResult_t Issue(ncclComm_t comm, cudaStream_t stream, Part part) {
  if (thread_group.depth > 0) return ncclInvalidUsage;  // muster never groups collectives
  const std::shared_ptr<Place> place = PlaceOf(comm);
  const int64_t number = place->collectives++;
  reinterpret_cast<FakeStream*>(stream)->Add(
      [place, number, part] { RunCollective(place, number, part); });
  return ncclInProgress;
}

ncclResult_t IssueMessage(ncclComm_t comm, cudaStream_t stream, Message message) {
  message.place = PlaceOf(comm);
  if (thread_group.depth > 0) {
    thread_group.messages.emplace_back(reinterpret_cast<FakeStream*>(stream), message);
    return ncclSuccess;
  }
  reinterpret_cast<FakeStream*>(stream)->Add([message] { RunMessages({message}); });
  return ncclSuccess;
}

ncclResult_t GetUniqueId(ncclUniqueId* id) {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mu);
  std::snprintf(id->internal, sizeof(id->internal), "fake %lld",
                static_cast<long long>(++registry.ids));
  return ncclSuccess;
}

ncclResult_t Init(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0) return ncclInvalidUsage;
  Registry& registry = TheRegistry();
  auto place = std::make_shared<Place>();
  MutexLock lock(registry.mu);
  std::shared_ptr<Hub>& hub = registry.hubs[id.internal];
  if (hub == nullptr) hub = std::make_shared<Hub>();
  place->hub = hub;
  place->rank = rank;
  *comm = reinterpret_cast<ncclComm_t>(registry.next_handle += 16);
  registry.handles[*comm] = place;
  MutexLock hub_lock(hub->mu);
  hub->size = size;
  hub->here.insert(rank);
  return ncclInProgress;
}

ncclResult_t AsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::shared_ptr<Place> place = PlaceOf(comm);
  MutexLock lock(place->hub->mu);
  *error = place->error;
  if (place->error == ncclSuccess && static_cast<int>(place->hub->here.size()) < place->hub->size) {
    *error = ncclInProgress;
  }
  return ncclSuccess;
}

void Leave(ncclComm_t comm, bool aborts) {
  const std::shared_ptr<Place> place = PlaceOf(comm);
  {
    MutexLock lock(place->hub->mu);
    place->aborted = true;
    place->hub->gone.insert(place->rank);
    if (aborts) place->hub->broken = true;
    place->hub->changed.NotifyAll();
  }
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mu);
  registry.handles.erase(comm);
}

const char* ErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "unhandled error";
}

ncclResult_t GroupEnd() {
  if (--thread_group.depth > 0 || thread_group.messages.empty()) return ncclSuccess;
  std::vector<Message> messages;
  FakeStream* const stream = thread_group.messages[0].first;
  for (auto& [queue, message] : thread_group.messages) messages.push_back(std::move(message));
  thread_group.messages.clear();
  stream->Add([messages = std::move(messages)] { RunMessages(messages); });
  return ncclInProgress;
}

}  // namespace

NcclApi FakeNccl() {
  NcclApi api;
  api.get_version = [](int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  };
  api.get_unique_id = GetUniqueId;
  api.get_error_string = ErrorString;
  api.comm_init_rank_config = Init;
  api.comm_get_async_error = AsyncError;
  api.comm_finalize = [](ncclComm_t comm) {
    (void)PlaceOf(comm);
    return ncclInProgress;
  };
  api.comm_destroy = [](ncclComm_t comm) {
    Leave(comm, /*aborts=*/false);
    return ncclSuccess;
  };
  api.comm_abort = [](ncclComm_t comm) {
    Leave(comm, /*aborts=*/true);
    return ncclSuccess;
  };
  api.group_start = [] {
    ++thread_group.depth;
    return ncclSuccess;
  };
  api.group_end = GroupEnd;
  api.all_reduce = [](const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                      ncclComm_t comm, cudaStream_t stream) {
    return Issue(comm, stream,
                 {Kind::kAllReduce, static_cast<const char*>(from), static_cast<char*>(to), count,
                  type, op});
  };
  api.reduce_scatter = [](const void* from, void* to, size_t count, ncclDataType_t type,
                          ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return Issue(comm, stream,
                 {Kind::kReduceScatter, static_cast<const char*>(from), static_cast<char*>(to),
                  count, type, op});
  };
  api.all_gather = [](const void* from, void* to, size_t count, ncclDataType_t type,
                      ncclComm_t comm, cudaStream_t stream) {
    return Issue(
        comm, stream,
        {Kind::kAllGather, static_cast<const char*>(from), static_cast<char*>(to), count, type});
  };
  api.broadcast = [](const void* from, void* to, size_t count, ncclDataType_t type, int root,
                     ncclComm_t comm, cudaStream_t stream) {
    return Issue(comm, stream,
                 {Kind::kBroadcast, static_cast<const char*>(from), static_cast<char*>(to), count,
                  type, ncclSum, root});
  };
  api.send = [](const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                cudaStream_t stream) {
    return IssueMessage(comm, stream,
                        {.sends = true,
                         .from = static_cast<const char*>(from),
                         .bytes = count * SizeOf(type),
                         .peer = peer});
  };
  api.recv = [](void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                cudaStream_t stream) {
    return IssueMessage(
        comm, stream, {.to = static_cast<char*>(to), .bytes = count * SizeOf(type), .peer = peer});
  };
  return api;
}

}  // namespace muster::trainer::cuda
