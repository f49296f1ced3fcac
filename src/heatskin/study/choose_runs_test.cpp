// A part of a study: runs chosen by mesh and method keep their places in the whole plan.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/study/study.h"

namespace heatskin::study {
namespace {

StudyRun chosenFrom(const std::string& mesh, const std::string& method) {
  StudyRun run;
  run.name = mesh + "_" + method;
  run.work["mesh"]["name"] = mesh;
  if (!method.empty()) run.work["method"]["name"] = method;
  return run;
}

std::vector<StudyRun> wholePlan() {
  return {chosenFrom("cow", "pf"), chosenFrom("cow", "pq"), chosenFrom("fox", "pf"), chosenFrom("fox", "pq"),
          chosenFrom("fox", "")};
}

std::string namesOf(const std::vector<std::string>& meshes, const std::vector<std::string>& methods) {
  const auto chosen = chooseRuns(wholePlan(), meshes, methods);
  if (!chosen) return chosen.error().message;
  std::string names;
  for (const StudyRun& run : *chosen)
    names += run.name + std::to_string(*run.place) + " ";
  return names;
}

TEST(ChooseRuns, ByMeshAndMethod) {
  EXPECT_EQ(namesOf({}, {}), "cow_pf0 cow_pq1 fox_pf2 fox_pq3 fox_4 ");
  EXPECT_EQ(namesOf({"fox"}, {}), "fox_pf2 fox_pq3 fox_4 ");
  EXPECT_EQ(namesOf({}, {"pq"}), "cow_pq1 fox_pq3 fox_4 ");
  EXPECT_EQ(namesOf({"cow"}, {"pq", "pf"}), "cow_pf0 cow_pq1 ");
}

TEST(ChooseRuns, UnknownNamesAreRefused) {
  EXPECT_EQ(namesOf({"cow", "dog"}, {}), "the study has no mesh 'dog'; it has cow, fox");
  EXPECT_EQ(namesOf({}, {"hktex"}), "the study has no method 'hktex'; it has pf, pq");
}

}  // namespace
}  // namespace heatskin::study
