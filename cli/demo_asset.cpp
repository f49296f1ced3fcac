// heatskin demo-asset: the built-in pumpkin as a file.

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/glb_writer.h"

#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class DemoAsset : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("-o,--output", output_, "The file to write")->required()->type_name("FILE.glb");
    app.add_option("--resolution", options_.resolution, "Approximate number of vertices")
        ->type_name("N")
        ->check(CLI::Range(500, 1000000))
        ->capture_default_str();
    app.add_option("--texture", options_.texture_size, "Side length of the texture in texels")
        ->type_name("N")
        ->check(CLI::Range(256, 4096))
        ->capture_default_str();
    app.footer("Example:\n  heatskin demo-asset -o pumpkin.glb --resolution 20000 --texture 2048");
  }

  Result<void> prepare(Session& session) override {
    if (output_.empty())
      return usageError("-o: the name of the file is empty; see 'heatskin demo-asset --help'");
    session.files.writes(output_, "-o", ".glb");
    return {};
  }

  Result<void> run(Session& session) override {
    options_.seed = session.common.seed;
    Console& console = session.console;
    const Asset pumpkin = makePumpkin(options_, console);
    console.begin("compressing", 0);
    const auto bytes = encodeGlb(pumpkin);
    console.end();
    if (!bytes) return bytes.error();
    if (auto saved = saveBytes(output_, *bytes); !saved) return saved;

    const Primitive& primitive = pumpkin.meshes[0].primitives[0];
    console.line(fmt::format("{}: {}, {} stored vertices, texture {} x {}, {}", oneLine(output_),
                             counted(primitive.triangleCount(), "face", "faces"),
                             grouped(primitive.positions.size()), pumpkin.images[0]->width,
                             pumpkin.images[0]->height, humanBytes(static_cast<double>(bytes->size()))));
    return saveJson(console, session.common.json,
                    {{"file", output_},
                     {"bytes", bytes->size()},
                     {"faces", primitive.triangleCount()},
                     {"stored_vertices", primitive.positions.size()},
                     {"texture_size", pumpkin.images[0]->width},
                     {"seed", options_.seed}});
  }

 private:
  std::string output_;
  PumpkinOptions options_;
};

}  // namespace

std::unique_ptr<Verb> makeDemoAsset() {
  return std::make_unique<DemoAsset>();
}

}  // namespace heatskin::cli
