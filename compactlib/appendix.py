"""
What has to survive word for word, and the ways back to what was replaced.

What this is
    `with_appendix` adds the section *kept verbatim* to a summary: references
    by which what was removed can be fetched, and facts that stand nowhere
    else in the result.

Rules it obeys
    * Law L10.  With a store, the replaced messages are in it before the
      summary names them, as they were on the wire, a line each.  Earlier
      references are carried on.
    * Law L21.  Each fact stands in the result, or here with the clause that
      gives it meaning, or behind the one reference to all that had no room.
    * Law L12.  The section gives way where the result would not be smaller
      with it.
    * Law L25.  What was said does not speak for us: markers, headings and
      references in facts are escaped.

What is not here
    What a fact is (`summaries.facts`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from .account import Account
from .deeds import deed
from .dialects import render_messages
from .markers import Issued, read_marker
from .model import Conversation, Message, Origin, Result, Text, wire
from .outputs import bytes_of
from .planning import Plan
from .store import fetch, keep, reference_of
from .stubs import read_pointers, read_stub
from .summaries.acceptance import harmless
from .summaries.changed import as_listed, changed_files, read_changed
from .summaries.facts import Anchor, as_item, find_anchors, missing, write_appendix
from .summaries.grounding import unflagged
from .summaries.head import write_summary
from .summaries.schema import Sections, parse_sections, render_sections
from .summaries.transcript import calls_by_result, label
from .tokens import MESSAGE_TOKENS

__all__ = ["WAY_BACK", "store_replaced", "with_appendix"]

WAY_BACK: Final = ": ref="
"""Stands in an item before the reference of something that can be fetched."""

_MORE: Final = "- and more: "  # begins the line that counts the facts for which there was no room
_CHANGED: Final = f" changed files{WAY_BACK}"
_LEFT_OUT: Final = "facts were left out; the messages that were replaced hold them"


def store_replaced(account: Account, cut: int, kept: Sequence[Message]) -> str | None:
    """
    Put the messages before the *cut* that are not *kept* into the store, a line each as the wire has them.

    Returns:
        Their reference, ``None`` without a store.

    Raises:
        StoreError: they could not be stored.
    """
    store, conversation = account.task.store, account.conversation
    if store is None:
        return None
    stays = set(map(id, kept))
    gone = dict.fromkeys(
        conversation.wire_index(at) for at, message in enumerate(conversation.messages[:cut]) if id(message) not in stays
    )
    on_wire = render_messages(conversation)
    lines = [json.dumps(on_wire[index], ensure_ascii=False, separators=(",", ":")) for index in gone]
    text = "".join(f"{line}\n" for line in lines)
    return _stored(account, text, f"messages {min(gone)} to {max(gone)}.jsonl" if gone else "messages.jsonl")


def _stored(account: Account, text: str, name: str) -> str | None:
    """The reference of a text of ours, which is stored and given out."""
    if account.task.store is None or not text:
        return None
    ref = keep(account.task.store, bytes_of(text), name=name)
    account.issued[ref] = (len(text), text.count("\n"))
    return ref


def with_appendix(
    account: Account,
    plan: Plan,
    sections: Sections,
    *,
    ref: str | None,
    least_gain: int,
    assemble: Callable[[str], Conversation],
) -> tuple[str, dict[str, int]]:
    """
    The body of the summary with the section of facts and references, and how many facts there are.

    Args:
        account: of this run.
        plan: what was decided.
        sections: what was said.
        ref: the reference of the replaced messages, if they are stored.
        least_gain: what has to be saved, in tokens.
        assemble: makes the result from a body.
    """
    counter = account.memo.counter
    plain = render_sections(sections)
    found = find_anchors(plan.replaced, issued=account.task.issued or {})
    stays = [plain, *account.kept_texts(plan)]
    absent = missing(found, stays)
    before = parse_sections(plan.previous, sections.schema)
    carried = [item for item in before.items("verbatim") if not item.startswith(_MORE) and _CHANGED not in item]
    carried += _dropped(before, [*stays, *carried], account.task.issued or {})
    cut = account.conversation.wire_index(plan.choice.position)
    ways_back = [
        *([f"- the messages before message {cut} as they were{WAY_BACK}{ref}"] if ref is not None else []),
        *_unlisted(account, plan, before),
        *_references(plan.replaced, account),
        *(item for item in before.items("verbatim") if WAY_BACK in item and _CHANGED not in item),
    ]
    spare = account.before_tokens - account.memo.request(assemble(plain)) - least_gain
    room = plan.sizes.summary - MESSAGE_TOKENS - counter(write_summary(plain, plan.layout))
    heading = sections.schema.sections[-1].heading
    frame = counter(f"\n## {heading}\n- {_MORE}{len(absent)} {_LEFT_OUT}{WAY_BACK}{'0123456789abcdef' * 4}\n") + 1
    limit = min(plan.sizes.summary // 4, spare, room) - frame
    known = {**(account.task.issued or {}), **account.issued}
    for eighths in (8, 7, 6, 4, 0, None):  # the parts of a text may count less than the whole
        most = 0 if eighths is None else max(limit, 0) * eighths // 8
        made = write_appendix(absent, limit_tokens=most, counter=counter, carried=carried, ways_back=ways_back)
        items = [harmless(item, known)[0] for item in made.items]
        written = set(made.items)
        gone = [item for item in dict.fromkeys((*ways_back, *carried)) if item not in written]
        behind = ""
        if (made.left or gone) and eighths is not None and spare > frame:
            line, behind = _index(account, made.left, gone)
            items.append(line)
        body = render_sections(sections.with_items("verbatim", items)) if items else plain
        if counter(write_summary(body, plan.layout)) + MESSAGE_TOKENS <= plan.sizes.summary:
            break
    _stored(account, behind, "left out of the summary.txt")
    counts = {
        "found": len(found),
        "in_output": len(found) - len(absent),
        "written": made.written,
        "left": len(made.left),
        "earlier_left": sum(WAY_BACK not in item for item in gone),  # of the section in the summary before
    }
    return body, counts


def _dropped(before: Sections, texts: Sequence[str], issued: Issued) -> list[str]:
    """L21: the facts of the summary before, of which no message is left that held them, as far as *texts* do not say them."""
    said = Message("user", unflagged(render_sections(before.without("verbatim"))), wire("user"), Origin.SUMMARY)
    return [as_item(fact.kind, fact.clause()) for fact in missing(find_anchors([said], issued=issued), texts)]


def _index(account: Account, facts: Sequence[Anchor], gone: Sequence[str]) -> tuple[str, str]:
    """One line for what had no room, facts and earlier items, and with a store the text that its reference stands for."""
    references = sum(WAY_BACK in item for item in gone)
    count = len(gone) - references + len(facts)
    if account.task.store is None:
        return f"{_MORE}{count} {_LEFT_OUT}", ""
    lines = [*gone, *(f"- {fact.kind.value}: {fact.clause()}" for fact in facts)]
    text = "".join(f"{line}\n" for line in lines)
    return f"{_MORE}{count} facts and {references} references{WAY_BACK}{reference_of(bytes_of(text))}", text


def _unlisted(account: Account, plan: Plan, before: Sections) -> list[str]:
    """L23: one reference to the changed files, where their list has no room for all, and to those of the reference before."""
    store, conversation = account.task.store, account.conversation
    items = [item for item in before.items("verbatim") if _CHANGED in item]
    listed = read_changed(plan.reminders[0].text) if plan.reminders else None
    if store is None or listed is None or not listed[1]:
        return items
    earlier: list[str] = []
    unread = []  # without the issued table it is not ours to read (law L25)
    for item in items:
        ref = item.rpartition(WAY_BACK)[2]
        if ref in (account.task.issued or {}):
            earlier += fetch(store, ref).decode("utf-8", "surrogatepass").splitlines()
        else:
            unread.append(item)
    names = dict.fromkeys((*map(as_listed, changed_files(conversation.messages)), *listed[0], *earlier))
    made = _stored(account, "".join(f"{name}\n" for name in names), "changed files.txt")
    return [f"- {len(names)}{_CHANGED}{made}", *unread]


def _references(messages: Sequence[Message], account: Account) -> list[str]:
    """
    L10: what was cleared, shortened or put away before and is now replaced can still be fetched, the newest first.

    One line for each stub, marker and pointer that is to be believed.
    """
    issued = account.task.issued
    if not issued:
        return []
    calls = calls_by_result(messages)
    found = []
    for message in reversed(messages):
        for part in message.blocks:
            call = calls.get(id(part))
            for block in part.blocks if isinstance(part, Result) else (part,):
                if not isinstance(block, Text):
                    continue
                stub, marker = read_stub(block.text, issued=issued), read_marker(block.text, issued=issued)
                if stub is not None:
                    found.append((f"{stub.what} of {label(stub.tool)} {label(stub.source)}", stub.ref))
                elif marker is not None:
                    did = None if call is None else deed(call)
                    said = "" if did is None else f" of {label(did.tool)} {label(next(iter(did.objects), ''))}"
                    found.append((f"result{said}", marker.ref))
                found += [(f"stored {label(name)}", ref) for name, ref in read_pointers(block.text, issued=issued)]
    return [f"- {name.rstrip()}{WAY_BACK}{ref}" for name, ref in found]
