#include "operator/scheduler/gang/gang_placer.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/scheduler/gang/placer_fixture.h"

namespace muster::control {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Makes an affinity by labels that the tree has no level for.
Json TogetherBy(const std::vector<std::string>& labels) {
  Json spec;
  Want(spec, "podAffinity", "gang", labels);
  return spec;
}

// Counts workers by the first letter of their nodes' names.
std::map<char, int> ByLetter(const PlacementAnswer& answer) {
  std::map<char, int> workers;
  const auto* completion = std::get_if<Completion>(&answer);
  if (completion == nullptr) {
    ADD_FAILURE() << std::get<PlacementRefusal>(answer).sentence;
    return workers;
  }
  for (const auto& [worker, node] : completion->nodes) ++workers[node[0]];
  return workers;
}

std::string SentenceOf(const PlacementAnswer& answer) {
  const auto* no = std::get_if<PlacementRefusal>(&answer);
  if (no == nullptr) return "it has been placed";
  EXPECT_EQ(no->reason, kConstraintsReason);
  return no->sentence;
}

TEST(GangPlacerTest, AnElasticGangTakesTheDomainOfItsAffinityThatHoldsMostOfIt) {
  PlacerWorld world;
  world.AddNode("a0", 2, {{"rack", "a"}});
  for (int i = 0; i < 8; ++i) world.AddNode(absl::StrCat("b", i), 1, {{"rack", "b"}});
  world.AddNode("c0", 3, {{"rack", "c"}});
  world.SetGang(2, 8, TogetherBy({"rack"}));
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'b', 8}}));
}

TEST(GangPlacerTest, TheTightestDomainThatHoldsTheGangIsTaken) {
  PlacerWorld world;
  world.AddNode("x0", 2, {{"rack", "x"}});
  for (int i = 0; i < 5; ++i) world.AddNode(absl::StrCat("a", i), 1, {{"rack", "a"}});
  for (int i = 0; i < 4; ++i) world.AddNode(absl::StrCat("b", i), 1, {{"rack", "b"}});
  world.SetGang(4, 4, TogetherBy({"rack"}));
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'b', 4}}));
}

TEST(GangPlacerTest, DomainsWithoutRoomForTheGangAreNotTried) {
  PlacerWorld world;
  for (int i = 100; i < 200; ++i) {
    world.AddNode(absl::StrCat("n", i), 1, {{"rack", absl::StrCat("rack-", i)}});
  }
  world.AddNode("z0", 1, {{"rack", "rack-199"}});
  world.SetGang(2, 2, TogetherBy({"rack"}));
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'n', 1}, {'z', 1}}));
}

TEST(GangPlacerTest, WithoutADomainThatIsLargeEnoughTheBestIsNamed) {
  PlacerWorld world;
  world.AddNode("a0", 2, {{"rack", "a"}});
  world.AddNode("b0", 3, {{"rack", "b"}});
  world.SetGang(4, 4, TogetherBy({"rack"}));
  EXPECT_EQ(SentenceOf(world.Place()),
            "its pods want to be in one domain of rack, and the best has room for 3 of at least 4 "
            "workers");
}

// Each rack is a row of its own, and no row may have two workers.
TEST(GangPlacerTest, ARefusalSaysThatTheSearchWasCut) {
  Json spec = TogetherBy({"rack"});
  Want(spec, "podAntiAffinity", "gang", {"row"});
  for (const int racks : {64, 65}) {
    PlacerWorld world;
    for (int i = 0; i < racks; ++i) {
      const std::string rack = absl::StrCat("r", i);
      for (const char* node : {"a", "b"}) {
        world.AddNode(absl::StrCat(rack, node), 1, {{"rack", rack}, {"row", rack}});
      }
    }
    world.SetGang(2, 2, spec);
    const std::string sentence = SentenceOf(world.Place());
    const char* const cut = "; only the 64 domains with most room were tried";
    EXPECT_THAT(sentence, HasSubstr("its pods are in each other's way: after 1 of 2 workers"));
    if (racks == 64) {
      EXPECT_THAT(sentence, Not(HasSubstr(cut)));
    } else {
      EXPECT_THAT(sentence, EndsWith(cut));
    }
  }
}

TEST(GangPlacerTest, ADomainOfTheAffinityWhoseRoomIsNotForOneGangIsPassedOver) {
  PlacerWorld world;
  world.AddNode("a0", 1, {{"rack", "a"}, {"row", "1"}});
  world.AddNode("a1", 1, {{"rack", "a"}, {"row", "1"}});
  world.AddNode("b0", 1, {{"rack", "b"}, {"row", "1"}});
  world.AddNode("b1", 1, {{"rack", "b"}, {"row", "1"}});
  world.AddNode("b2", 1, {{"rack", "b"}, {"row", "2"}});
  Json spec = TogetherBy({"rack"});
  Want(spec, "podAntiAffinity", "gang", {"row"});
  world.SetGang(2, 2, spec);
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'b', 2}}));
}

// Racks of different rows share a name.
TEST(GangPlacerTest, AnAffinityByTwoLabelsIsKeptByBoth) {
  PlacerWorld world;
  world.AddNode("a0", 1, {{"row", "1"}, {"rack", "a"}});
  world.AddNode("b0", 1, {{"row", "2"}, {"rack", "a"}});
  world.AddNode("b1", 1, {{"row", "2"}, {"rack", "a"}});
  world.SetGang(2, 2, TogetherBy({"rack", "row"}));
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'b', 2}}));
}

// The spread allows only one worker on each node at first.
TEST(GangPlacerTest, AnElasticGangUnderASpreadIsAsLargeAsTheSpreadAllows) {
  PlacerWorld world;
  world.AddNode("a0", 3);
  world.AddNode("b0", 3);
  Json spec;
  Spread(spec, "kubernetes.io/hostname", 1);
  world.SetGang(2, 4, spec);
  EXPECT_EQ(ByLetter(world.Place()), (std::map<char, int>{{'a', 2}, {'b', 2}}));
}

TEST(GangPlacerTest, SlicesAreKeptWholeWhereWorkersArePlacedOneByOne) {
  PlacerWorld world;
  world.AddNode("a0", 2, {{"rack", "a"}});
  world.AddNode("a1", 2, {{"rack", "a"}});
  world.AddNode("b0", 1, {{"rack", "b"}});
  world.AddNode("b1", 2, {{"rack", "b"}});
  Json spec;
  Spread(spec, "rack", 2);
  world.SetGang(2, 6, spec);
  world.gang.request.slices = {{2, kHostLevel}};
  const PlacementAnswer answer = world.Place();
  ASSERT_EQ(ByLetter(answer), (std::map<char, int>{{'a', 4}, {'b', 2}}));
  const std::map<int, std::string>& nodes = std::get<Completion>(answer).nodes;
  for (const int worker : {0, 2, 4}) EXPECT_EQ(nodes.at(worker), nodes.at(worker + 1));
}

TEST(GangPlacerTest, TheScoreIsOfTheModelsLinks) {
  for (const bool spread : {false, true}) {
    PlacerWorld world;
    world.AddNode("a0", 1, {{"rack", "a"}});
    world.AddNode("a1", 1, {{"rack", "a"}});
    world.AddNode("b0", 1, {{"rack", "b"}});
    world.model.SetLevels(std::vector<std::string>{"rack"});
    world.model.SetLinks({{"rack", {25, 0}}, {"", {5, 0}}});
    Json spec = Json::object();
    if (spread) Want(spec, "podAntiAffinity", "gang", {"rack"});
    world.SetGang(2, 2, spec);
    const PlacementAnswer answer = world.Place();
    // 2 (k - 1) steps of 1 GB / k at the links' rates.
    EXPECT_NEAR(std::get<Completion>(answer).gang.ring_seconds, spread ? 1.0 / 5 : 1.0 / 25, 1e-6);
  }
}

}  // namespace
}  // namespace muster::control
