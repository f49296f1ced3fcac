#pragma once

// What studies work on: meshes from files or made by code, methods as presets with options, seeds. As data,
// so that a manifest (TOML) can name others, and so that a process of its own can make the same mesh again.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/training/config.h"

namespace heatskin::study {

/// A mesh: a file, a shape of fold_shapes.h, or (without either) the built-in pumpkin; then simplified if
/// `vertices` asks for that.
struct MeshSpec {
  std::string name;
  std::string set = "main";    ///< which meshes are averaged together: "main", "low", or any other word
  std::filesystem::path file;  ///< empty: made by code
  std::string shape = {};      ///< of fold_shapes.h; empty: the pumpkin
  int resolution = 3000;       ///< of the pumpkin
  int texture_size = 1024;     ///< of the pumpkin, and of what is simplified
  int vertices = 0;            ///< simplified to about so many, colours carried over; 0: as it is
};

/// A method: a preset and what differs from it.
struct MethodSpec {
  std::string name;   ///< "pq"
  std::string title;  ///< "LocalHK PQ"
  std::string preset = "paper";
  std::vector<std::string> options = {};  ///< "local.candidate_rule=per_face"
};

/// Everything a study is about. Empty lists: the study's own choice.
struct Subjects {
  std::vector<MeshSpec> meshes;
  std::vector<MethodSpec> methods;
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> options;  ///< of every fit, after the method's own
  std::filesystem::path lpips;       ///< weights for LPIPS; empty: it is not measured
  std::optional<int>
      five_frame_samples;  ///< per pixel, of every fit whose pictures are compared; 0: no five frames
};

/// Reads a manifest; relative files are meant from its folder. Strict: unknown keys are errors with a line
/// number.
///
///   seeds = [0, 1, 2]
///   options = ["steps=1000"]
///   lpips = "weights.safetensors"
///   five_frame_samples = 32    # 0: no five frames
///   [[mesh]]
///   name = "spot"
///   file = "spot.obj"          # or resolution = 3000 for the pumpkin, or shape = "sheet"
///   set = "low"                # default "main"
///   vertices = 330             # simplified
///   [[method]]
///   name = "pq"
///   title = "LocalHK PQ"
///   preset = "paper"
///   options = ["local.candidate_rule=per_query"]
Result<Subjects> parseManifest(std::string_view text, const std::filesystem::path& source);

/// parseManifest() of a file.
Result<Subjects> loadManifest(const std::filesystem::path& file);

/// The meshes of a folder: its .glb, .gltf, .obj and .ply files, and NAME.* or NAME_triangulated.* of a
/// subfolder NAME; by name. Other subfolders are not looked into.
std::vector<MeshSpec> meshesIn(const std::filesystem::path& folder);

/// The pumpkin at four resolutions.
std::vector<MeshSpec> pumpkins();

/// Versions with 100 to 1,500 vertices of the meshes among `from` that are simple enough, and of the pumpkin.
std::vector<MeshSpec> lowPolyMeshes(const std::vector<MeshSpec>& from);

/// HKTex, LocalHK PF and PQ, ThermalRF with the paper's settings, and our own preset on the paper's colours.
std::vector<MethodSpec> paperMethods();

/// As a run's description holds them. The file's content is part of it, as a fingerprint; where the file lies
/// ("file") does not count (runIdentity()).
Result<nlohmann::ordered_json> toJson(const MeshSpec& mesh);
nlohmann::ordered_json toJson(const MethodSpec& method);
MeshSpec meshFromJson(const nlohmann::ordered_json& json);
MethodSpec methodFromJson(const nlohmann::ordered_json& json);

/// Reads or makes the mesh.
Result<Asset> makeAsset(const MeshSpec& mesh);

/// The configuration of a method, with further options and a seed.
Result<FitConfig> configOf(const MethodSpec& method, const std::vector<std::string>& options,
                           std::uint64_t seed);

}  // namespace heatskin::study
