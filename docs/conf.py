"""How the manual is built."""

project = "Holon"
copyright = "the Holon authors"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "alabaster"
nitpicky = True
