"""How the manual is built."""

project = "Holon"
copyright = "the Holon authors"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
# An overview for models, beside the pages.
html_extra_path = ["llms.txt"]
html_theme = "alabaster"
nitpicky = True
