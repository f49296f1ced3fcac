"""What cases of several groups start from: files, and commands that work."""

import shapes

FIT = ("fit", "pumpkin.glb", "--config", "small.toml", "--no-eval")
SHORT_FIT = ("--preset", "draft", "--steps", "20", "--kernels", "60", "--set", "sampling.pool=4000")

CONFIG = """base = "draft"
steps = 300
batch = 256
[sampling]
pool = 5000
[start]
kernels = 100
[density]
max_kernels = 300
"""

FIELD_CONFIG = """base = "draft"
steps = 20
batch = 256
[thermal]
rank = 32
oversampling = 16
routing_dimensions = 32
[spectral]
modes = 32
[sampling]
pool = 5000
[start]
kernels = 60
[density]
max_kernels = 80
"""

# Commands that write files, by name, and the files.
WRITERS = {
    "inspect --json": (("inspect", "pumpkin.glb", "--json", "o.json"), ["o.json"]),
    "render": (("render", "pumpkin.glb", "-o", "o.png", "--size", "200"), ["o.png"]),
    "demo-asset": (("demo-asset", "-o", "o.glb", "--resolution", "500", "--texture", "256"), ["o.glb"]),
    "compare": (("compare", "a.png", "b.png", "-o", "o.png"), ["o.png"]),
    "query": (("query", "product.glb", "--points", "points.csv", "-o", "o.csv"), ["o.csv"]),
    "fit": (FIT + ("-o", "o.glb", "--steps", "20"), ["o.glb", "o.toml"]),
    "fit --json": (FIT + ("-o", "o.glb", "--steps", "20", "--json", "o.json"), ["o.glb", "o.toml", "o.json"]),
    "eval --report": (
        ("eval", "product.glb", "--reference", "pumpkin.glb", "--samples", "1000", "--report", "page"),
        ["page"],
    ),
}
INPUTS = ("pumpkin.glb", "product.glb", "small.toml", "points.csv", "a.png", "b.png")


def make_fixtures(trial):
    """Files many cases start from; `trial` is in the folder they stay in."""
    trial.write("small.toml", CONFIG)
    trial.write("field.toml", FIELD_CONFIG)
    trial.write("ball.obj", shapes.obj(*shapes.ball(5)))
    trial.write("points.csv", "x,y,z\n0,0,1\n0.2,0.1,0.4\n-1,0,0\n")
    trial.write("a.png", shapes.png(48, 48, shapes.checker))
    trial.write("b.png", shapes.png(48, 48, lambda x, y: (x * 5, y * 5, 90)))
    trial.run("demo-asset", "-o", "pumpkin.glb", "--resolution", "500", "--texture", "256", "-q", makes=["pumpkin.glb"])
    trial.run(*FIT, "-o", "product.glb", "--steps", "60", "-q", makes=["product.glb", "product.toml"])
