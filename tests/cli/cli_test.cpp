// The conventions of the command line, seen from outside: every verb, real processes.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_process.h"
#include "support/temporary_folder.h"
#include "support/tetrahedron.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

// One face of the tetrahedron is missing, one is there twice, one has no area.
constexpr const char* kDirty =
    "v 1 1 1\nv 1 -1 -1\nv -1 1 -1\nv -1 -1 1\nv 9 9 9\n"
    "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 1 3 4\nf 1 1 2\n";

const std::vector<std::string> kVerbs = {
    "fit",  "inspect", "query",    "eval",   "render", "compare", "demo-asset",
    "demo", "bench",   "rd",       "import", "export", "study",   "view",
    "bake", "attach",  "transfer", "lod",    "edit",   "manual",  "completion"};

/// Exactly one line that says what went wrong, and nothing else.
void expectError(const ProcessOutcome& outcome, int code) {
  EXPECT_EQ(outcome.exit_code, code) << outcome.err << outcome.out;
  EXPECT_EQ(outcome.signal_number, 0);
  EXPECT_EQ(outcome.err.rfind("heatskin: error: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.err.back(), '\n');
  EXPECT_EQ(outcome.out, "");
}

void expectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

bool hasColor(const std::string& text) {
  return std::regex_search(text, std::regex("\033\\[[0-9;]*m"));
}

TEST(Cli, OverviewNamesEveryVerbAndTheExitCodes) {
  for (const char* flag : {"--help", "-h", "help"}) {
    const auto outcome = runHeatskin({flag});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    for (const std::string& verb : kVerbs)
      expectContains(outcome.out, "\n  " + verb + " ");
    expectContains(outcome.out, "Exit codes: 0 ");
    expectContains(outcome.out, "Example:");
  }
}

TEST(Cli, MaxMemoryRefusesBeforeWorkingWithTheEstimate) {
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "pumpkin.glb").string();
  ASSERT_EQ(runHeatskin({"demo-asset", "-o", output}).exit_code, 0);
  const std::string product = (folder.path() / "out.glb").string(),
                    picture = (folder.path() / "out.png").string();
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"inspect", output}, {"fit", output, "-o", product}, {"render", output, "-o", picture}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--quiet", "--max-memory", "12M"});
    const auto outcome = runHeatskin(arguments);
    expectError(outcome, 3);
    expectContains(outcome.err, "needs about ");
    expectContains(outcome.err, "the limit is 13 MB (--max-memory)");
  }
  EXPECT_FALSE(std::filesystem::exists(product));
  EXPECT_FALSE(std::filesystem::exists(picture));
  for (const char* bad : {"", "4X", "-1G", "nan", "0"})
    expectError(runHeatskin({"inspect", output, "--max-memory", bad}), 2);
  EXPECT_EQ(runHeatskin({"inspect", output, "--max-memory", "4G"}).exit_code, 0);
}

TEST(Cli, EveryVerbHasHelpWithAnExampleAndTheCommonOptions) {
  for (const std::string& verb : kVerbs) {
    const auto outcome = runHeatskin({verb, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << verb;
    EXPECT_EQ(outcome.err, "") << verb;
    for (const char* part : {"--json", "--seed", "--threads", "--quiet", "Example:"})
      expectContains(outcome.out, part);
    expectContains(outcome.out, "heatskin " + verb + " ");
    EXPECT_EQ(runHeatskin({"help", verb}).out, outcome.out);
  }
}

TEST(Cli, VersionIsOneLine) {
  const auto outcome = runHeatskin({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(std::regex_match(
      outcome.out, std::regex("heatskin [0-9]+\\.[0-9]+\\.[0-9]+ \\(([0-9a-f]{10,}(\\+[0-9a-f]{8})?, "
                              ")?(Release|Debug|Sanitize), [A-Z0-9_]+\\)\n")))
      << outcome.out;
}

TEST(Cli, WrongUsageIsOneLineAndCode2) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--nonsense"},
      {"inspect"},
      {"inspect", mesh, "extra"},
      {"inspect", mesh, "--nonsense"},
      {"inspect", mesh, "--threads", "-1"},
      {"inspect", mesh, "--threads", "many"},
      {"inspect", mesh, "--seed", "-3"},
      {"inspect", mesh, "--json"},
      {"inspect", mesh, "--json", ""},
      {"render", mesh},
      {"render", mesh, "-o", folder / "out.jpg"},
      {"render", mesh, "-o", folder / "out.png", "--size", "0"},
      {"render", mesh, "-o", folder / "out.png", "--mode", "oil"},
      // Options that would change nothing.
      {"render", mesh, "-o", folder / "out.png", "--atlas", "--mode", "shaded"},
      {"render", mesh, "-o", folder / "out.png", "--atlas", "--wire", "2"},
      {"render", mesh, "-o", folder / "out.png", "--atlas", "--aa", "2"},
      {"render", mesh, "-o", folder / "out.png", "--atlas", "--elevation", "10"},
      {"render", mesh, "-o", folder / "out.png", "--view", "1", "--elevation", "10"},
      {"render", mesh, "-o", folder / "out.png", "--error-full", "10"},
      {"render", mesh, "-o", folder / "out.png", "--no-legend"},
      {"compare", mesh},
      {"demo-asset"},
      {"demo-asset", "-o", folder / "pumpkin.obj"},
      {"demo-asset", "-o", folder / "pumpkin.glb", "--resolution", "1"},
      {"bench", "nonsense"},
  };
  for (const auto& arguments : wrong) {
    SCOPED_TRACE(arguments.empty() ? "no arguments" : arguments[0] + " " + arguments.back());
    const auto outcome = runHeatskin(arguments);
    expectError(outcome, 2);
  }
  EXPECT_EQ(folder.names(), std::set<std::string>{"mesh.obj"});
  expectContains(runHeatskin({"inspect", "--nonsense"}).err, "heatskin inspect --help");
}

TEST(Cli, AnUnknownVerbSuggestsTheNearest) {
  for (const auto& [given, meant] : std::vector<std::pair<std::string, std::string>>{
           {"inspekt", "inspect"}, {"rendr", "render"}, {"comp", "compare"}, {"demo_asset", "demo-asset"}}) {
    const auto outcome = runHeatskin({given});
    expectError(outcome, 2);
    expectContains(outcome.err, "did you mean '" + meant + "'");
  }
  const auto outcome = runHeatskin({"photosynthesise"});
  expectError(outcome, 2);
  EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos);
}

TEST(Cli, InputThatCannotBeUsedIsOneLineAndCode3) {
  TemporaryFolder folder;
  const std::string text = folder.write("text.txt", "hello");
  const std::string empty = folder.write("empty.glb", "");
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  for (const std::string& input : {folder / "missing.glb", folder.path().string(), text, empty}) {
    SCOPED_TRACE(input);
    expectError(runHeatskin({"inspect", input, "--json", folder / "out.json"}), 3);
    expectError(runHeatskin({"render", input, "-o", folder / "out.png"}), 3);
    expectError(runHeatskin({"compare", input, input, "-o", folder / "out.png"}), 3);
    expectContains(runHeatskin({"inspect", input}).err, input);
  }
  expectError(runHeatskin({"compare", mesh, mesh}), 3);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"empty.glb", "mesh.obj", "text.txt"}));
}

TEST(Cli, AMessageStaysOneLineWhateverTheFileIsCalled) {
  TemporaryFolder folder;
  const auto outcome = runHeatskin({"inspect", folder / "two\nlines\033[31m\xff.glb"});
  expectError(outcome, 3);
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos);
  expectContains(outcome.err, "two\\nlines");
}

TEST(Cli, OutputProblemsAreFoundBeforeTheWork) {
  // The inputs do not exist, so an error about the output came first.
  TemporaryFolder folder;
  folder.write("file", "");
  for (const std::string& bad : {folder / "missing/out.png", folder / "file/out.png"}) {
    SCOPED_TRACE(bad);
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"render", "missing.glb", "-o", bad},
                                               {"compare", "missing.png", "missing.png", "-o", bad},
                                               {"inspect", "missing.glb", "--json", bad},
                                               {"bench", "walk", "--json", bad}}) {
      const auto outcome = runHeatskin(arguments);
      expectError(outcome, 1);
      expectContains(outcome.err, bad);
    }
  }
  const auto outcome = runHeatskin({"inspect", "missing.glb", "--json", folder.path().string()});
  expectError(outcome, 1);
  expectContains(outcome.err, "is a folder");
  expectError(runHeatskin({"demo-asset", "-o", folder / "missing/pumpkin.glb"}), 1);
  expectError(runHeatskin({"demo", "-o", folder / "file/demo-out"}), 1);
  EXPECT_EQ(folder.names(), std::set<std::string>{"file"});
}

TEST(Cli, InspectJsonHasItsKeysAndTheRightNumbers) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  const auto outcome = runHeatskin({"inspect", mesh, "--json", folder / "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(folder.read("out.json"));
  EXPECT_EQ(result.at("vertices"), 4);
  EXPECT_EQ(result.at("faces"), 4);
  EXPECT_EQ(result.at("components"), 1);
  EXPECT_EQ(result.at("boundary_edges"), 0);
  EXPECT_EQ(result.at("nonmanifold_edges"), 0);
  EXPECT_EQ(result.at("materials"), 0);
  EXPECT_EQ(result.at("textures"), 0);
  EXPECT_TRUE(result.at("warnings").is_array());
  EXPECT_EQ(result.at("something_to_fit"), true);
  EXPECT_EQ(result.at("vertex_colors"), true);
  EXPECT_EQ(result.at("warnings"), json::array());
  // Four equilateral triangles with sides sqrt(8).
  EXPECT_NEAR(result.at("area").get<double>(), 8 * std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(result.at("mean_edge_length").get<double>(), std::sqrt(8.0), 1e-12);
  EXPECT_EQ(result.at("bounding_box"), (json{{"min", {-1.0, -1.0, -1.0}}, {"max", {1.0, 1.0, 1.0}}}));
  expectContains(outcome.out, "Something to fit");
  EXPECT_EQ(folder.names(), (std::set<std::string>{"mesh.obj", "out.json"}));
}

TEST(Cli, InspectCountsProblemsAndWarnsOnStderr) {
  TemporaryFolder folder;
  const auto outcome = runHeatskin({"inspect", folder.write("dirty.obj", kDirty), "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("problems").at("degenerate_faces"), 1);
  EXPECT_EQ(result.at("problems").at("duplicate_faces"), 1);
  EXPECT_EQ(result.at("surface").at("faces"), 3);
  EXPECT_EQ(result.at("surface").at("boundary_loops"), 1);
  ASSERT_GE(result.at("warnings").size(), 2u);
  for (const json& warning : result.at("warnings")) {
    ASSERT_TRUE(warning.is_string());
    expectContains(outcome.err, warning.get<std::string>());
  }
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);)
    EXPECT_EQ(line.rfind("heatskin: warning: ", 0), 0u) << line;
}

TEST(Cli, JsonToStdoutIsAllThatIsThere) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"inspect", mesh, "--json", "-"},
           {"render", mesh, "-o", folder / "a.png", "--size", "64", "--json", "-"},
           {"demo-asset", "-o", folder / "p.glb", "--resolution", "500", "--texture", "256", "--json", "-"},
           {"bench", "--json", "-"}}) {
    const auto outcome = runHeatskin(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(json::accept(outcome.out)) << outcome.out;
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos);
  }
}

TEST(Cli, QuietSaysNothingButErrors) {
  TemporaryFolder folder;
  const std::string dirty = folder.write("dirty.obj", kDirty);
  const auto outcome = runHeatskin({"inspect", dirty, "--quiet", "--json", folder / "out.json"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_TRUE(json::accept(folder.read("out.json")));
  expectError(runHeatskin({"inspect", folder / "missing.obj", "-q"}), 3);
}

TEST(Cli, ColourIsForTerminalsThatWantIt) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  ProcessOptions terminal;
  terminal.terminal = true;
  terminal.environment = {{"NO_COLOR", std::nullopt}, {"TERM", "xterm"}};
  EXPECT_TRUE(hasColor(runHeatskin({"inspect", mesh}, terminal).out));
  EXPECT_TRUE(hasColor(runHeatskin({"inspect", "missing.obj"}, terminal).out));

  ProcessOptions no_color = terminal;
  no_color.environment["NO_COLOR"] = "1";
  EXPECT_FALSE(hasColor(runHeatskin({"inspect", mesh}, no_color).out));
  EXPECT_FALSE(hasColor(runHeatskin({"inspect", "missing.obj"}, no_color).out));

  ProcessOptions empty = terminal;  // set but empty counts as not set
  empty.environment["NO_COLOR"] = "";
  EXPECT_TRUE(hasColor(runHeatskin({"inspect", mesh}, empty).out));

  ProcessOptions dumb = terminal;
  dumb.environment["TERM"] = "dumb";
  EXPECT_EQ(runHeatskin({"inspect", mesh}, dumb).out.find('\033'), std::string::npos);

  const auto piped = runHeatskin({"inspect", mesh}, {.environment = {{"NO_COLOR", std::nullopt}}});
  EXPECT_EQ((piped.out + piped.err).find('\033'), std::string::npos);
}

TEST(Cli, FileNamesMayHaveSpacesAndAnyScript) {
  TemporaryFolder folder;
  for (const std::string name : {"two words.obj", "Kürbis ❤ 南瓜.obj", "-dash.obj", "semi;$HOME'\".obj"}) {
    SCOPED_TRACE(name);
    const std::string mesh = folder.write(name, kTetrahedron);
    const auto inspected = runHeatskin({"inspect", mesh, "--json", folder / (name + ".json")});
    EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
    EXPECT_EQ(json::parse(folder.read(name + ".json")).at("file"), mesh);
    const auto rendered = runHeatskin({"render", mesh, "-o", folder / (name + ".png"), "--size", "32"});
    EXPECT_EQ(rendered.exit_code, 0) << rendered.err;
    EXPECT_EQ(folder.read(name + ".png").substr(1, 3), "PNG");
  }
}

TEST(Cli, AClosedOrBrokenStdoutDoesNoHarm) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  for (const StdoutTo to : {StdoutTo::kClosed, StdoutTo::kBrokenPipe}) {
    ProcessOptions options;
    options.stdout_to = to;
    const auto outcome = runHeatskin({"inspect", mesh, "--json", folder / "out.json"}, options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.signal_number, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(json::accept(folder.read("out.json")));  // not mixed with what was meant for stdout
  }
  ProcessOptions closed;
  closed.stdout_to = StdoutTo::kClosed;
  expectError(runHeatskin({"inspect", mesh, "--json", "-"}, closed), 1);
}

TEST(Cli, AFullDiskIsAnErrorAndLeavesNothing) {
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  ProcessOptions full;
  full.stdout_to = StdoutTo::kDevFull;
  expectError(runHeatskin({"inspect", mesh}, full), 1);
  expectError(runHeatskin({"inspect", mesh, "--json", "-"}, full), 1);
  expectError(runHeatskin({"inspect", mesh, "--json", "/dev/full"}), 1);

  ProcessOptions limited;  // writing beyond 100 bytes raises SIGXFSZ or fails with EFBIG
  limited.file_limit_bytes = 100;
  const auto outcome = runHeatskin({"render", mesh, "-o", folder / "out.png", "--size", "64"}, limited);
  expectError(outcome, 1);
  EXPECT_EQ(folder.names(), std::set<std::string>{"mesh.obj"});
}

TEST(Cli, CtrlCEndsWith130AndLeavesNoFile) {
  TemporaryFolder folder;
  ProcessOptions options;
  options.signal_number = SIGINT;
  options.signal_after_text = "measuring:";  // its first line of progress, with a quarter of an hour to go
  const auto outcome =
      runHeatskin({"bench", "walk", "--repeats", "1000", "--json", folder / "out.json"}, options);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.signal_number, 0);
  expectContains(outcome.err, "heatskin: error: interrupted\n");
  EXPECT_TRUE(folder.names().empty());
}

TEST(Cli, TooLittleMemoryIsOneLine) {
  if (sanitized()) GTEST_SKIP() << "a memory limit cannot be set under AddressSanitizer";
  TemporaryFolder folder;
  const std::string mesh = folder.write("mesh.obj", kTetrahedron);
  ProcessOptions options;  // 8192 x 8192 pixels need gigabytes
  options.memory_limit_bytes = std::size_t{400} << 20;
  std::vector<std::string> command = {"render", mesh, "-o", folder / "out.png", "--size", "8192"};
  const auto refused = runHeatskin(command, options);
  expectError(refused, 3);
  expectContains(refused.err, "a picture of 8192 x 8192 pixels needs about");
  // Whoever says that there is more than there is learns it while working.
  command.insert(command.end(), {"--max-memory", "64G"});
  const auto failed = runHeatskin(command, options);
  expectError(failed, 1);
  expectContains(failed.err, "out of memory");
  EXPECT_EQ(folder.names(), std::set<std::string>{"mesh.obj"});
}

TEST(Cli, SameSeedSameBytesForAnyNumberOfThreads) {
  TemporaryFolder folder;
  const auto grow = [&](const std::string& name, const std::string& seed, const std::string& threads) {
    const auto outcome = runHeatskin({"demo-asset", "-o", folder / name, "--resolution", "600", "--texture",
                                      "256", "--seed", seed, "--threads", threads});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder.read(name);
  };
  const std::string first = grow("a.glb", "7", "1");
  EXPECT_EQ(first.substr(0, 4), "glTF");
  EXPECT_EQ(first, grow("b.glb", "7", "2"));
  EXPECT_NE(first, grow("c.glb", "8", "2"));

  const auto draw = [&](const std::string& name, const std::string& threads) {
    const auto outcome =
        runHeatskin({"render", folder / "a.glb", "-o", folder / name, "--size", "128", "--threads", threads});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder.read(name);
  };
  EXPECT_EQ(draw("a.png", "1"), draw("b.png", "2"));
}

}  // namespace
}  // namespace heatskin::testing
