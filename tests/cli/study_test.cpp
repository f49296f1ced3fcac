// `heatskin study`: smoke versions of all studies, and what is promised about interruptions, repetitions and
// merging.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

// Embedded images are base64, which may spell anything, "nan" included.
std::string withoutImages(std::string svg) {
  const std::string mark = "data:image/";
  for (std::size_t at = svg.find(mark); at != std::string::npos; at = svg.find(mark, at)) {
    const std::size_t end = svg.find('"', at);
    svg.erase(at, end == std::string::npos ? end : end - at);
  }
  return svg;
}

class StudyCli : public ::testing::Test {
 protected:
  std::vector<std::string> names() {
    const auto list = runHeatskin({"study", "--list"});
    EXPECT_EQ(list.exit_code, 0) << list.err;
    std::vector<std::string> names;
    std::size_t at = 0;
    for (std::size_t end = list.out.find('\n'); end != std::string::npos;
         at = end + 1, end = list.out.find('\n', at))
      names.push_back(list.out.substr(at, end - at));
    return names;
  }
  json parsed(const std::string& file) { return json::parse(folder_.read(file), nullptr, false); }

  TemporaryFolder folder_;
};

TEST_F(StudyCli, ListsItsStudies) {
  const auto found = names();
  for (const char* name : {"locality", "geometry", "quality", "efficiency", "scaling", "thermal", "spectral",
                           "ablation", "coverage", "folds", "gallery"})
    EXPECT_NE(std::find(found.begin(), found.end(), name), found.end()) << name;
}

TEST_F(StudyCli, QuickVersionsOfAllStudiesWork) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  for (const std::string& name : names()) {
    const auto outcome = runHeatskin({"study", name, "--quick", "-o", folder_ / "out"});
    ASSERT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    const json report = parsed("out/" + name + ".json");
    ASSERT_TRUE(report.is_object()) << name;
    EXPECT_EQ(report.at("study"), name);
    ASSERT_FALSE(report.at("rows").empty()) << name;
    for (const json& row : report.at("rows"))
      EXPECT_TRUE(row.at("error").is_null()) << name << " " << row.at("run") << ": " << row.at("error");
    EXPECT_EQ(folder_.read("out/" + name + ".csv").substr(0, 4), "run,") << name;
    EXPECT_EQ(folder_.read("out/" + name + ".md").substr(0, 2), "# ") << name;
    const std::string svg = folder_.read("out/" + name + ".svg");
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_EQ(withoutImages(svg).find("nan"), std::string::npos) << name;
  }
}

// A manifest with one cheap method; the same bytes from another number of jobs, from rows of an earlier run
// and from merged halves.
TEST_F(StudyCli, SameBytesHoweverItWasMade) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  const std::string manifest =
      folder_.write("m.toml",
                    "[[method]]\nname = \"pq\"\n"
                    "[[mesh]]\nname = \"p\"\nresolution = 500\ntexture_size = 256\n");
  const auto study = [&](const std::string& to, const std::string& seeds, const std::string& jobs) {
    const auto outcome = runHeatskin({"study", "quality", "--quick", "--manifest", manifest, "--seeds", seeds,
                                      "--jobs", jobs, "-o", folder_ / to});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome;
  };
  study("a", "0,1", "1");
  study("b", "0,1", "2");
  const std::string rows_before = folder_.read("a/rows/quality.tiny_main_pq_s1.json");
  // "heatskin 0.1.0 (commit, Release, AVX2)": version and commit are part of the row's program.
  const std::string version = runHeatskin({"--version"}).out;
  const std::string program = json::parse(rows_before).at("program");
  EXPECT_EQ(program.substr(0, program.find(' ')), version.substr(9, version.find_first_of(" \n", 9) - 9));
  const std::size_t at = version.find('(') + 1, end = version.find(',', at);
  // Without git there is no commit: build type and vector instructions alone.
  if (version.find(',', end + 1) != std::string::npos) {
    EXPECT_EQ(program.substr(program.rfind(' ') + 1), version.substr(at, end - at));
  }
  study("a", "0,1", "1");
  EXPECT_EQ(folder_.read("a/rows/quality.tiny_main_pq_s1.json"), rows_before)
      << "not repeated: times are the same";
  for (const char* ending : {".json", ".csv", ".md", ".svg"})
    EXPECT_EQ(folder_.read(std::string("a/quality") + ending),
              folder_.read(std::string("b/quality") + ending));

  study("c", "0", "1");
  study("d", "1", "1");
  const auto merged = runHeatskin({"study", "merge", folder_ / "c", folder_ / "d", "-o", folder_ / "e"});
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(folder_.read("e/quality.csv"), folder_.read("a/quality.csv"));
}

TEST_F(StudyCli, AFailedRunIsARow) {
  folder_.write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");  // nothing to fit
  const std::string manifest =
      folder_.write("m.toml", "[[method]]\nname = \"pq\"\n[[mesh]]\nfile = \"bad.obj\"\n");
  const auto outcome =
      runHeatskin({"study", "quality", "--manifest", manifest, "--seeds", "0", "-o", folder_ / "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json row = parsed("out/quality.json").at("rows").at(0);
  EXPECT_TRUE(row.at("error").is_string() || row.contains("refused")) << row.dump();
  const auto slow = runHeatskin(
      {"study", "quality", "--quick", "--seeds", "0", "--max-run-seconds", "0.001", "-o", folder_ / "slow"});
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  EXPECT_EQ(parsed("slow/quality.json").at("rows").at(0).at("error"),
            "the time limit of 0.001 s was reached");
}

TEST_F(StudyCli, AnInterruptKeepsWhatIsFinished) {
  if (sanitized()) GTEST_SKIP() << "takes minutes under sanitizers";
  ProcessOptions options;
  options.signal_number = SIGINT;
  const std::filesystem::path rows = folder_.path() / "out" / "rows";
  const auto finished = [&] {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(rows, ignored)) {
      if (entry.path().extension() == ".json") return true;
    }
    return false;
  };
  options.signal_when = finished;
  const std::string manifest = folder_.write("m.toml", "[[method]]\nname = \"pq\"\n");
  const std::vector<std::string> command = {"study",  "quality", "--quick",      "--jobs",
                                            "1",      "--seeds", "0,1,2,3",      "--manifest",
                                            manifest, "-o",      folder_ / "out"};
  const auto outcome = runHeatskin(command, options);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_TRUE(finished());
  for (const auto& entry : std::filesystem::directory_iterator(rows))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".running")) << "left behind: " << entry.path();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out" / "quality.json"));
  EXPECT_EQ(runHeatskin(command).exit_code, 0);
}

TEST_F(StudyCli, WrongUsageIsSaidInOneLine) {
  const auto problem = [&](const std::vector<std::string>& arguments, int code) {
    const auto outcome = runHeatskin(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(problem({"study"}, 2).find("quality"), std::string::npos);
  EXPECT_NE(problem({"study", "qualty", "-o", folder_ / "x"}, 2).find("there is no study 'qualty'"),
            std::string::npos);
  EXPECT_NE(problem({"study", "quality"}, 2).find("-o DIR"), std::string::npos);
  EXPECT_NE(problem({"study", "quality", "-o", folder_ / "x", "--seeds", "1,,2"}, 2).find("--seeds"),
            std::string::npos);
  EXPECT_NE(
      problem({"study", "quality", "-o", folder_ / "x", "--assets", folder_ / "gone"}, 3).find("--assets"),
      std::string::npos);
  EXPECT_NE(problem({"study", "merge", "-o", folder_ / "x"}, 2).find("FOLDERS"), std::string::npos);
  EXPECT_NE(problem({"study", "merge", folder_ / "gone", "-o", folder_ / "x"}, 3).find("no rows"),
            std::string::npos);
  const std::string manifest = folder_.write("m.toml", "meshes = 3\n");
  EXPECT_NE(problem({"study", "quality", "-o", folder_ / "x", "--manifest", manifest}, 3).find("line 1"),
            std::string::npos);
}

}  // namespace
}  // namespace heatskin::testing
