// What heatskin does to files: no output replaces an input or another output, what cannot be written is found
// before the work, and whatever happens leaves no half of a result behind.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>

#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/tetrahedron.h"

namespace heatskin::testing {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;

constexpr const char* kOutputsConfig =
    "base = \"draft\"\n"
    "steps = 20\n"
    "batch = 256\n"
    "[sampling]\npool = 5000\n"
    "[start]\nkernels = 100\n"
    "[density]\nmax_kernels = 300\n";

class Outputs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"demo-asset", "-o", at("a.glb"), "--resolution", "500", "--texture", "256", "-q"}), 0);
    folder_.write("small.toml", kOutputsConfig);
  }

  std::string at(const std::string& name) const { return folder_ / name; }

  int run(const std::vector<std::string>& arguments, const ProcessOptions& options = {}) {
    last_ = runHeatskin(arguments, options);
    return last_.exit_code;
  }

  std::vector<std::string> fit(const std::string& output, std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"fit", at("a.glb"), "-o", at(output), "--config", at("small.toml"), "--no-eval"});
    return more;
  }

  void makeProduct() { ASSERT_EQ(run(fit("p.glb", {"-q"})), 0) << last_.err; }

  /// Everything in the folder with its content: what a refusal must not change.
  std::set<std::pair<std::string, std::string>> contents() const {
    std::set<std::pair<std::string, std::string>> result;
    for (const std::string& name : folder_.names()) {
      std::error_code circle;
      result.emplace(name, fs::is_regular_file(at(name), circle) ? folder_.read(name) : "");
    }
    return result;
  }

  /// Refused in one line with `part`, and nothing in the folder has changed.
  void expectRefused(const std::vector<std::string>& arguments, int code, const std::string& part) {
    const auto before = contents();
    EXPECT_EQ(run(arguments), code) << last_.err << last_.out;
    EXPECT_EQ(std::count(last_.err.begin(), last_.err.end(), '\n'), 1) << last_.err;
    EXPECT_NE(last_.err.find(part), std::string::npos) << "no '" << part << "' in " << last_.err;
    EXPECT_TRUE(contents() == before) << "something was changed: " << last_.err;
  }

  TemporaryFolder folder_;
  ProcessOutcome last_;
};

TEST_F(Outputs, NeverReplaceAnInput) {
  makeProduct();
  const std::string points = folder_.write("points.csv", "0,0,1\n");
  const std::string mesh = folder_.write("mesh.obj", kTetrahedron);
  ASSERT_EQ(run({"render", mesh, "-o", at("a.png"), "--size", "32", "-q"}), 0) << last_.err;
  fs::copy_file(at("a.png"), at("b.png"));
  const std::string replaced = "would be overwritten by ";
  expectRefused({"inspect", at("a.glb"), "--json", at("a.glb")}, 2, replaced + "--json");
  expectRefused(fit("o.glb", {"--json", at("a.glb")}), 2, replaced + "--json");
  expectRefused(fit("o.glb", {"--json", at("small.toml")}), 2, "is an input (--config)");
  expectRefused(fit("a.glb"), 2, "is an input (ASSET) and would be overwritten by -o");
  expectRefused(fit("small.glb"), 2, "is an input (--config)");
  expectRefused(fit("o.glb", {"--checkpoint", at("a.glb")}), 2, replaced + "the checkpoint");
  expectRefused({"compare", at("a.png"), at("b.png"), "-o", at("a.png")}, 2, "is an input (REFERENCE)");
  expectRefused({"compare", at("a.png"), at("b.png"), "-o", at("b.png")}, 2, "is an input (TEST)");
  expectRefused({"compare", at("a.png"), at("b.png"), "--mask", at("b.png"), "--json", at("b.png")}, 2,
                replaced + "--json");
  expectRefused({"query", at("p.glb"), "--points", points, "-o", points}, 2, "is an input (--points)");
  expectRefused({"query", at("p.glb"), "--points", points, "-o", at("o.csv"), "--json", at("p.glb")}, 2,
                "is an input (FILE)");
  expectRefused({"eval", at("p.glb"), "--reference", at("a.glb"), "--json", at("a.glb")}, 2,
                "is an input (--reference)");
  expectRefused({"render", at("p.glb"), "-o", at("o.png"), "--json", at("p.glb")}, 2, "is an input (FILE)");
  expectRefused({"bench", "load", "--asset", mesh, "--json", mesh}, 2, "is an input (--asset)");
}

TEST_F(Outputs, NeverReplaceOneAnother) {
  makeProduct();
  expectRefused(fit("o.glb", {"--json", at("o.glb")}), 2, "cannot hold both --json and -o");
  expectRefused(fit("o.glb", {"--json", at("o.toml")}), 2, "cannot hold both --json and the options");
  expectRefused(fit("o.glb", {"--json", at("o.glb.checkpoint")}), 2, "cannot hold both");
  expectRefused(fit("o.glb", {"--checkpoint", at("o.toml")}), 2, "cannot hold both");
  expectRefused({"render", at("a.glb"), "-o", at("o.png"), "--turntable", "3", "--json", at("o_2.png")}, 2,
                "cannot hold both --json and -o");
  expectRefused({"demo-asset", "-o", at("o.glb"), "--json", at("./o.glb")}, 2, "cannot hold both");
  expectRefused({"eval", at("p.glb"), "--reference", at("a.glb"), "--report", at("new"), "--json",
                 at("new/report.html")},
                2, "cannot hold both --json and --report");
  expectRefused({"demo", "-o", at("new"), "--json", at("new/pumpkin_fit.glb")}, 2, "cannot hold both");
}

TEST_F(Outputs, AFolderThatWasMadeForNothingGoes) {
  makeProduct();
  const std::vector<std::string> wrong = {"eval",      at("a.glb"), "--reference",
                                          at("a.glb"), "--report",  at("deep/new/page")};
  EXPECT_EQ(run(wrong), 3) << last_.err;  // the asset has no kernels
  EXPECT_FALSE(fs::exists(at("deep")));
  fs::create_directories(at("deep/new"));
  EXPECT_EQ(run(wrong), 3) << last_.err;
  EXPECT_TRUE(fs::exists(at("deep/new"))) << "was there before";
  EXPECT_FALSE(fs::exists(at("deep/new/page")));
}

TEST_F(Outputs, AreTheSameFileUnderEveryName) {
  fs::create_hard_link(at("a.glb"), at("hard.json"));
  fs::create_symlink("a.glb", at("soft.json"));
  fs::create_symlink("soft.json", at("softer.json"));
  fs::create_directory(at("sub"));
  fs::create_directory_symlink(folder_.path(), at("sub/back"));
  for (const char* name : {"hard.json", "soft.json", "softer.json", "sub/../a.glb", "sub/back/a.glb"})
    expectRefused({"inspect", at("a.glb"), "--json", at(name)}, 2, "is an input (FILE)");
  // Not there yet, but already the same.
  fs::create_symlink("o.glb", at("soon.json"));
  expectRefused({"demo-asset", "-o", at("o.glb"), "--json", at("soon.json")}, 2, "cannot hold both");
  expectRefused({"demo-asset", "-o", at("o.glb"), "--json", at("sub/back/o.glb")}, 2, "cannot hold both");
  ProcessOptions here;
  here.folder = folder_.path().string();
  EXPECT_EQ(run({"inspect", "a.glb", "--json", at("a.glb")}, here), 2) << last_.err;
}

TEST_F(Outputs, SpareTheFilesAnAssetConsistsOf) {
  folder_.write("mesh.mtl", "newmtl m\nmap_Kd tex.png\n");
  ASSERT_EQ(run({"render", at("a.glb"), "-o", at("tex.png"), "--size", "16", "-q"}), 0);
  const std::string mesh = folder_.write(
      "mesh.obj",
      "mtllib mesh.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n");
  expectRefused({"inspect", mesh, "--json", at("tex.png")}, 2, "is an input (part of mesh.obj)");
  expectRefused({"inspect", mesh, "--json", at("mesh.mtl")}, 2, "is an input (part of mesh.obj)");
  expectRefused({"render", mesh, "-o", at("tex.png")}, 2, "is an input (part of mesh.obj)");
  const std::string positions(36, '\0');
  folder_.write("data.bin", positions);
  const std::string gltf =
      folder_.write("m.gltf",
                    R"({"asset":{"version":"2.0"},"buffers":[{"uri":"data.bin","byteLength":36}],
          "bufferViews":[{"buffer":0,"byteLength":36}],
          "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[0,0,0]}],
          "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],
          "scenes":[{"nodes":[0]}],"scene":0})");
  expectRefused({"inspect", gltf, "--json", at("data.bin")}, 2, "is an input (part of m.gltf)");
}

TEST_F(Outputs, GoToStandardOutputHoweverItIsNamed) {
  for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    ASSERT_EQ(run({"inspect", at("a.glb"), "--json", name}), 0) << last_.err;
    EXPECT_FALSE(json::parse(last_.out, nullptr, false).is_discarded()) << name << last_.out;
  }
  EXPECT_EQ(run({"inspect", at("a.glb"), "--json", "/dev/null"}), 0) << last_.err;
  // Redirected into a file, /dev/stdout is that file and not a name to replace.
  const auto redirected = runProcess({"/bin/sh", "-c",
                                      "'" + heatskinBinary() + "' inspect '" + at("a.glb") +
                                          "' --json /dev/stdout > '" + at("r.json") + "'"});
  EXPECT_EQ(redirected.exit_code, 0) << redirected.err;
  EXPECT_FALSE(json::parse(folder_.read("r.json"), nullptr, false).is_discarded());
  EXPECT_TRUE(fs::is_symlink("/dev/stdout"));
  // Standard input may be an output's file, too.
  makeProduct();
  folder_.write("points.csv", "0,0,1\n");
  const auto both = runProcess({"/bin/sh", "-c",
                                "'" + heatskinBinary() + "' query '" + at("p.glb") + "' --points - -o '" +
                                    at("points.csv") + "' < '" + at("points.csv") + "'"});
  EXPECT_EQ(both.exit_code, 2) << both.err;
  EXPECT_EQ(folder_.read("points.csv"), "0,0,1\n");
}

TEST_F(Outputs, ThatCannotBeWrittenAreFoundBeforeTheWork) {
  const std::string longest(251, 'n');
  expectRefused({"demo-asset", "-o", at(longest + "x.glb")}, 1, "the file name is too long (256 bytes)");
  ASSERT_EQ(run({"demo-asset", "-o", at(longest + ".glb"), "--resolution", "500", "--texture", "256", "-q"}),
            0)
      << "255 bytes are allowed, and a temporary file is made all the same: " << last_.err;
  // The product's name fits, but that of what lies beside it does not.
  expectRefused(fit(std::string(246, 'f') + ".glb"), 1, "the file name is too long");
  expectRefused(fit("no/o.glb"), 1, "does not exist; create it first");
  expectRefused(fit("a.glb/o.glb"), 1, "");

  fs::permissions(folder_.write("kept.json", "mine"), fs::perms::owner_read);
  expectRefused({"inspect", at("a.glb"), "--json", at("kept.json")}, 1, "is write-protected");
  fs::permissions(folder_.write("kept.glb", "mine"), fs::perms::owner_read | fs::perms::group_read);
  expectRefused(fit("kept.glb"), 1, "is write-protected");
  folder_.write("kept.toml", "mine");
  fs::remove(at("kept.glb"));
  fs::permissions(at("kept.toml"), fs::perms::owner_read);
  expectRefused(fit("kept.glb"), 1, "kept.toml: is write-protected");
}

TEST_F(Outputs, FollowSymbolicLinks) {
  fs::create_directory(at("elsewhere"));
  fs::create_symlink("elsewhere/real.json", at("link.json"));
  for (int round = 0; round < 2; ++round) {  // the target does not exist, then it does
    ASSERT_EQ(run({"inspect", at("a.glb"), "--json", at("link.json")}), 0) << last_.err;
    EXPECT_TRUE(fs::is_symlink(at("link.json")));
    ASSERT_TRUE(fs::is_regular_file(at("elsewhere/real.json")));
    EXPECT_FALSE(json::parse(folder_.read("elsewhere/real.json"), nullptr, false).is_discarded());
  }
  fs::create_symlink("circle.json", at("circle.json"));
  expectRefused({"inspect", at("a.glb"), "--json", at("circle.json")}, 1, "circle");
}

TEST_F(Outputs, OfAKilledRunAreClearedUpByTheNext) {
  ASSERT_EQ(run(fit("o.glb", {"-q"})), 0) << last_.err;
  const std::set<std::string> clean = folder_.names();
  // The names of temporary files are the program's own affair: take them from a run that is killed while it
  // writes many checkpoints.
  std::set<std::string> left;
  for (int attempt = 0; attempt < 400 && left.empty(); ++attempt) {
    ProcessOptions options;
    options.signal_number = SIGKILL;
    options.signal_when = [&] {
      const auto names = folder_.names();
      return std::any_of(names.begin(), names.end(),
                         [](const std::string& n) { return n.ends_with(".tmp"); });
    };
    run(fit("o.glb", {"-q", "--steps", "2000", "--checkpoint-every", "0"}), options);
    for (const std::string& name : folder_.names()) {
      if (name.ends_with(".tmp")) left.insert(name);
    }
  }
  if (left.empty()) GTEST_SKIP() << "no run was killed while it wrote";
  // That of a living writer is locked and stays.
  const std::string alive = *left.begin() + "";
  const int fd = ::open(at(alive).c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  ASSERT_EQ(run(fit("o.glb", {"-q"})), 0) << last_.err;
  EXPECT_TRUE(folder_.names().contains(alive));
  ::close(fd);
  ASSERT_EQ(run(fit("o.glb", {"-q"})), 0) << last_.err;
  EXPECT_EQ(folder_.names(), clean) << "temporary files, locks and checkpoints are gone";
}

TEST_F(Outputs, BelongToOneFitAtATime) {
  ProcessOptions options;
  ProcessOutcome second, shared;
  bool tried = false;
  options.signal_number = SIGTERM;
  options.signal_when = [&] {
    if (!fs::exists(at("o.glb.checkpoint"))) return false;
    if (!tried) {
      tried = true;
      second = runHeatskin(fit("o.glb", {"-q"}));
      shared = runHeatskin(fit("other.glb", {"-q", "--checkpoint", at("o.glb.checkpoint")}));
    }
    return true;
  };
  EXPECT_EQ(run(fit("o.glb", {"-q", "--steps", "1000000", "--checkpoint-every", "0"}), options), 143)
      << last_.err;
  for (const ProcessOutcome* other : {&second, &shared}) {
    EXPECT_EQ(other->exit_code, 1) << other->err;
    EXPECT_NE(other->err.find("another heatskin (process "), std::string::npos) << other->err;
    EXPECT_EQ(std::count(other->err.begin(), other->err.end(), '\n'), 1) << other->err;
  }
  EXPECT_FALSE(fs::exists(at("o.glb")));
  // A process that was killed keeps nobody out.
  options.signal_number = SIGKILL;
  options.signal_when = [&] { return fs::exists(at("o.glb.checkpoint")); };
  run(fit("o.glb", {"-q", "--steps", "1000000", "--checkpoint-every", "0"}), options);
  EXPECT_EQ(run(fit("o.glb", {"-q"})), 0) << last_.err;
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"a.glb", "small.toml", "o.glb", "o.toml"}));
}

TEST_F(Outputs, AClosedTerminalSavesLikeKill) {
  ProcessOptions options;
  options.signal_number = SIGHUP;
  options.signal_when = [&] { return fs::exists(at("o.glb.checkpoint")); };
  EXPECT_EQ(run(fit("o.glb", {"-q", "--steps", "1000000", "--checkpoint-every", "0"}), options), 129)
      << last_.err;
  EXPECT_NE(last_.err.find("resume with: heatskin fit"), std::string::npos) << last_.err;
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"a.glb", "small.toml", "o.glb.checkpoint"}));
}

TEST_F(Outputs, ASignalAfterTheLastStepEndsWellWithTheProduct) {
  ProcessOptions options;
  options.signal_number = SIGTERM;
  options.signal_when = [&] { return fs::exists(at("o.glb")); };  // and before its evaluation is over
  EXPECT_EQ(run({"fit", at("a.glb"), "-o", at("o.glb"), "--config", at("small.toml"), "--json", at("o.json")},
                options),
            0)
      << last_.err;
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"a.glb", "small.toml", "o.glb", "o.toml", "o.json"}));
  const json report = json::parse(folder_.read("o.json"));
  EXPECT_EQ(report["steps"], 20);
  if (report["surface_psnr"].is_null()) {
    EXPECT_NE(last_.err.find("o.glb is complete, its evaluation was left out"), std::string::npos)
        << last_.err;
  }
}

TEST_F(Outputs, AFullDiskLeavesNoHalfOfAResult) {
  makeProduct();
  const auto whole = fs::file_size(at("p.glb"));
  const std::set<std::string> before = folder_.names();
  // Too small for the product from the start, and only found in the end.
  for (const std::size_t limit : {std::size_t{2000}, static_cast<std::size_t>(whole) - 100}) {
    ProcessOptions options;
    options.file_limit_bytes = limit;
    EXPECT_EQ(run(fit("o.glb", {"-q"}), options), 1) << last_.err;
    EXPECT_NE(last_.err.find("o.glb: "), std::string::npos) << last_.err;
    EXPECT_EQ(folder_.names(), before) << last_.err;
  }
  // What was there stays. (A product of another number of steps may be somewhat smaller.)
  ProcessOptions options;
  options.file_limit_bytes = static_cast<std::size_t>(whole) / 2;
  const std::string product = folder_.read("p.glb"), toml = folder_.read("p.toml");
  EXPECT_EQ(run(fit("p.glb", {"-q", "--steps", "21"}), options), 1) << last_.err;
  EXPECT_TRUE(folder_.read("p.glb") == product);
  EXPECT_EQ(folder_.read("p.toml"), toml);
}

TEST_F(Outputs, ASmallDiskIsRefusedBeforeTheFit) {
  const std::string disk = at("disk");
  fs::create_directory(disk);
  const std::string mount = "mount -t tmpfs -o size=16k tmpfs '" + disk + "' 2>/dev/null";
  if (std::system(mount.c_str()) != 0) GTEST_SKIP() << "no permission to mount a small disk";
  EXPECT_EQ(run(fit("disk/o.glb", {"-q"})), 1) << last_.err;
  EXPECT_TRUE(fs::is_empty(disk)) << "nothing is left on the disk";
  const std::string early = last_.err;
  // Room for the product's geometry, but not for all of it.
  const std::string larger = "mount -o remount,size=36k '" + disk + "'";
  EXPECT_EQ(std::system(larger.c_str()), 0);
  EXPECT_EQ(run(fit("disk/o.glb", {"-q"})), 1) << last_.err;
  EXPECT_TRUE(fs::is_empty(disk)) << "no .toml without its .glb: " << last_.err;
  EXPECT_EQ(std::system(("umount '" + disk + "'").c_str()), 0);
  EXPECT_NE(early.find("are free there"), std::string::npos) << early;
}

}  // namespace
}  // namespace heatskin::testing
