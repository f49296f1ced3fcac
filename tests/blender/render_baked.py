"""Blender, headless: imports a GLB, draws its base colour without light, from standard view K, and compares that with
another picture of the same size. Prints "PSNR <dB> SHARE <part of the pixels of either that both cover wholly>".

    blender -b --factory-startup -P render_baked.py -- MODEL.glb OUT.png SIZE K OTHER.png

The camera is that of `heatskin render --view K` (src/heatskin/rendering/camera.h: standardViews)."""

import math
import sys

import bpy
import numpy
from mathutils import Vector

# Debian 12: the importer of Blender 3.4 uses a name that its numpy no longer has.
if not hasattr(numpy, "bool"):
    numpy.bool = bool

model, out, size, view, other = sys.argv[sys.argv.index("--") + 1:]
size, view = int(size), int(view)
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=model)
scene = bpy.context.scene

points = []
for thing in scene.objects:
    if thing.type == "MESH":
        points += [thing.matrix_world @ vertex.co for vertex in thing.data.vertices]
low = Vector([min(p[c] for p in points) for c in range(3)])
high = Vector([max(p[c] for p in points) for c in range(3)])
center = (low + high) / 2
radius = max((p - center).length for p in points)

field = math.radians(40)
azimuth = math.radians(45 * view)
elevation = math.radians(20 if view % 2 == 0 else -20)
# glTF's y is up; Blender's z is.
direction = Vector((math.sin(azimuth) * math.cos(elevation), -math.cos(azimuth) * math.cos(elevation), math.sin(elevation)))
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.data.angle = field
camera.data.clip_start, camera.data.clip_end = radius / 1000, radius * 100
camera.location = center + direction * (1.04 * radius / math.sin(field / 2))
camera.rotation_euler = (-direction).to_track_quat("-Z", "Y").to_euler()
scene.collection.objects.link(camera)
scene.camera = camera

# Emission instead of light: the colours of the textures as they are.
for material in bpy.data.materials:
    if not material.use_nodes:
        continue
    nodes, links = material.node_tree.nodes, material.node_tree.links
    shader = next((n for n in nodes if n.type == "BSDF_PRINCIPLED"), None)
    output = next((n for n in nodes if n.type == "OUTPUT_MATERIAL"), None)
    if shader is None or output is None:
        continue
    emission = nodes.new("ShaderNodeEmission")
    color = shader.inputs["Base Color"]
    if color.is_linked:
        links.new(color.links[0].from_socket, emission.inputs["Color"])
    else:
        emission.inputs["Color"].default_value = color.default_value
    links.new(emission.outputs["Emission"], output.inputs["Surface"])

scene.render.engine = "CYCLES"
scene.cycles.device = "CPU"
scene.cycles.samples = 32
scene.cycles.use_denoising = False
scene.cycles.pixel_filter_type = "BOX"
scene.cycles.filter_width = 1.0
scene.cycles.max_bounces = 0
scene.render.film_transparent = True
scene.view_settings.view_transform = "Standard"
scene.render.resolution_x = scene.render.resolution_y = size
scene.render.resolution_percentage = 100
scene.render.image_settings.file_format = "PNG"
scene.render.image_settings.color_mode = "RGBA"
scene.render.filepath = out
bpy.ops.render.render(write_still=True)

pictures = []
for path in (other, out):
    image = bpy.data.images.load(path)
    pictures.append(numpy.round(255 * numpy.array(image.pixels[:])).reshape(size, size, 4))
a, b = pictures
both = (a[..., 3] == 255) & (b[..., 3] == 255)
either = (a[..., 3] > 127) | (b[..., 3] > 127)
error = ((a[..., :3] - b[..., :3])[both] ** 2).mean()
print(f"PSNR {10 * math.log10(255**2 / max(error, 1e-9)):.2f} SHARE {both.sum() / max(either.sum(), 1):.4f}")
