#include "heatskin/pipeline/node_tools.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heatskin/base/files.h"

extern char** environ;

namespace heatskin {
namespace {

namespace fs = std::filesystem;

/// Code that finds a package and hands on bytes: file "in" to file "out", both in the folder it is given.
constexpr std::string_view kPrelude = R"(
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
const folder = process.argv[2];
async function load(name, file) {
  const tried = [];
  if (process.env.HEATSKIN_NODE_MODULES) tried.push(path.resolve(process.env.HEATSKIN_NODE_MODULES));
  for (let at = process.cwd(); ; at = path.dirname(at)) {
    tried.push(at);
    if (at === path.dirname(at)) break;
  }
  for (const at of tried) {
    const found = path.join(at, 'node_modules', name, file);
    if (fs.existsSync(found)) return import(pathToFileURL(found));
  }
  process.exit(66);
}
const bytes = fs.readFileSync(path.join(folder, 'in'));
const input = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const write = (data) => fs.writeFileSync(path.join(folder, 'out'), data);
)";

/// Header: width, height, sRGB, normals; then RGBA.
constexpr std::string_view kKtx2Script = R"(
const { encodeToKTX2 } = await load('ktx2-encoder', 'dist/node/index.js');
const [width, height, srgb, normals] = new Uint32Array(input, 0, 4);
const data = new Uint8Array(input, 16);
write(await encodeToKTX2(data, {
  imageDecoder: async () => ({ data, width, height }),
  isUASTC: true, generateMipmap: true, needSupercompression: true, isNormalMap: normals !== 0,
  isSetKTX2SRGBTransferFunc: srgb !== 0, isPerceptual: srgb !== 0,
}));
)";

/// Header: vertices, triangles, resolution, padding; then positions and indices. Answer: width, height,
/// charts; then for each corner its coordinates in texels, and for each triangle its chart.
constexpr std::string_view kXatlasScript = R"(
const watlas = await load('watlas', 'dist/watlas.js');
await watlas.Initialize();
const [vertices, triangles, resolution, padding] = new Uint32Array(input, 0, 4);
const atlas = new watlas.Atlas();
atlas.addMesh({
  vertexPositionData: new Float32Array(input, 16, 3 * vertices), vertexCount: vertices, vertexPositionStride: 12,
  indexData: new Uint32Array(input, 16 + 12 * vertices, 3 * triangles), indexCount: 3 * triangles,
});
atlas.generate({}, { resolution, padding, bilinear: true, rotateCharts: true });
const mesh = atlas.getMesh(0);
const indices = new Uint32Array(mesh.indexCount);
mesh.getIndexArray(indices);
const uv = new Float32Array(2 * mesh.vertexCount), chart = new Int32Array(mesh.vertexCount);
for (let v = 0; v < mesh.vertexCount; ++v) {
  const vertex = mesh.getVertex(v);
  uv[2 * v] = vertex.uv[0];
  uv[2 * v + 1] = vertex.uv[1];
  chart[v] = vertex.atlasIndex === 0 ? vertex.chartIndex : -1;
}
const out = new ArrayBuffer(12 + 24 * triangles + 4 * triangles);
new Uint32Array(out, 0, 3).set([atlas.width, atlas.height, atlas.chartCount]);
const corners = new Float32Array(out, 12, 6 * triangles), charts = new Int32Array(out, 12 + 24 * triangles, triangles);
for (let c = 0; c < 3 * triangles; ++c) {
  corners[2 * c] = uv[2 * indices[c]];
  corners[2 * c + 1] = uv[2 * indices[c] + 1];
  if (c % 3 === 0) charts[c / 3] = chart[indices[c]];
}
write(new Uint8Array(out));
)";

/// A folder that goes when this does.
class ToolFolder {
 public:
  ToolFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "heatskin_XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ToolFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  ToolFolder(const ToolFolder&) = delete;
  ToolFolder& operator=(const ToolFolder&) = delete;

  const fs::path& path() const { return path_; }

  bool write(const char* name, std::span<const std::uint8_t> bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(file.flush());
  }

 private:
  fs::path path_;
};

std::span<const std::uint8_t> bytesOfText(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Runs a script on `input`; its answer. `seconds` 0: as long as it takes. `package` is for messages.
Result<std::vector<std::uint8_t>> runScript(std::string_view script, std::string_view package,
                                            std::span<const std::uint8_t> input, double seconds) {
  const ToolFolder folder;
  const std::string text = std::string(kPrelude) + std::string(script);
  if (folder.path().empty() || !folder.write("script.mjs", bytesOfText(text)) || !folder.write("in", input))
    return failure("a temporary file cannot be written");
  const std::string script_path = (folder.path() / "script.mjs").string(),
                    folder_path = folder.path().string();
  std::array<std::string, 3> arguments = {"node", script_path, folder_path};
  std::array<char*, 4> argv = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {0, 1, 2})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0);
  pid_t child = 0;
  const int started = ::posix_spawnp(&child, "node", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) return failure(fmt::format("node, which runs {}, is not installed", package));
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, seconds > 0 ? WNOHANG : 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return failure(fmt::format("{} cannot be waited for", package));
    if (ended > 0 || seconds <= 0) continue;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return failure(fmt::format("{} took longer than {:.0f} s", package, seconds));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  constexpr int kNoPackage = 66;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPackage) {
    return failure(
        fmt::format("the npm package {} is not there (npm install {}, in this folder or in that "
                    "which the variable HEATSKIN_NODE_MODULES names)",
                    package, package));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return failure(fmt::format("{} failed", package));
  return readFile(folder.path() / "out");
}

template <class T>
void putAll(std::vector<std::uint8_t>& out, std::span<const T> values) {
  const std::size_t at = out.size();
  out.resize(at + values.size_bytes());
  if (!values.empty()) std::memcpy(out.data() + at, values.data(), values.size_bytes());
}

}  // namespace

Result<std::vector<std::uint8_t>> encodeKtx2(std::span<const std::uint8_t> rgba, int width, int height,
                                             bool srgb, bool normals) {
  std::vector<std::uint8_t> input;
  const std::array<std::uint32_t, 4> header = {static_cast<std::uint32_t>(width),
                                               static_cast<std::uint32_t>(height), srgb ? 1u : 0u,
                                               normals ? 1u : 0u};
  putAll<std::uint32_t>(input, header);
  putAll<std::uint8_t>(input, rgba);
  auto bytes = runScript(kKtx2Script, "ktx2-encoder", input, 0);
  if (!bytes) return bytes.error().prefixed("KTX2: ");
  if (bytes->empty()) return failure("KTX2: ktx2-encoder made nothing of the image");
  return bytes;
}

Result<PackedAtlas> xatlasOf(const AtlasMesh& mesh, int side, int gutter, double seconds,
                             std::vector<std::uint32_t>& chart_of) {
  // Vertices by their numbers, which need not be without gaps.
  std::vector<std::uint32_t> numbers;
  for (const auto& triangle : mesh.vertices)
    numbers.insert(numbers.end(), triangle.begin(), triangle.end());
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<float> positions(3 * numbers.size());
  std::vector<std::uint32_t> indices;
  for (std::size_t t = 0; t < mesh.size(); ++t) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto v = static_cast<std::size_t>(
          std::lower_bound(numbers.begin(), numbers.end(), mesh.vertices[t][c]) - numbers.begin());
      indices.push_back(static_cast<std::uint32_t>(v));
      for (std::size_t k = 0; k < 3; ++k)
        positions[3 * v + k] = static_cast<float>(mesh.corners[t][c][static_cast<Eigen::Index>(k)]);
    }
  }
  std::vector<std::uint8_t> input;
  const std::array<std::uint32_t, 4> header = {
      static_cast<std::uint32_t>(numbers.size()), static_cast<std::uint32_t>(mesh.size()),
      static_cast<std::uint32_t>(side), static_cast<std::uint32_t>(2 * gutter)};
  putAll<std::uint32_t>(input, header);
  putAll<float>(input, positions);
  putAll<std::uint32_t>(input, indices);
  const auto answer = runScript(kXatlasScript, "watlas", input, seconds);
  if (!answer) return answer.error();
  std::array<std::uint32_t, 3> size = {};
  if (answer->size() != sizeof(size) + 28 * mesh.size()) return failure("watlas answered with too few bytes");
  std::memcpy(size.data(), answer->data(), sizeof(size));
  std::vector<float> corners(6 * mesh.size());
  std::vector<std::int32_t> charts(mesh.size());
  std::memcpy(corners.data(), answer->data() + sizeof(size), corners.size() * sizeof(float));
  std::memcpy(charts.data(), answer->data() + sizeof(size) + corners.size() * sizeof(float),
              charts.size() * sizeof(std::int32_t));
  if (size[0] == 0 || size[1] == 0) return failure("watlas made an empty atlas");
  PackedAtlas atlas;
  atlas.width = atlas.height = side;
  atlas.gutter = gutter;
  // Its image is only about as large as was asked for: coordinates are scaled into ours.
  const double scale = side / static_cast<double>(std::max(size[0], size[1]));
  chart_of.resize(mesh.size());
  double area = 0;
  for (std::size_t t = 0; t < mesh.size(); ++t) {
    if (charts[t] < 0) return failure("watlas left out triangles");
    chart_of[t] = static_cast<std::uint32_t>(charts[t]);
    auto& uvs = atlas.uvs.emplace_back();
    for (std::size_t c = 0; c < 3; ++c) {
      uvs[c] = Vec2f(corners[6 * t + 2 * c], corners[6 * t + 2 * c + 1]) * static_cast<float>(scale / side);
      if (!uvs[c].allFinite()) return failure("watlas made coordinates that are not finite");
    }
    area += 0.5 * std::abs(cross2((uvs[1] - uvs[0]).cast<double>(), (uvs[2] - uvs[0]).cast<double>()));
  }
  atlas.area_used = area;
  return atlas;
}

}  // namespace heatskin
