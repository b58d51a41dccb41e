"""The table of side effects is the Elegy lane's, word by word."""

from __future__ import annotations

from holon_elegy.effects import EFFECTS as BY_VOCABULARY
from holon_plugin_packages.effects import EFFECTS


def test_a_word_means_the_same_in_both_lanes():
    """No lane imports another, so the table stands twice; here the two are held together."""
    theirs = {word: effects for (kind, word), effects in BY_VOCABULARY.items() if kind[0] != "h"}
    theirs |= {w: e for (kind, w), e in BY_VOCABULARY.items() if kind == "host_class"}

    assert theirs == EFFECTS
