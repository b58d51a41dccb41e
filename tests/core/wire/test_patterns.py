"""The shape of patterns, their form for Python's engine, and the formats of the fallback."""

import re

import pytest

from holon_core.wire.format_names import ASSERTED
from holon_core.wire.formats import CHECKS
from holon_core.wire.patterns import for_python, longest_text, needs_backtracking, shape


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "(a*)*", "(?:a|b)*c", "(a|a)+", "((a+)b)+", "(a?){30}", "(a{1,5}){4,}",
        "([a-z]+)*", "(?=x)(y+)+", r"(\w+\s?)*", "(a+)+?", "(?<name>a*)+", "x(y|(z+))*",
    ],
)  # fmt: skip
def test_a_repetition_of_what_varies_is_hostile(pattern):
    """These may take a time exponential in the text where they are matched by trying."""
    assert shape(pattern).nested


@pytest.mark.parametrize(
    "pattern",
    [
        "", "^a+$", "a*b*c*", r"^\d{4}-\d\d$", "(abc)+", "(ab){2}", r"[(a+)+]+", r"\(a+\)+",
        "(a+){1,3}", "(a+)?", "^[a-z]{1,63}$", "a)+", "(a{3})*", "x{y}", "(?:ab)*", "*",
    ],
)  # fmt: skip
def test_other_repetitions_are_not_hostile(pattern):
    """Classes, escapes, fixed repetitions and a few of something stay allowed."""
    assert not shape(pattern).nested


@pytest.mark.parametrize("pattern", ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"\k<x>"])
def test_looking_around_and_back_needs_backtracking(pattern):
    """No linear engine can do these."""
    assert needs_backtracking(pattern)
    assert not needs_backtracking("(?:a)(?<name>b)[=!]")


def test_the_text_may_be_as_long_as_the_pattern_ends_soon():
    """More repetitions without a bound, or no anchor, mean a shorter text."""
    lengths = [longest_text(p) for p in ("^abc$", "^a+$", "a+", "^a+b+c+$", "a+b+c+", "^a|b+$")]
    assert lengths == [10**7, 10**7, 3162, 215, 56, 3162]


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("^a$", "a\n", False),
        (r"^\$[$]$", "$$", True),
        (r"^\d$", "٣", False),
        (r"^\D$", "٣", True),
        (r"^[\d]$", "٣", False),
        (r"^\w$", "é", False),
        (r"^[^\w]$", "é", True),
        (r"^\s$", "\ufeff", True),
        (r"^[\s]$", "\x1c", False),
        (r"^\S$", "\x1c", True),
        (r"^\cA[\cb]$", "\x01\x02", True),
        (r"^(?<year>\d\d)$", "99", True),
        (r"^(?<=^)a$", "a", True),
        (r"^[[&~|]+$", "[&~|", True),
        (r"^[\[\]]+$", "[]", True),
        (r"^\u0041$", "A", True),
    ],
)
def test_a_pattern_means_in_python_what_ecma_262_says(pattern, text, fits):
    """The translated pattern decides as the standard's would."""
    assert bool(re.search(for_python(pattern), text)) is fits


@pytest.mark.parametrize(
    "pattern", ["(", "[", r"\p{L}", "a{99999999999999}", "(?<a>x)(?<a>y)", r"\c"]
)
def test_a_pattern_that_python_lacks_is_refused(pattern):
    """Nothing is matched by guess."""
    with pytest.raises(ValueError):  # noqa: PT011 - the text is Python's own
        for_python(pattern)


FORMATS = {
    "date": (
        ["2024-02-29", "0001-01-01"],
        ["2023-02-29", "2024-2-29", "2024-02-29\n", "٢٠٢٤-01-01"],
    ),
    "time": (
        ["12:00:00Z", "23:59:60Z", "00:29:60+00:30", "12:00:00.5-23:59"],
        ["12:00:00", "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:60Z", "12:00:00+24:00"]
        + ["12:00:00+00:60"],
    ),
    "date-time": (
        ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00z"],
        ["2024-01-01 00:00:00Z", "2024-01-01"],
    ),
    "hostname": (
        ["a.b", "xn--mxa", "a" * 63],
        ["", "a..b", "-a", "a-", "ab--c", "a" * 64, "a_b", "a.", "é"],
    ),
    "email": (
        ["a@b.c", '"a b"@c', "a@[127.0.0.1]", "a@[IPv6:::1]"],
        ["a", "@b", "a@", ".a@b", "a" * 65 + "@b", "a@[x]", "a@[IPv6:x]", "a b@c", "a@b c"],
    ),
    "ipv4": (["127.0.0.1"], ["127.0.0.01", "1.2.3", "256.0.0.1", "١.0.0.1"]),
    "ipv6": (["::1", "::ffff:1.2.3.4"], ["::1%eth0", "1", "::g", "12345::"]),
    "uri": (
        ["a:b", "http://u:p@h:80/p?q#f", "http://[::1]/", "urn:x:y", "http://[v1.a]"],
        ["b", "//h/p", "http://h:port/", "http://[::g]/", "a:b c", "a:%g0", "http://[x]/"]
        + ["http://a[b]/"],
    ),
    "uuid": (
        ["2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
        ["2eb8aa08aa9811eab4aa73b441d16380", "x"],
    ),
    "regex": (["^a$", r"\d"], ["(", "[a", "a**"]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_of_the_published_list_is_checked_without_an_engine(name):
    """The fallback's checks take and refuse what the standards do."""
    good, bad = FORMATS[name]
    assert [text for text in good if not CHECKS[name](text)] == []
    assert [text for text in bad if CHECKS[name](text)] == []
    assert set(FORMATS) == set(CHECKS) == ASSERTED
