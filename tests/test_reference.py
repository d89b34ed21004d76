"""
The engine against the reference model, on random small conversations.

Sizes are drawn and not counted (`SIZED`), so that a conversation of a dozen
messages reaches every branch.  Fifty thousand of them are compared in all that
is decided before a model is asked: sizes, legal cuts and the choice, what
stands in the head, what is replaced, what is irreducible, or why it is
refused.  A part of them goes through the whole engine, several compactions in
a row, and the output is compared message by message.  So is what clearing
takes, and in which order.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.heads import earlier_prompts
from compactlib.conformance.units import read_summary
from compactlib.model import Conversation, Media, Message, Origin, Text
from compactlib.planning import CannotPlanError, Plan, plan
from compactlib.protocol.profiles import PROFILES
from compactlib.store import MemoryStore
from compactlib.summaries.head import Layout, user_message, write_summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tasks import Task
from compactlib.tokens import Memo, block_tokens

from . import reference
from .reference import Decision, Item, Model
from .scenarios import seeded
from .spellings import MARKER, SPELLINGS, Call, Result, Spelling

DECISIONS = {
    "anthropic": 20_000,
    "openai-chat": 20_000,
    "openai-responses": 4_000,
    "bedrock": 2_000,
    "mistral": 2_000,
    "gemini": 2_000,
}
"""Fifty thousand; a tenth of them where ``COMPACTLIB_WHOLE=1`` is not set."""
if os.environ.get("COMPACTLIB_WHOLE") != "1":
    DECISIONS = {dialect: count // 10 for dialect, count in DECISIONS.items()}
BESIDE: Final = ("anthropic", "bedrock")
"""Where words can stand beside results."""

_SIZE: Final = re.compile("#([0-9]+)")


def sized(text: str) -> int:
    """A text says how large it is; what a compaction writes around it is as large as it is."""
    return sum(map(int, _SIZE.findall(text))) + len(text) // 16


# --- Conversations whose parts are known -----------------------------------------------------------------------------


class _Writer:
    """Writes wire messages, and what each of them is."""

    def __init__(self, random: Random, dialect: str) -> None:
        self.random = random
        self.spelling: Spelling = SPELLINGS[dialect]
        self.messages: list[dict[str, Any]] = []
        self.items: list[Item] = []
        self.made = 0
        self.thinking = random.random() < 0.3
        self.largest = random.choice((60, 200, 500))

    def text(self, stem: str) -> str:
        self.made += 1
        return f"{stem} {self.made} #{self.random.randint(1, self.largest)}"

    def add(self, messages: Sequence[dict[str, Any]], *items: Item) -> None:
        assert len(messages) == len(items)
        self.messages += messages
        self.items += items

    def thought(self) -> str:
        return self.text("thought") if self.thinking and self.random.random() < 0.8 else ""

    def prompt(self) -> None:
        if not self.spelling.user_after_results and self.items and self.items[-1].kind == "results":
            self.said()
        words = self.text("please")
        picture = self.random.random() < 0.05
        self.add([self.spelling.user(words, picture=picture)], Item(kind="prompt", words=words, pictures=int(picture)))

    def said(self, words: str = "", kind: str = "text") -> None:
        words = words or self.text("said")
        thought = self.thought() if kind == "text" else ""
        messages = self.spelling.model(words, thought=thought, in_blocks=self.random.random() < 0.5)
        items = [Item(kind="text")] if len(messages) > 1 else []  # the thought is an item of its own
        self.add(messages, *items, Item(kind=kind, words=words, thinks=bool(thought)))

    def calls(self, count: int) -> list[Call]:
        made: list[Call] = []
        for _ in range(count):
            self.made += 1
            name = self.spelling.id(f"c{self.random.choice((self.made, self.made, self.made, 1))}")
            while any(call.id == name for call in made):
                name = self.spelling.id(f"d{self.made}")
            path = f"src/{self.random.randint(1, 9)}.py"
            made.append(Call(name, self.random.choice(("read", "read", "edit")), {"path": path}))
        thought = self.thought()
        messages = self.spelling.model("", made, thought=thought)
        wrote = [tuple(call.arguments["path"] for call in made if call.name == "edit")]
        names = [",".join(call.id for call in made)]
        if self.spelling.dialect == "openai-responses":
            wrote = [(call.arguments["path"],) if call.name == "edit" else () for call in made]
            names = [call.id for call in made]
        items = [
            Item(kind="calls", names=ids, writes=files, thinks=bool(thought)) for ids, files in zip(names, wrote, strict=True)
        ]
        first = [Item(kind="text")] if len(messages) > len(items) else []
        self.add(messages, *first, *items)
        return made

    def results(self, calls: Sequence[Call]) -> None:
        random = self.random
        made = [Result(call, self.text("gave")) for call in calls]
        beside = ""
        if self.spelling.dialect in BESIDE and random.random() < 0.1:
            beside = random.choice((self.text("by the way"), f"{reference.NOTE}{self.text('note')}</system-reminder>"))
        messages = self.spelling.results(made, beside)
        if len(messages) == 1:
            self.add(
                messages,
                Item(kind="results", names=",".join(call.id for call in calls), words=made[0].text, beside=beside),
            )
        else:
            self.add(messages, *(Item(kind="results", names=one.call.id, words=one.text) for one in made))

    def step(self) -> None:
        random = self.random
        if random.random() < 0.3:
            self.said()
            return
        calls = self.calls(random.choice((1, 1, 1, 2, 3)))
        random.shuffle(calls)
        split = random.randint(1, len(calls)) if self.spelling.dialect != "gemini" else len(calls)
        if self.spelling.dialect == "gemini":
            calls.sort(key=lambda call: int(re.sub("[^0-9]", "", call.id)))
        self.results(calls[:split])
        between = self.spelling.dialect in ("openai-chat", "openai-responses")
        if split < len(calls):
            if between and random.random() < 0.3:
                self.add([self.spelling.user(words := self.text("quickly"))], Item(kind="prompt", words=words))
            self.results(calls[split:])
        if self.spelling.user_after_results and random.random() < 0.15:
            if random.random() < 0.3:
                self.said("Understood.", "bridge")
            self.add([self.spelling.user(MARKER, picture=True)], Item(kind="attachment"))
        if self.spelling.user_after_results and random.random() < 0.1:
            words = f"{reference.NOTE}{self.text('todos')}</system-reminder>"
            self.add([self.spelling.user(words)], Item(kind="harness", words=words))

    def preamble(self) -> None:
        words = f"<environment_context>{self.text('at')}</environment_context>"
        for _ in range(self.random.choice((1, 1, 2))):
            self.add([self.spelling.user(words)], Item(kind="preamble", words=words))

    def system(self) -> None:
        self.add([self.spelling.system(self.text("be careful"))], Item(kind="system"))

    def turns(self, count: int) -> None:
        random = self.random
        for _ in range(count):
            self.prompt()
            for _ in range(random.choice((0, 1, 1, 2, 4))):
                self.step()
            if self.spelling.dialect != "gemini":
                if random.random() < 0.08:
                    self.calls(random.choice((1, 2)))  # nobody answers
                if random.random() < 0.05:
                    self.results([Call(self.spelling.id("nobody"), "read", {})])
            if self.spelling.has_system and random.random() < 0.08:
                self.system()


def _head(random: Random, writer: _Writer) -> list[tuple[Message, Item]]:
    """The head of an earlier compaction."""
    profile = PROFILES[writer.spelling.dialect]
    pins = [writer.text("pinned") for _ in range(random.choice((0, 0, 1, 2)))]
    quotes = [writer.text("please") for _ in range(random.choice((0, 0, 1, 3)))]
    reminders = [writer.text("jobs")] if random.random() < 0.3 else []
    if random.random() < 0.4:
        reminders.insert(0, f"{reference.LIST}4]\nsrc/1.py\nold.py\n[2 more]")
    earlier = "[compactlib earlier prompts v1]\n" + "".join(f"[prompt chars={len(one)}]\n{one}\n" for one in quotes)
    layout = Layout(pins=len(pins), earlier=len(quotes[:1]), reminders=len(reminders))
    blocks = [Text(write_summary(f"## Goal\n{writer.text('shipped')}\n", layout)), *([Text(earlier)] if quotes else [])]
    made = []
    if pins:
        made.append((user_message(list(map(Text, pins)), Origin.PIN, profile), Item(kind="pins", held=tuple(pins))))
    made.append((user_message(blocks, Origin.SUMMARY, profile), Item(kind="summary", held=tuple(quotes))))
    told = [(user_message([Text(text)], Origin.REMINDER, profile), Item(kind="reminder", held=(text,))) for text in reminders]
    return made + told


def _policy(random: Random) -> cl.Policy:
    window = random.choice((1_500, 2_000, 3_000, 4_500))
    options: dict[str, Any] = {"reserve_tokens": random.choice((0, 0, window // 10)), "schema": "brief"}
    chance = random.random()
    if chance < 0.15:
        options["trigger_percent"] = random.choice((40, 60, 85))
        options["trigger_of"] = random.choice(("budget", "window"))
    elif chance < 0.3:
        options |= {"trigger_tokens": window // 3, "trigger_of": random.choice(("budget", "history"))}
    if random.random() < 0.15:
        options["target_tokens"] = window // 4
    if random.random() < 0.15:
        options["tail_tokens"] = window // random.choice((8, 20))
    if random.random() < 0.15:
        options["tail_turns"] = random.choice((1, 2))
    if random.random() < 0.15:
        options["tail_messages"] = random.choice((1, 3, 6))
    if random.random() < 0.15:
        options["step_cuts"] = "never"
    for name in ("retain_prompts", "list_changed_files", "auto"):
        if random.random() < 0.15:
            options[name] = False
    return cl.Policy(window_tokens=window, counter=sized, **options)


def _pins(random: Random, items: Sequence[Item]) -> tuple[int, ...]:
    """Some messages of one block, whose words a pin repeats."""
    can_be = [
        at
        for at, item in enumerate(items)
        if (item.kind in ("prompt", "text") and item.words and not (item.thinks or item.pictures))
        or (item.kind == "results" and "," not in item.names and not item.beside)
    ]
    return tuple(sorted(random.sample(can_be, min(random.choice((1, 2)), len(can_be))))) if random.random() < 0.15 else ()


def small(random: Random, dialect: str) -> tuple[Conversation, Model]:
    """A conversation, and the same for the reference model."""
    writer = _Writer(random, dialect)
    spelling = writer.spelling
    if spelling.has_system:
        for _ in range(random.choice((0, 0, 1, 2))):
            writer.system()
    standing = len(writer.items)
    if random.random() < 0.15:
        writer.preamble()
    before_head = len(writer.items)
    if random.random() < 0.1:
        writer.step()  # nobody asked
    writer.turns(random.choice((1, 1, 2, 3, 4)))
    if random.random() < 0.15:
        writer.calls(random.choice((1, 2)))  # a frontier
    is_body = random.random() < 0.4
    words = f"tools #{random.choice((1, 100, 300, 1_200))}"
    body = (
        spelling.body(writer.messages, system="Be careful.", words=words, thinking=writer.thinking)
        if is_body
        else writer.messages
    )
    conversation = cl.parse(body, dialect=dialect)
    head = _head(random, writer) if random.random() < 0.25 else []
    at = before_head if dialect != "mistral" else standing
    messages = (*conversation.messages[:at], *(message for message, _ in head), *conversation.messages[at:])
    items = [*writer.items[:at], *(item for _, item in head), *writer.items[at:]]
    conversation = evolve(conversation, messages=messages)
    reminders = (f"{reference.NOTE}{writer.text('live')}</system-reminder>",) if random.random() < 0.1 else ()
    return conversation, model_of(
        conversation,
        items,
        _policy(random),
        when="auto" if random.random() < 0.4 else "now",
        pins=_pins(random, items),
        reminders=reminders,
        thinking=writer.thinking if is_body else None,
    )


def model_of(conversation: Conversation, items: Sequence[Item], policy: cl.Policy, **more: Any) -> Model:
    """What the reference model is told; all pictures are one."""
    memo = Memo(sized)
    pictures = [block for message in conversation.messages for block in message.blocks if isinstance(block, Media)]
    return Model(
        items=tuple(items),
        weights=tuple(map(memo.message, conversation.messages)),
        picture_tokens=max((block_tokens(block, sized) for block in pictures), default=0),
        policy=policy,
        count=sized,
        around_tokens=memo.overhead(conversation),
        dialect=conversation.dialect,
        **more,
    )


# --- Decisions -------------------------------------------------------------------------------------------------------


def planned(conversation: Conversation, model: Model) -> tuple[str, Plan | None]:
    """What the engine decides before it asks: the reason not to ask, or the plan."""
    policy = model.policy
    memo = Memo(sized)
    before = memo.request(conversation)
    known = cl.sizes(policy, overhead_tokens=model.overhead_tokens)
    if model.when == "auto" and before <= known.trigger:
        return "below-trigger", None
    if model.when == "auto" and not policy.auto:
        return "auto-off", None
    task = Task(when=model.when, pins=model.pins, reminders=model.reminders)  # type: ignore[arg-type]  # one of two words
    try:
        return "", plan(conversation, policy, task, memo, before, least_gain=known.min_gain if model.when == "auto" else 1)
    except CannotPlanError as refusal:
        return refusal.reason, None


def differences(conversation: Conversation, model: Model, made: Plan, expected: Decision) -> list[str]:
    """Where the plan is another one."""
    messages = conversation.messages
    quotes = [block.text for block in made.earlier if isinstance(block, Text)]
    assert expected.sizes is not None
    known = {id(block) for message in messages for block in message.blocks} | {id(message.content) for message in messages}
    pairs = {
        "sizes": ({name: getattr(made.sizes, name) for name in SIZES}, {name: getattr(expected.sizes, name) for name in SIZES}),
        "cut": (
            (made.choice.position, made.choice.kind, made.choice.tail_tokens, made.choice.prompt),
            (expected.cut, expected.kind, expected.tail_tokens, expected.prompt),
        ),
        "system": (list(map(id, made.system)), [id(messages[at]) for at in expected.system]),
        "preamble": (list(map(id, made.preamble)), [id(messages[at]) for at in expected.preamble]),
        "pins": (
            [block.text for message in made.pins for block in message.blocks if isinstance(block, Text)],
            list(expected.pins),
        ),
        "reminders": ([message.text for message in made.reminders], list(expected.reminders)),
        "quotes": (earlier_prompts(quotes[0]) if quotes else [], list(expected.quotes)),
        "pictures": (sum(isinstance(block, Media) for block in made.earlier), expected.pictures),
        "unkept": (
            [block.text for message in _not_of(made.replaced, known) for block in message.blocks if isinstance(block, Text)],
            list(expected.unkept),
        ),
        "replaced": (
            [_contents(message) for message in made.replaced if message not in _not_of(made.replaced, known)],
            [_contents(messages[at]) for at in expected.replaced],
        ),
        "irreducible": (sum(part.tokens for part in made.irreducible), expected.irreducible_tokens),
    }
    return [f"{name}: {ours} is not {theirs}" for name, (ours, theirs) in pairs.items() if ours != theirs]


def _not_of(made: Sequence[Message], known: set[int]) -> list[Message]:
    """What is replaced and is no message of the conversation: prompts that a summary had quoted."""
    return [one for one in made if id(one.content) not in known and not any(id(block) in known for block in one.blocks)]


def _contents(message: Message) -> Any:
    """What tells a message that only got its origins stated from all others."""
    return message.content if isinstance(message.content, str) else list(map(id, message.blocks))


SIZES: Final = ("budget", "trigger", "target", "room", "summary", "extras", "tail", "tail_room", "min_gain")


@pytest.mark.parametrize("dialect", DECISIONS)
def test_every_decision_is_the_reference_models(dialect: str) -> None:
    """Sizes, cut, head, what is replaced, what is irreducible, and every reason not to ask."""
    held: Counter[str] = Counter()
    for number in range(DECISIONS[dialect]):
        conversation, model = small(seeded(f"reference {dialect} {number}"), dialect)
        expected = reference.decide(model)
        reason, made = planned(conversation, model)

        assert reason == expected.reason, (dialect, number)
        held[reason] += 1
        if made is not None:
            assert differences(conversation, model, made, expected) == [], (dialect, number)
            held.update(_premises(model, expected))

    assert {premise: held[premise] for premise in PREMISES if held[premise] < DECISIONS[dialect] // 100} == {}


PREMISES: Final = (
    "", "below-trigger", "auto-off", "overhead-exceeds-threshold", "no-legal-cut", "irreducible",
    "turn", "step", "pins", "quotes", "reminders", "prompt", "summary before",
)  # fmt: skip


def _premises(model: Model, expected: Decision) -> list[str]:
    """What was true of a decision to ask."""
    found = [
        expected.kind,
        *(name for name in ("pins", "quotes", "reminders", "prompt") if getattr(expected, name) not in ((), None)),
    ]
    return [*found, *(["summary before"] if model.of_kind("summary", expected.cut) else [])]


# --- Whole outputs ---------------------------------------------------------------------------------------------------

OUTPUTS: Final = {"anthropic": 300, "openai-chat": 300, "openai-responses": 100, "bedrock": 100, "mistral": 100, "gemini": 100}
"""Conversations, each compacted up to three times in a row."""
REPLY: Final = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- {}\n## Next step\n- go on"
LATER: Final = ("irreducible", "summary-failed:not-smaller", "summary-failed:no-room")
"""Reasons that show only when a summary is asked for, or is there."""


def _new(message: Message) -> tuple[Any, ...]:
    """A message of the head as the reference model says it: what it is, and its texts."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    if message.origin is not Origin.SUMMARY:
        return message.origin, *texts
    head = read_summary(texts[0])
    assert head is not None
    pictures = sum(isinstance(block, Media) for block in message.blocks)
    return message.origin, head.under_way, tuple(earlier_prompts(texts[1]) or ()) if texts[1:] else (), pictures


def _expected(conversation: Conversation, made: Decision) -> list[Any]:
    """The output, message by message: the very objects of the input, and what is new."""
    first = [conversation.messages[at] for at in (*made.system, *made.preamble)]
    pins = [(Origin.PIN, *made.pins)] if made.pins else []
    summary = (Origin.SUMMARY, made.prompt is not None, made.quotes, made.pictures)
    reminders = [(Origin.REMINDER, text) for text in made.reminders]
    prompt = [] if made.prompt is None else [conversation.messages[made.prompt]]
    return [*first, *pins, summary, *reminders, *prompt, *conversation.messages[made.cut :]]


def _items_after(model: Model, made: Decision) -> list[Item]:
    """What the messages of the output are."""
    pins = [Item(kind="pins", held=made.pins)] if made.pins else []
    summary = Item(kind="summary", held=made.quotes)
    reminders = [Item(kind="reminder", held=(text,)) for text in made.reminders]
    prompt = () if made.prompt is None else (made.prompt,)
    first = [model.items[at] for at in (*made.system, *made.preamble)]
    return [*first, *pins, summary, *reminders, *(model.items[at] for at in prompt), *model.items[made.cut :]]


def _grown(random: Random, conversation: Conversation, model: Model, items: Sequence[Item]) -> tuple[Conversation, Model]:
    """The same with more turns."""
    writer = _Writer(random, conversation.dialect)
    writer.made = 100 * len(items)
    if not writer.spelling.user_after_results and items[-1].kind == "results":
        writer.said()
    writer.turns(random.choice((1, 2, 4)))
    more = cl.parse(writer.messages, dialect=conversation.dialect).messages
    grown = evolve(conversation, messages=(*conversation.messages, *more))
    made = model_of(grown, [*items, *writer.items], model.policy, when="now", thinking=model.thinking)
    behind = grown.fused[1]  # what is in a fused head has no index of its own
    return grown, evolve(made, pins=tuple(at for at in _pins(random, made.items) if at >= behind))


@pytest.mark.parametrize("dialect", OUTPUTS)
def test_every_output_is_the_reference_models(dialect: str) -> None:
    """Message by message: the same objects where they were kept, the same words where they are new, and what the outcome says."""
    held: Counter[str] = Counter()
    for number in range(OUTPUTS[dialect]):
        random = seeded(f"outputs {dialect} {number}")
        conversation, model = small(random, dialect)
        for again in range(3):
            expected = reference.decide(model)
            outcome = cl.compact(
                conversation,
                model.policy,
                summarise=_answering(again),
                when=model.when,  # type: ignore[arg-type]  # one of two words
                pins=tuple(map(conversation.wire_index, model.pins)),
                reminders=model.reminders,
            )
            where = (dialect, number, again)
            items: Sequence[Item] = model.items
            if expected.reason or not isinstance(outcome, cl.Compacted):
                assert outcome.reason in ((expected.reason,) if expected.reason else LATER), where
                assert outcome.conversation is conversation
            else:
                kept = {id(message) for message in conversation.messages}
                said = [message if id(message) in kept else _new(message) for message in outcome.conversation.messages]
                assert said == _expected(conversation, expected), where
                _check_account(conversation, outcome, expected)
                items, conversation = _items_after(model, expected), outcome.conversation
            held[f"{again} {outcome.reason}"] += 1
            conversation, model = _grown(random, conversation, model, items)

    assert min(held[f"{again} target-met"] for again in range(3)) > OUTPUTS[dialect] // 6, held
    assert held["0 above-target"] > OUTPUTS[dialect] // 100


def _answering(again: int) -> Callable[[SummaryRequest], str]:
    """A summariser that says each time something else."""
    return lambda request: REPLY.format(f"part {request.part}, time {again}")


def _check_account(conversation: Conversation, outcome: cl.Compacted, expected: Decision) -> None:
    """What the outcome says of itself."""
    at = conversation.wire_index
    assert expected.sizes is not None
    assert (outcome.cut, outcome.kept_prompt) == (at(expected.cut), None if expected.prompt is None else at(expected.prompt))
    kept = {*expected.system, *expected.preamble, expected.prompt}
    gone = {at(position) for position in range(expected.cut) if position not in kept}
    assert {index for one in outcome.dropped for index in range(one.start, one.stop)} == gone
    assert outcome.after_tokens == Memo(sized).request(outcome.conversation) < outcome.before_tokens
    assert outcome.over_by_tokens == max(outcome.after_tokens - expected.sizes.target, 0)
    assert outcome.fits == (outcome.after_tokens <= expected.sizes.budget)
    assert outcome.irreducible_tokens == expected.irreducible_tokens


# --- Clearing --------------------------------------------------------------------------------------------------------

CLEARINGS: Final = 3_000
BODIES: Final = tuple(f"{number} " + "all is well here\n" * 30 for number in range(12))
FAILED: Final = "Error: no such file\n" + "and nothing else\n" * 30


def _logs(random: Random, dialect: str) -> tuple[Conversation, list[Item], list[reference.Output]]:
    """Steps that read, run and edit, whose outputs are long, short, equal, or failures."""
    writer = _Writer(random, dialect)
    outputs = []
    for _ in range(random.choice((1, 1, 2, 3))):
        writer.prompt()
        for _ in range(random.randint(1, 8)):
            calls = writer.calls(random.choice((1, 1, 2)))
            called = len(writer.items) - 1
            results = []
            for call in calls:
                body = FAILED if random.random() < 0.1 else "few words" if random.random() < 0.15 else random.choice(BODIES)
                results.append(Result(call, f"{body}#{random.choice((5, 50, 90))}"))
            messages = writer.spelling.results(results)
            for place, result in enumerate(results):
                at = len(writer.items) + (place if len(messages) > 1 else 0)
                call, text = result.call, result.text
                outputs.append(
                    reference.Output(
                        at=at,
                        call_at=called,
                        tool=call.name,
                        path=call.arguments["path"],
                        text=text,
                        tokens=sized(text),
                        failed=text.startswith("Error"),
                    )
                )
            names = [call.id for call in calls]
            writer.add(
                messages,
                *(Item(kind="results", names=name) for name in (names if len(messages) > 1 else [",".join(names)])),
            )
        if random.random() < 0.5:
            writer.said()
    conversation = cl.parse(writer.messages, dialect=dialect)
    return conversation, writer.items, outputs


def _stub_tokens(output: reference.Output, note: str) -> int:
    """The size of the stub, in the form that the chapter on recoverable outputs publishes."""
    text = output.text
    said = f'[cleared v1: result of "{output.tool}" for "{output.path}"; {len(text)} chars, {text.count(chr(10))} lines; '
    said += f"absence here is not absence there; ref={'0' * 64}{f'; {note}' if note else ''}]"
    return sized(said)


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_what_is_cleared_is_the_reference_models(dialect: str) -> None:
    """Which outputs, why, and how far; and nothing where it would not be worth it."""
    held: Counter[str] = Counter()
    for number in range(CLEARINGS // 2):
        random = seeded(f"clearing {dialect} {number}")
        conversation, items, outputs = _logs(random, dialect)
        window = random.choice((800, 1_500, 2_500))
        least = random.choice((None, None, 0, 150))
        options = cl.Clearing(
            keep=random.choice((0, 1, 3)),
            exclude_tools=random.choice(((), ("edit",), ("bash", "read"))),
            clear_at_least_tokens=least,
            trigger_tokens=random.choice((None, 100)),
        )
        policy = cl.Policy(window_tokens=window, reserve_tokens=0, counter=sized, clearing=options)
        model = model_of(conversation, items, policy)
        when: Any = random.choice(("auto", "now"))
        pins = _pins(random, items)
        known = reference.sizes(policy, model.overhead_tokens, 0)
        before = model.around_tokens + sum(model.weights)
        steps = [at for at in model.begins if items[at].kind != "prompt"]
        expected = reference.clearing(
            outputs,
            weights=model.weights,
            steps=[(at, next((later for later in model.begins if later > at), len(items))) for at in steps],
            before_tokens=before,
            target_tokens=known.target,
            tail_tokens=known.tail,
            least_tokens=least if least is not None else 1 if when == "now" else known.min_gain,
            keep=options.keep,
            excluded=frozenset(options.exclude_tools),
            untouched=frozenset(pins),
            last_model=max(at for at, item in enumerate(items) if item.kind in reference.MODEL),
            stub_tokens=_stub_tokens,
        )
        due = when == "now" or before > (window // 2 if options.trigger_tokens is None else options.trigger_tokens)
        outcome = cl.compact(conversation, policy, when=when, pins=pins, store=MemoryStore(), rungs=["clear"])
        found = [] if not isinstance(outcome, cl.Compacted) else outcome.report["cleared"]
        wanted = sorted((outputs[one].at, why) for one, why in expected) if due else []

        assert sorted((unit["position"], unit["why"]) for unit in found) == wanted, (dialect, number)
        assert (outcome.conversation is conversation) == (not wanted)
        held.update(why for _, why in wanted)
        held["nothing"] += not wanted

    assert min(held[why] for why in ("duplicate", "superseded", "oldest", "nothing")) > CLEARINGS // 10, held
