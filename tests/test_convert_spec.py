"""
The chapter on conversion: its tables are what the code does, and its example is true.

``python -m tests.test_convert_spec`` writes the tables into the chapter.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import compactlib as cl
from compactlib.converting import LOSSES
from compactlib.converting.carriers import carries
from compactlib.converting.media import fit
from compactlib.converting.slots import ANSWER, FAILED
from compactlib.dialects import DIALECTS
from compactlib.model import Media, Result, wire
from compactlib.protocol.profiles import PROFILES

from .tongues import Asked, Step, Story, Turn, tell

CHAPTER: Final = Path(__file__).parent.parent / "spec" / "71-convert.md"

_CALL: Final = Asked("call00001", "ls", {"path": "."}, "seen", has_picture=True)
_STEPS: Final = (Step("I look.", (_CALL, Asked("call00002", "ls", {}, "denied", is_error=True)), "hm"), Step("Done.", ()))
STORY: Final = Story("be brief", (Turn("go", has_picture=True, steps=_STEPS),), "any")
"""Instructions, a picture of a person's, thinking, a picture in a result, an error, a choice among tools."""

_DATA: Final = {
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
    "video": "video/mp4",
}


def names_table() -> str:
    """Every loss."""
    return "\n".join(["| loss | meaning |", "| --- | --- |", *(f"| `{name}` | {what} |" for name, what in LOSSES.items())])


def pairs_table() -> str:
    """What is lost of one story between any two dialects."""
    rows = ["| from \\ to | " + " | ".join(DIALECTS) + " |", "| --- " * (len(DIALECTS) + 1) + "|"]
    for source in DIALECTS:
        body = json.dumps(tell(STORY, source))
        if source != "mistral":  # whose ids are nine letters and digits
            body = body.replace("call0000", "functions.ls:")
        conversation = cl.parse(body, dialect=source)
        cells = []
        for target in DIALECTS:
            converted = cl.convert(conversation, dialect=target)
            ids = ["ids"] if converted.id_map else []
            cells.append(", ".join([*dict.fromkeys(loss.name for loss in converted.losses), *ids]) or "-")
        rows.append(f"| {source} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def media_table() -> str:
    """What a user message, and a result, may hold."""
    rows = ["| dialect | in a user message | in a result |", "| --- | --- | --- |"]
    for dialect in DIALECTS:
        may = carries(PROFILES[dialect])
        held, carried = [], []
        for kind, mime in _DATA.items():
            data = Media(kind, mime, "AAAA", None, None, wire("media"))
            place = Media(kind, mime, None, "https://example.com/a", None, wire("media"))
            ways = [way for way, media in (("bytes", data), ("address", place)) if fit(media, dialect) is not None]
            if ways:
                held.append(f"{kind} ({', '.join(ways)})")
                carried += [kind] if may(Result("", "", ANSWER), data) else []
        only = " unless it is an error" if carried and not may(Result("", "", FAILED), data_of("image")) else ""
        rows.append(f"| {dialect} | {'; '.join(held)} | {', '.join(carried) + only or 'words alone'} |")
    return "\n".join(rows)


def data_of(kind: str) -> Media:
    """A medium of a kind, as data."""
    return Media(kind, _DATA[kind], "AAAA", None, None, wire("media"))


TABLES: Final = {"names": names_table, "pairs": pairs_table, "media": media_table}


def between(name: str) -> re.Pattern[str]:
    """Where the table called *name* stands in the chapter."""
    return re.compile(rf"(<!-- table {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)


def write() -> None:
    """Write the tables into the chapter."""
    text = CHAPTER.read_text("utf-8")
    for name, make in TABLES.items():
        before, opening, ending, after = between(name).split(text)
        text = before + opening + make() + ending + after
    CHAPTER.write_text(text, "utf-8")


def test_tables_are_what_the_code_does() -> None:
    """Each table of the chapter is the one that is made now."""
    text = CHAPTER.read_text("utf-8")
    for name, make in TABLES.items():
        found = between(name).search(text)

        assert found is not None
        assert found[0] == f"{found[1]}{make()}{found[2]}", name


def test_every_loss_can_happen() -> None:
    """Each name of the list is one that some module gives."""
    folder = Path(cl.__file__).parent / "converting"
    code = "".join(path.read_text("utf-8") for path in folder.glob("*.py") if path.name != "losses.py")

    assert [name for name in LOSSES if f'"{name}"' not in code] == []


def test_example_is_true() -> None:
    """The chapter's example: from this, to that, with these losses."""
    before, after, losses = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", CHAPTER.read_text("utf-8"), re.DOTALL))
    converted = cl.convert(cl.parse(before, dialect="anthropic"), dialect="mistral")

    assert converted.body == after
    assert [[loss.name, loss.pointer] for loss in converted.losses] == losses


if __name__ == "__main__":
    write()
