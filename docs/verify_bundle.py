"""Verify an evidence bundle offline: python verify_bundle.py FILE [KEPT_SEQ KEPT_HASH]."""

import json
import sys
from hashlib import sha256
from pathlib import Path


def digest(text):
    return sha256(text.encode()).hexdigest()


def spell(value):  # the one way to write a line
    line = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return line.encode().replace(b"\x7f", b"\\u007f")


def canonical(value):  # RFC 8785; a fraction came as (text,) and stays as it is spelt
    if type(value) is dict:
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(n)}:{canonical(value[n])}" for n in names) + "}"
    if type(value) is list:
        return "[" + ",".join(map(canonical, value)) + "]"
    return value[0] if type(value) is tuple else json.dumps(value, ensure_ascii=False)


def require(condition, what):
    if not condition:
        raise ValueError(f"{what} does not fit")


def verify(path, kept):
    first, *records, end, rest = Path(path).read_bytes().split(b"\n")
    chain, start, last = map(json.loads(first).get, ("chain", "from", "previous"))
    head = {"format": "holon-evidence-bundle/1", "chain": str(chain), "from": int(start)}
    origin = digest(f"holon-evidence-chain/1\0{chain}") if start == 1 else f"{int(last, 16):064x}"
    require(first == spell({**head, "previous": origin}) and start > 0, "the first line")
    at, places = start - 1, [[], [str(start - 1), last]]
    for at, raw in enumerate(records, start):
        line = json.loads(raw)
        body = json.loads(line["body"], parse_float=lambda text: (text,))
        last = digest(f"holon-evidence-record/1\0{last}:{at}:{line['body']}")
        found = {"seq": at, "body": canonical({**body, "v": 1}), "hash": last}
        if "payload" in line:
            found["payload"] = text = line["payload"]
            said = {"bytes": len(text.encode()), "sha256": digest(text)}
            require(body["payload"] == said, f"payload {at}")
        types = [type(body[name]) for name in ("v", "kind", "call", "at")]
        require(raw == spell(found) and types == [int, str, str, int], f"record {at}")
        places += [[str(at), last]]
    require(end == spell({"head": {"chain": chain, "hash": last, "seq": at}}), "the last line")
    require(rest == b"" and kept in places, "the file's end or the kept head")
    print(f"consistent: {chain!a} up to {at}, head {last}")


try:
    verify(sys.argv[1], sys.argv[2:])
except Exception as error:
    sys.exit(f"refused: {error!a}")
