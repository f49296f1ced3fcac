# Sphinx' settings for the documentation as a web site (scripts/docs.py).
import os

project = "heatskin"
author = "the heatskin developers"
copyright = "2026, the heatskin developers"
release = version = os.environ.get("HEATSKIN_VERSION", "")

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "html_image", "dollarmath"]
myst_heading_anchors = 5

breathe = os.environ.get("HEATSKIN_DOXYGEN_XML")
if breathe:
    extensions.append("breathe")
    breathe_projects = {"heatskin": breathe}
    breathe_default_project = "heatskin"
    breathe_default_members = ("members",)
    breathe_show_include = False
    cpp_id_attributes = ["alignas"]

html_theme = "furo"
html_title = f"heatskin {version}"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"] if os.path.isdir("extra") else []
exclude_patterns = ["site", "extra"]
# Fragments of shells and tables that no lexer knows are shown as they are.
highlight_language = "none"
