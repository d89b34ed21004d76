"""
What is said and done in the example session, and in the example chat.

Vera wants the keys of a table changed from numbers to UUIDs (schema 42); Tomas writes once while she
is away.  The fact that must survive is the last line of one long output (`printed.MARKER`): nobody
repeats it, and the last prompt asks for it.
"""

# ruff: noqa: E501 - what people say and programs print is not broken into lines
# ruff: noqa: S108, S608 - nothing of this is run

from __future__ import annotations

import json
from typing import Any

import printed
from desk import Call, Desk, Dice, image, picture

SYSTEM = (
    "You are a coding agent working in a terminal for one person. You read, search and change files of the working directory and run commands through the tools below; the person sees your words and a summary of each call.",
    "Say what you are about to do in a sentence before you do it. Prefer small changes. Run the tests after each of them. Never claim that something works before you have seen it work. If a command fails, read its output to the end before you try again.",
    "Answer in the language of the person. Paths are absolute in calls and relative in prose. Use the todo list for work of more than three steps and keep it true. Several calls that do not depend on each other belong into one reply.",
    "Working directory: /home/vera/src/perevoz (a git repository, branch schema-42). Platform: linux. Today: 2026-02-17.",
)


def _tool(name: str, about: str, required: str, /, **parameters: str) -> dict[str, Any]:
    kinds = {
        "limit": "integer",
        "offset": "integer",
        "timeout": "integer",
        "-n": "boolean",
        "replace_all": "boolean",
        "todos": "array",
    }
    properties: dict[str, Any] = {
        key: {"type": kinds.get(key, "string"), "description": text} for key, text in parameters.items()
    }
    if "todos" in properties:
        properties["todos"]["items"] = {
            "type": "object",
            "properties": {"content": {"type": "string"}, "status": {"type": "string"}},
        }
    schema = {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}
    return {"name": name, "description": about, "input_schema": schema}


TOOLS = [
    _tool(
        "Bash",
        "Runs a command in a shell that lives as long as the session; the directory stays, variables do not. Output is given whole up "
        "to 64 KB, and after that only its beginning and end. Not for reading, searching or editing files: there are tools for that.",
        "command",
        command="The command. Quote paths with blanks.",
        description="What it does, in five to ten words.",
        timeout="Milliseconds before it is stopped; two minutes if absent, ten at most.",
    ),
    _tool(
        "Read",
        "Reads a file; lines are numbered from 1. Pictures are shown as pictures, PDF files page by page. Up to 2,000 lines at once.",
        "file_path",
        file_path="Absolute path.",
        offset="The first line to read.",
        limit="How many lines.",
    ),
    _tool(
        "Edit",
        "Replaces one string in a file that was read before. The string must occur exactly once, with its indentation, unless "
        "replace_all is set.",
        "file_path old_string new_string",
        file_path="Absolute path.",
        old_string="What to replace.",
        new_string="What to put there.",
        replace_all="Replace every occurrence.",
    ),
    _tool(
        "Write",
        "Writes a file, new or over an old one that was read before.",
        "file_path content",
        file_path="Absolute path.",
        content="All of it.",
    ),
    _tool(
        "Grep",
        "Searches the contents of files with a regular expression (ripgrep's dialect) and gives matching lines, paths or counts.",
        "pattern",
        pattern="The expression.",
        path="Where to search; the working directory if absent.",
        glob="Only files whose names match, such as *.py.",
        output_mode="content, files_with_matches or count.",
        **{"-n": "Number the lines."},
    ),
    _tool("Glob", "Finds files by name, newest first.", "pattern", pattern="Such as **/*.sql.", path="Where to look."),
    _tool(
        "TodoWrite", "Replaces the list of what is to be done, which the person sees.", "todos", todos="The whole list, in order."
    ),
    _tool(
        "WebFetch",
        "Fetches a page, turns it into text and answers a question about it with a small model. Read only; not for pages behind a login.",
        "url prompt",
        url="The address, https.",
        prompt="What to find out.",
    ),
    _tool(
        "Task",
        "Starts another agent on a task of its own, with its own context, and gives back its last words. Good for broad searches.",
        "description prompt",
        description="Three to five words.",
        prompt="The task, with all it needs to know.",
        subagent_type="general-purpose, explorer or reviewer.",
    ),
]

IDS = '''\
"""Time-ordered identifiers (UUID version 7, RFC 9562), from the standard library alone."""

from __future__ import annotations

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last_ms = 0


def new_id() -> uuid.UUID:
    """A new id; ids made later compare greater."""
    global _last_ms
    with _lock:
        _last_ms = max(time.time_ns() // 1_000_000, _last_ms)
        stamp = _last_ms
    random = int.from_bytes(os.urandom(10))
    return _assemble(stamp, random >> 68 & 0xFFF, random & (1 << 62) - 1)


def from_legacy(legacy_id: int, created_ms: int) -> uuid.UUID:
    """The id of a shipment that had a number: its time, then its number, so that the order stays what it was."""
    return _assemble(created_ms, legacy_id >> 20 & 0xFFF, (legacy_id & 0xFFFFF) << 42)


def _assemble(stamp_ms: int, high: int, low: int) -> uuid.UUID:
    return uuid.UUID(int=stamp_ms << 80 | 7 << 76 | high << 64 | 2 << 62 | low)
'''

TEST_IDS = '''\
"""Ids are in the order of their making."""

from __future__ import annotations

import threading

import pytest

from perevoz import ids


def test_version_and_variant():
    made = ids.new_id()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")


def test_later_ids_are_greater():
    made = [ids.new_id() for _ in range(20_000)]
    assert made == sorted(made)


def test_threads_do_not_share_ids():
    made: list = []
    threads = [threading.Thread(target=lambda: made.extend(ids.new_id() for _ in range(2_000))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(made)) == 16_000


@pytest.mark.parametrize("pair", [(1, 2), (1_048_575, 1_048_576), (914_377, 1_283_457)])
def test_old_numbers_keep_their_order(pair):
    first, second = (ids.from_legacy(number, 1_700_000_000_000) for number in pair)
    assert first < second
'''

MIGRATION = """\
-- 0042: shipments are known by UUIDs (version 7, made by the application); the number stays as legacy_id
-- The application must be at 2026.3 before this runs: it writes both keys.

ALTER TABLE shipments ADD COLUMN uuid uuid;
ALTER TABLE events ADD COLUMN shipment_uuid uuid;

-- batched: shipments.legacy_id
UPDATE shipments SET uuid = uuid_from_legacy(id, created_at) WHERE id BETWEEN :first AND :last;
UPDATE events e SET shipment_uuid = s.uuid FROM shipments s WHERE s.id = e.shipment_id AND e.shipment_id BETWEEN :first AND :last;

CREATE UNIQUE INDEX CONCURRENTLY shipments_uuid_key ON shipments (uuid);

ALTER TABLE events DROP CONSTRAINT events_shipment_id_fkey;
ALTER TABLE shipments DROP CONSTRAINT shipments_pkey;
ALTER TABLE shipments RENAME COLUMN id TO legacy_id;
ALTER TABLE shipments RENAME COLUMN uuid TO id;
ALTER TABLE shipments ADD CONSTRAINT shipments_pkey PRIMARY KEY USING INDEX shipments_uuid_key;
ALTER TABLE events DROP COLUMN shipment_id;
ALTER TABLE events RENAME COLUMN shipment_uuid TO shipment_id;
ALTER TABLE events ADD CONSTRAINT events_shipment_id_fkey FOREIGN KEY (shipment_id) REFERENCES shipments (id) NOT VALID;
ALTER TABLE events VALIDATE CONSTRAINT events_shipment_id_fkey;

UPDATE schema_info SET version = 42, applied_at = now();
"""

TRACE = """\
== 0042_uuid_keys.sql
Traceback (most recent call last):
  File "/home/vera/src/perevoz/scripts/migrate.py", line 78, in <module>
    sys.exit(main(sys.argv[1:]))
             ^^^^^^^^^^^^^^^^^^
  File "/home/vera/src/perevoz/scripts/migrate.py", line 61, in main
    apply(connection, path, batch=options.batch)
  File "/home/vera/src/perevoz/scripts/migrate.py", line 73, in apply
    connection.execute(statement)
  File "/home/vera/src/perevoz/.venv/lib/python3.12/site-packages/psycopg/connection.py", line 299, in execute
    raise ex.with_traceback(None)
"""

ROLLBACK = """\
-- back from 0042: the number becomes the key again; ids made since then get new numbers
ALTER TABLE shipments ALTER COLUMN legacy_id SET DEFAULT nextval('shipments_id_seq');
UPDATE shipments SET legacy_id = nextval('shipments_id_seq') WHERE legacy_id IS NULL;
ALTER TABLE events ADD COLUMN shipment_number bigint;
UPDATE events e SET shipment_number = s.legacy_id FROM shipments s WHERE s.id = e.shipment_id;
ALTER TABLE shipments DROP CONSTRAINT shipments_pkey;
ALTER TABLE shipments DROP COLUMN id;
ALTER TABLE shipments RENAME COLUMN legacy_id TO id;
ALTER TABLE shipments ADD PRIMARY KEY (id);
ALTER TABLE events DROP COLUMN shipment_id;
ALTER TABLE events RENAME COLUMN shipment_number TO shipment_id;
ALTER TABLE events ADD CONSTRAINT events_shipment_id_fkey FOREIGN KEY (shipment_id) REFERENCES shipments (id);
UPDATE schema_info SET version = 41, applied_at = now();
"""


def _todos(*items: tuple[str, str]) -> Call:
    todos = [{"content": text, "status": state} for state, text in items]
    return Call("TodoWrite", {"todos": todos}, "The list was replaced.", screen={"newTodos": len(items)})


def session() -> list[dict[str, Any]]:
    """The lines of the session file."""
    desk, dice = Desk(), Dice(42)
    desk.note("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": list(SYSTEM), "tools": TOOLS})
    desk.aside(type="file-history-snapshot", messageId="start", snapshot={"trackedFileBackups": {}}, isSnapshotUpdate=False)
    _survey(desk, dice)
    _keys(desk, dice)
    _copy(desk, dice)
    _latency(desk, dice)
    _export(desk, dice)
    _rollback(desk, dice)
    desk.prompt(
        "Хорошо, на сегодня почти всё. Последнее: напиши заметку к релизу 2026.3. Приведи дословно версию схемы, число строк и контрольную "
        "сумму из прогона на копии, их будет сверять релизная задача. И перечисли, что осталось открытым."
    )
    desk.aside(type="ai-title", aiTitle="Schema 42: UUID keys for shipments")
    return desk.lines


def _survey(desk: Desk, dice: Dice) -> None:
    desk.prompt(
        "Привет! Нужно перевести таблицу shipments с числовых ключей на UUID, это будет схема 42. Партнёр в Каунасе начинает заводить "
        "отправления у себя, и номера больше не могут выдаваться одной базой.\n\n"
        "Ограничения:\n"
        "- папку legacy/ не трогай ни при каких условиях, её читает старая машина с Python 3.6;\n"
        "- никаких новых зависимостей, в том числе ради UUID;\n"
        "- миграцию на prod не запускай никогда, только local и staging-copy;\n"
        "- всё время хранится в UTC.\n\n"
        "Отвечай мне по-русски, а комментарии в коде и сообщения коммитов пиши по-английски. Сначала осмотрись и предложи план, "
        "ничего не меняй."
    )
    desk.reply(
        "Осмотрюсь: дерево, история, документация для дежурного.",
        desk.bash("ls -l $(git ls-files)", printed.listing(list(desk.files), dice), why="List tracked files"),
        desk.bash("git log --oneline --format='%h %as %an %s' -20", printed.history(dice), why="Show recent history"),
        desk.read("README.md"),
        desk.read("docs/runbook.md"),
        thinking="She wants a plan first and no changes. Constraints to remember: legacy/ untouched, no new dependencies, never production, "
        "UTC everywhere, answers in Russian, code comments and commits in English. The runbook may say how migrations are checked.",
    )
    desk.reply(
        "Из runbook важное: после прогона на копии сохраняют последнюю строку вывода. Теперь код, который знает о ключе.",
        desk.read("perevoz/models.py"),
        desk.read("perevoz/repository.py"),
        desk.read("perevoz/api.py"),
    )
    desk.reply(
        desk.read("perevoz/export.py"),
        desk.read("perevoz/labels.py"),
        desk.read("scripts/migrate.py"),
        desk.read("migrations/0041_customs.sql"),
    )
    desk.reply(
        "Номер печатается на наклейках и идёт первой колонкой в выгрузку, это надо будет сохранить. Ищу все места, где он используется.",
        desk.grep(r"shipment_id|\.id\b|legacy_id", "shipment_id", ".id", "legacy_id"),
        desk.grep(r"int\(", "int("),
        desk.read("legacy/import_1c.py"),
    )
    desk.reply(
        desk.bash(
            "psql -p 5433 perevoz -c '\\d+ shipments' -c '\\d events' -f scripts/sizes.sql",
            printed.tables(),
            why="Describe tables",
        ),
        desk.bash(
            'psql -p 5433 perevoz -Atc "select count(*), min(created_at), max(created_at) from shipments"',
            "4096|2026-01-02 06:11:40+00|2026-02-13 17:58:03+00",
            why="Count local rows",
        ),
        desk.read("tests/test_repository.py"),
        desk.read("tests/test_api.py"),
        desk.read("tests/test_export.py"),
    )
    broken = (
        "    def test_check_digit_of_known_parcels(number, digit):\n"
        ">       assert labels.check_digit(number) == digit\n"
        "E       AssertionError: assert 4 == 6\n"
        "E        +  where 4 = check_digit('48000000128')\n\n"
        "tests/test_labels.py:31: AssertionError"
    )
    desk.reply(
        "Прогоню тесты до изменений, чтобы знать исходное состояние.",
        desk.bash(
            "pytest -v --durations=5",
            printed.suite(dice, {"test_check_digit_of_known_parcels": broken}),
            why="Run all tests",
            failed=True,
        ),
    )
    desk.reply(
        "Три параметра одного теста падают ещё до нас; посмотрю, что это за тест.",
        desk.bash(
            "git log -3 --format='%h %as %an %s' -- tests/test_labels.py && git diff HEAD~6 --stat -- perevoz/labels.py",
            "91c07de 2026-02-11 Oleg tests: known parcels from the scanner log\n5e21a90 2025-11-03 Vera tests: parcels heavier than 31.5 kg are refused\n",
            why="Who changed the label tests",
        ),
    )
    desk.reply(
        _todos(
            ("completed", "Осмотреть код, базу и тесты"),
            ("in_progress", "План миграции на схему 42"),
            ("pending", "ids.py и миграция 0042"),
            ("pending", "Модели, репозиторий, API"),
            ("pending", "Прогон на staging-copy"),
        )
    )
    desk.reply(
        "План.\n\n"
        "**Вариант A**: заменить `id` на месте (`ALTER COLUMN TYPE`). Просто, но таблица events (9,7 млн строк) переписывается под "
        "исключительной блокировкой минут на двадцать. Отвергаю: интерфейс операторов столько не простоит.\n\n"
        "**Вариант B**: добавить колонку uuid, заполнить пачками, переставить первичный ключ за миллисекунды, старый номер оставить рядом. "
        "Дольше, зато без простоя, и наклейки с выгрузкой продолжают работать по номеру.\n\n"
        "Порядок: 1) `perevoz/ids.py`; 2) `migrations/0042_uuid_keys.sql` и пачки в `scripts/migrate.py`; 3) модели, репозиторий, API; "
        "4) прогон на local, потом на staging-copy; 5) обновить runbook и проверить откат.\n\n"
        "Вопросы: какая версия UUID, до какого релиза живёт старый номер, и кто чинит `test_check_digit_of_known_parcels`? Он падает и без "
        "наших изменений: ожидания взяты из журнала сканера (коммит 91c07de, Олег), а формула в `labels.py` даёт другую цифру."
    )


def _keys(desk: Desk, dice: Dice) -> None:
    desk.prompt(
        "План хороший, берём вариант B. Уточнения:\n"
        "1) UUIDv7, а не v4: страницы листаются по ключу, порядок по времени нужен.\n"
        "2) Старый номер остаётся в колонке legacy_id до релиза 2026.4, наклейки печатаются по нему.\n"
        "3) Колонки выгрузки для брокера не меняются вообще, в первой остаётся старый номер.\n"
        "4) Коммить маленькими шагами и никогда не делай push, это сделаю я.\n"
        "Тест с контрольной цифрой не чини, его разберёт Олег: в журнале сканера другие веса. Начинай с ids.py и миграции."
    )
    desk.reply(
        "Начинаю с идентификаторов: UUIDv7 на стандартной библиотеке и тесты к ним.",
        desk.write("perevoz/ids.py", IDS),
        desk.write("tests/test_ids.py", TEST_IDS),
        thinking="uuid.uuid7 exists only from Python 3.14, the project is on 3.12, and no new dependency is allowed, so it is written by hand: "
        "48 bits of milliseconds, version, 12 bits, variant, 62 bits. Old shipments need ids too: derive them from created_at and the number so "
        "that the order of pages does not change.",
    )
    monotonic = (
        "    def test_later_ids_are_greater():\n"
        "        made = [ids.new_id() for _ in range(20_000)]\n"
        ">       assert made == sorted(made)\n"
        "E       AssertionError: assert [UUID('0194f6a2-8c11-7d40-9a55-...')] == [UUID('0194f6a2-8c11-7003-8e1c-...')]\n"
        "E         At index 0 diff: UUID('0194f6a2-8c11-7d40-9a55-01c3b7e0d9aa') != UUID('0194f6a2-8c11-7003-8e1c-e1f05b22c417')\n\n"
        "tests/test_ids.py:20: AssertionError\n"
        "=========================== short test summary info ============================\n"
        "FAILED tests/test_ids.py::test_later_ids_are_greater - AssertionError\n"
        "1 failed, 5 passed in 0.41s"
    )
    desk.reply(desk.bash("pytest tests/test_ids.py", monotonic, why="Run the new tests", failed=True))
    desk.reply(
        "В пределах одной миллисекунды порядок случайный. Сделаю 12 бит после версии счётчиком, как разрешает RFC 9562 (метод 1).",
        desk.edit(
            "perevoz/ids.py",
            "    global _last_ms\n    with _lock:\n        _last_ms = max(time.time_ns() // 1_000_000, _last_ms)\n        stamp = _last_ms\n"
            "    random = int.from_bytes(os.urandom(10))\n    return _assemble(stamp, random >> 68 & 0xFFF, random & (1 << 62) - 1)\n",
            "    global _last_ms, _count\n    with _lock:\n        now = time.time_ns() // 1_000_000\n        _count = _count + 1 if now <= _last_ms else 0\n"
            "        # 4,096 ids in one millisecond: borrow the next one rather than wait\n"
            "        _last_ms, _count = max(now, _last_ms) + (_count >> 12), _count & 0xFFF\n        stamp, count = _last_ms, _count\n"
            "    return _assemble(stamp, count, int.from_bytes(os.urandom(8)) >> 2)\n",
        ),
        desk.edit("perevoz/ids.py", "_last_ms = 0\n", "_last_ms = 0\n_count = 0\n"),
    )
    desk.reply(
        desk.bash(
            "pytest tests/test_ids.py",
            "......                                                                   [100%]\n6 passed in 0.38s",
            why="Run the new tests",
        )
    )
    desk.reply(desk.commit("Add time-ordered ids (UUIDv7)"))
    desk.reply(
        "Теперь миграция и пачки в `scripts/migrate.py`.",
        desk.write("migrations/0042_uuid_keys.sql", MIGRATION),
        desk.edit(
            "scripts/migrate.py",
            '    for statement in path.read_text().split(";\\n"):\n        if statement.strip():\n            connection.execute(statement)\n',
            '    for statement in path.read_text().split(";\\n"):\n        if ":first" not in statement:\n            if statement.strip():\n'
            '                connection.execute(statement)\n            continue\n        (top,) = connection.execute("SELECT max(id) FROM shipments").fetchone()\n'
            "        for first in range(1, top + 1, batch):\n            last = min(first + batch - 1, top)\n"
            '            connection.execute(statement.replace(":first", str(first)).replace(":last", str(last)))\n'
            '            print(f"batch {first}..{last}")\n',
        ),
    )
    desk.reply(
        desk.bash(
            "python scripts/migrate.py --target local --batch 1000",
            TRACE
            + "psycopg.errors.UndefinedFunction: function uuid_from_legacy(bigint, timestamp with time zone) does not exist\n"
            "LINE 3: UPDATE shipments SET uuid = uuid_from_legacy(id, created_at)...\n                                    ^\n"
            "HINT:  No function matches the given name and argument types. You might need to add explicit type casts.",
            why="Migrate the local database",
            failed=True,
        )
    )
    desk.reply(
        "Функцию я описал в Python, а вызываю в SQL. Добавлю её в миграцию с той же раскладкой битов, что в `from_legacy`.",
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "ALTER TABLE shipments ADD COLUMN uuid uuid;\n",
            "-- the same bits as perevoz.ids.from_legacy\n"
            "CREATE FUNCTION uuid_from_legacy(number bigint, at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$\n"
            "  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(number >> 20 & 4095), 3, '0')\n"
            "    || lpad(to_hex(2::bigint << 14 | (number & 1048575) >> 6), 4, '0') || lpad(to_hex((number & 63) << 42), 12, '0'))::uuid\n$$;\n\n"
            "ALTER TABLE shipments ADD COLUMN uuid uuid;\n",
        ),
        desk.bash(
            "python scripts/migrate.py --target local --batch 1000",
            TRACE + 'psycopg.errors.UndefinedColumn: column "shipment_uuid" of relation "claims" does not exist\n'
            "LINE 1: ALTER TABLE claims DROP CONSTRAINT claims_shipment_id_fkey ...",
            why="Migrate the local database again",
            failed=True,
        ),
    )
    desk.reply(
        "Таблица claims тоже ссылается на отправления, в плане я её пропустил: это видно в выводе `\\d+`, раздел Referenced by.",
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "ALTER TABLE events ADD COLUMN shipment_uuid uuid;\n",
            "ALTER TABLE events ADD COLUMN shipment_uuid uuid;\nALTER TABLE claims ADD COLUMN shipment_uuid uuid;\n",
        ),
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "ALTER TABLE events DROP COLUMN shipment_id;\n",
            "UPDATE claims c SET shipment_uuid = s.id FROM shipments s WHERE s.legacy_id = c.shipment_id;\n"
            "ALTER TABLE claims DROP COLUMN shipment_id;\nALTER TABLE claims RENAME COLUMN shipment_uuid TO shipment_id;\n"
            "ALTER TABLE claims ADD CONSTRAINT claims_shipment_id_fkey FOREIGN KEY (shipment_id) REFERENCES shipments (id) NOT VALID;\n"
            "ALTER TABLE claims VALIDATE CONSTRAINT claims_shipment_id_fkey;\nALTER TABLE events DROP COLUMN shipment_id;\n",
        ),
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "ALTER TABLE events DROP CONSTRAINT events_shipment_id_fkey;\n",
            "ALTER TABLE events DROP CONSTRAINT events_shipment_id_fkey;\nALTER TABLE claims DROP CONSTRAINT claims_shipment_id_fkey;\n",
        ),
    )
    desk.reply(
        desk.bash(
            "make db-reset && python scripts/migrate.py --target local --batch 1000",
            "dropped and loaded perevoz from fixtures/local.dump (4096 shipments)\n"
            + TRACE
            + 'psycopg.errors.LockNotAvailable: canceling statement due to lock timeout\nCONTEXT:  while locking relation "shipments"',
            why="Reset and migrate",
            failed=True,
        )
    )
    activity = "\n".join(
        f" {pid} | {user:8} | {state:19} | {age:>9} | {query}"
        for pid, user, state, age, query in (
            (
                48121,
                "perevoz",
                "active",
                "00:00:00",
                "SELECT pid, usename, state, now() - xact_start, query FROM pg_stat_activity",
            ),
            (
                47730,
                "vera",
                "idle in transaction",
                "01:12:44",
                "select * from shipments where customs_ref like 'LV%' order by id desc limit 20;",
            ),
            (47102, "grafana", "idle", "", "SELECT 1"),
            (46993, "perevoz", "idle", "", "COMMIT"),
        )
    )
    desk.reply(
        "Кто-то держит блокировку; смотрю активные сессии.",
        desk.bash(
            "psql -p 5433 perevoz -c \"select pid, usename, state, now() - xact_start, left(query, 80) from pg_stat_activity where datname = 'perevoz'\"",
            f"  pid  | usename  |        state        | ?column?  | left\n-------+----------+---------------------+-----------+------\n{activity}",
            why="Show sessions",
        ),
    )
    desk.reply(
        "Это открытая транзакция в чужом psql (pid 47730, час без движения). Завершать чужую сессию не стану: добавлю в скрипт повтор с "
        "ожиданием, как того требует runbook, а psql закроете вы.",
        desk.edit(
            "scripts/migrate.py",
            "def apply(connection",
            "def patiently(connection: psycopg.Connection, statement: str, *, attempts: int = 5) -> None:\n"
            '    """Run a statement, again if it could not get its lock."""\n    for attempt in range(1, attempts + 1):\n        try:\n'
            "            connection.execute(statement)\n        except psycopg.errors.LockNotAvailable:\n            if attempt == attempts:\n"
            "                raise\n            time.sleep(0.2 * attempt)\n        else:\n            return\n\n\ndef apply(connection",
        ),
        thinking="pid 47730 belongs to vera, a forgotten psql. Killing another person's session is not mine to decide. A retry is needed anyway: "
        "the runbook says that locks are never waited for longer than a second and a half and batches are repeated.",
    )
    desk.queued("psql закрыла, извини, забыла. Продолжай.")
    desk.reply(
        desk.edit(
            "scripts/migrate.py",
            "            if statement.strip():\n                connection.execute(statement)\n",
            "            if statement.strip():\n                patiently(connection, statement)\n",
        ),
        desk.edit(
            "scripts/migrate.py",
            "            connection.execute(statement.replace(",
            "            patiently(connection, statement.replace(",
        ),
        desk.bash(
            "python scripts/migrate.py --target local --batch 1000",
            "== 0042_uuid_keys.sql\nbatch 1..1000\nbatch 1001..2000\nbatch 2001..3000\nbatch 3001..4000\nbatch 4001..4096\n"
            "batch 1..1000\nbatch 1001..2000\nbatch 2001..3000\nbatch 3001..4000\nbatch 4001..4096\n== 0042_uuid_keys.sql done in 3.9 s",
            why="Migrate the local database",
        ),
    )
    desk.reply(desk.commit("Schema 42: shipments are known by UUIDs"))
    desk.reply(
        "Локально прошло. Теперь код: модели, репозиторий и API одним шагом, иначе тесты не соберутся.",
        desk.edit(
            "perevoz/models.py",
            "class Shipment(BaseModel):\n    id: int\n",
            "class Shipment(BaseModel):\n    id: uuid.UUID\n    legacy_id: int | None = None\n",
        ),
        desk.edit(
            "perevoz/models.py",
            "class Event(BaseModel):\n    shipment_id: int\n",
            "class Event(BaseModel):\n    shipment_id: uuid.UUID\n",
        ),
        desk.edit("perevoz/models.py", "import enum\n", "import enum\nimport uuid\n"),
        desk.edit("perevoz/repository.py", "    s.id, s.weight_kg,", "    s.id, s.legacy_id, s.weight_kg,"),
        desk.edit(
            "perevoz/repository.py",
            '    def get(self, shipment_id: int) -> Shipment:\n        row = self._connection.execute(\n            f"SELECT {_COLUMNS} {_FROM} WHERE s.id = %s", (shipment_id,)\n',
            '    def get(self, shipment_id: str) -> Shipment:\n        row = self._connection.execute(\n            f"SELECT {_COLUMNS} {_FROM} WHERE s.id::text = %s", (shipment_id,)\n',
        ),
        desk.edit(
            "perevoz/repository.py", "after: int = 0, limit: int = 100", "after: uuid.UUID = uuid.UUID(int=0), limit: int = 100"
        ),
        desk.edit("perevoz/repository.py", "import datetime as dt\n", "import datetime as dt\nimport uuid\n"),
        desk.edit(
            "perevoz/repository.py", '        id=row["id"],\n', '        id=row["id"],\n        legacy_id=row["legacy_id"],\n'
        ),
    )
    desk.failed_request()
    desk.reply(
        desk.edit("perevoz/repository.py", "recipient_id: int) -> int:", "recipient_id: int) -> uuid.UUID:"),
        desk.edit(
            "perevoz/repository.py",
            "            INSERT INTO shipments (sender_id, recipient_id, weight_kg, declared_value, status, created_at, customs_ref)\n"
            "            VALUES (%s, %s, %s, %s, %s, %s, %s)\n",
            "            INSERT INTO shipments (id, sender_id, recipient_id, weight_kg, declared_value, status, created_at, customs_ref)\n"
            "            VALUES (%s, %s, %s, %s, %s, %s, %s, %s)\n",
        ),
        desk.edit(
            "perevoz/repository.py",
            "                sender_id, recipient_id, shipment.weight_kg,",
            "                shipment.id, sender_id, recipient_id, shipment.weight_kg,",
        ),
        desk.edit(
            "perevoz/repository.py",
            '        return int(row["id"])\n\n    def record',
            '        return row["id"]\n\n    def record',
        ),
        desk.edit("perevoz/repository.py", '-> Sequence[int]:\n        """Ids of', '-> Sequence[uuid.UUID]:\n        """Ids of'),
        desk.edit("perevoz/repository.py", '[int(row["id"]) for row in rows]', '[row["id"] for row in rows]'),
        desk.edit(
            "perevoz/repository.py", "    def events(self, shipment_id: int)", "    def events(self, shipment_id: uuid.UUID)"
        ),
    )
    desk.reply(
        desk.edit(
            "perevoz/api.py",
            '    async def show(request: Request) -> Response:\n        shipment_id = int(request.path_params["shipment_id"])\n',
            '    async def show(request: Request) -> Response:\n        shipment_id = str(request.path_params["shipment_id"])\n',
        ),
        desk.edit(
            "perevoz/api.py",
            '    async def add_event(request: Request) -> Response:\n        shipment_id = int(request.path_params["shipment_id"])\n',
            '    async def add_event(request: Request) -> Response:\n        shipment_id = str(request.path_params["shipment_id"])\n',
        ),
        desk.edit(
            "perevoz/api.py",
            '        after = int(request.query_params.get("after", "0"))\n',
            '        after = uuid.UUID(request.query_params.get("after", uuid.UUID(int=0).hex))\n',
        ),
        desk.edit(
            "perevoz/api.py",
            'open_repository().get(int(request.path_params["shipment_id"]))',
            'open_repository().get(str(request.path_params["shipment_id"]))',
        ),
        desk.edit("perevoz/api.py", "import logging\n", "import logging\nimport uuid\n"),
        desk.edit(
            "perevoz/api.py",
            '            Route("/shipments/{shipment_id:int}", show),\n',
            '            Route("/shipments/{shipment_id:uuid}", show),\n',
        ),
        desk.edit("perevoz/api.py", '"/shipments/{shipment_id:int}/events"', '"/shipments/{shipment_id:uuid}/events"'),
        desk.edit("perevoz/api.py", '"/shipments/{shipment_id:int}/label"', '"/shipments/{shipment_id:uuid}/label"'),
    )
    failures = {
        "test_check_digit_of_known_parcels": ">       assert labels.check_digit(number) == digit\nE       AssertionError: assert 4 == 6\n\ntests/test_labels.py:31: AssertionError",
        "test_numbers_are_written_with_commas": (
            '    def test_numbers_are_written_with_commas(two_shipments):\n        _, first, *_ = export.render(two_shipments).split("\\r\\n")\n'
            '>       assert first == "128;ООО «Ромашка», Рига;Jānis Bērziņš, Daugavpils;2,350;1234,50;14.01.2026 09:30"\n'
            "E       AssertionError: assert '0194a0c3-7d2...01.2026 09:30' == '128;ООО «Ром...01.2026 09:30'\n"
            "E         - 128;ООО «Ромашка», Рига;Jānis Bērziņš, Daugavpils;2,350;1234,50;14.01.2026 09:30\n"
            "E         + 0194a0c3-7d28-7000-8008-000000000000;ООО «Ромашка», Рига;Jānis Bērziņš, Daugavpils;2,350;1234,50;14.01.2026 09:30\n\n"
            "tests/test_export.py:19: AssertionError"
        ),
        "test_a_label_has_twelve_digits": (
            'perevoz/labels.py:25: in parcel_number\n    body = f"48{shipment_id:09d}"\n           ^^^^^^^^^^^^^^^^^^^^\n'
            "E   ValueError: Unknown format code 'd' for object of type 'UUID'"
        ),
        "test_unknown_shipments_are_404": (
            '    def test_unknown_shipments_are_404(client):\n>       assert client.get("/shipments/123456789").status_code == 404\n'
            "E       assert 500 == 404\nE        +  where 500 = <Response [500 Internal Server Error]>.status_code\n\n"
            "------------------------------ Captured log call -------------------------------\n"
            "ERROR    perevoz.api:errors.py:188 badly formed hexadecimal UUID string"
        ),
    }
    desk.reply(
        desk.bash("pytest -v --durations=5", printed.suite(dice, failures, extra=_ID_TESTS), why="Run all tests", failed=True),
    )
    desk.reply(
        "Четыре места: три наших и одно Олега. Выгрузка и наклейки должны брать `legacy_id`; по старому номеру в адресе отвечаем 404.",
        desk.edit(
            "perevoz/export.py",
            "                one.id,\n",
            "                one.legacy_id,  # the broker knows the number, and reads by position\n",
        ),
        desk.edit(
            "perevoz/labels.py",
            "    number = parcel_number(shipment.id)\n",
            '    if shipment.legacy_id is None:\n        raise ValueError(f"{shipment.id} has no number to print; labels need one until 2026.4")\n'
            "    number = parcel_number(shipment.legacy_id)\n",
        ),
        desk.edit(
            "tests/test_api.py",
            'def test_unknown_shipments_are_404(client):\n    assert client.get("/shipments/123456789").status_code == 404\n',
            'def test_unknown_shipments_are_404(client):\n    assert client.get("/shipments/0194a0c3-7d28-7000-8008-00000000ffff").status_code == 404\n\n\n'
            'def test_old_numbers_are_404(client):\n    assert client.get("/shipments/123456789").status_code == 404\n',
        ),
        thinking="The 500 comes from the index route? No: starlette's uuid convertor does not match a number, so the request falls through to the "
        "error handler that parses the path. A test for the old form belongs here, because scanners still call it.",
    )
    only = {"test_check_digit_of_known_parcels": failures["test_check_digit_of_known_parcels"]}
    desk.reply(
        desk.bash(
            "pytest -v --durations=5",
            printed.suite(dice, only, extra=(*_ID_TESTS, "tests/test_api.py::test_old_numbers_are_404")),
            why="Run all tests",
            failed=True,
        )
    )
    desk.reply(
        desk.bash(
            "ruff check . && git diff --stat",
            "All checks passed!\n perevoz/api.py        | 17 +++++++++--------\n perevoz/export.py     |  2 +-\n perevoz/labels.py     |  4 +++-\n perevoz/models.py     |  6 ++++--\n perevoz/repository.py | 27 +++++++++++++++------------\n tests/test_api.py     |  6 +++++-",
            why="Lint",
        ),
        desk.bash("git diff", desk.diff(), why="Show the change"),
    )
    desk.reply(desk.commit("Use UUIDs in models, repository and API; labels and export keep the number"))
    desk.reply(
        "Готово на local: схема, код и тесты. Упал только `test_check_digit_of_known_parcels`, он падал и раньше, его не трогал.\n\n"
        "Решения: UUIDv7 со счётчиком в 12 битах; старые отправления получают id из created_at и номера, поэтому порядок страниц прежний; "
        "`claims` тоже переведена. Отказался от `DROP ... CASCADE`: оно молча удалило бы внешние ключи, про которые мы забыли.\n\n"
        "Не проверено: время блокировки на настоящем объёме. Для этого нужен прогон на копии."
    )


_ID_TESTS = (
    "tests/test_ids.py::test_version_and_variant", "tests/test_ids.py::test_later_ids_are_greater", "tests/test_ids.py::test_threads_do_not_share_ids",
    "tests/test_ids.py::test_old_numbers_keep_their_order[pair0]", "tests/test_ids.py::test_old_numbers_keep_their_order[pair1]",
    "tests/test_ids.py::test_old_numbers_keep_their_order[pair2]",
)  # fmt: skip


def _copy(desk: Desk, dice: Dice) -> None:
    desk.prompt(
        "Отлично. Теперь прогони миграцию на staging-copy целиком. Вывод длинный, главное в нём последняя строка: её потом будем сверять с "
        "релизной задачей, так что не потеряй."
    )
    desk.reply(
        "Сначала условия из runbook: отставание реплики, место на диске, свежесть копии. И пусть скрипт печатает маркер, как там написано.",
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -Atc 'select now() - pg_last_xact_replay_timestamp()'",
            "00:00:00.204113",
            why="Replica lag",
        ),
        desk.bash(
            "ssh db-copy.internal df -h /var/lib/postgresql",
            "Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme1n1    118G   61G   52G  55% /var/lib/postgresql",
            why="Free space on the copy",
        ),
        desk.edit(
            "scripts/migrate.py",
            '            print(f"== {path.name} done in {time.monotonic() - started:.1f} s")\n',
            '            elapsed = time.monotonic() - started\n            print(f"== {path.name} done in {elapsed:.1f} s")\n'
            '            rows, checksum = digest(connection, "shipments")\n'
            '            print(f"МАРКЕР: schema_version={path.name[2:4]} {rows=} {checksum=!s} elapsed_s={elapsed:.0f} target={options.target}")\n',
        ),
    )
    desk.reply(
        "Условия в порядке. Запускаю; по оценке полчаса.",
        desk.bash(
            "python scripts/migrate.py --target staging-copy --batch 5000 2>&1 | tee /tmp/migrate-copy.log",
            printed.migration(dice),
            why="Migrate the copy of staging",
        ),
    )
    desk.reply(
        "Прошло до конца, без отказов, ключ переставлен под блокировкой в 41 мс. Маркер напечатан последней строкой, полный журнал лежит в "
        "`/tmp/migrate-copy.log`. Дальше по runbook: ANALYZE и планы частых запросов.",
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -c 'ANALYZE shipments; ANALYZE events;'",
            "ANALYZE\nANALYZE",
            why="Refresh statistics",
        ),
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -c \"explain (analyze, buffers) select * from events where shipment_id = '0194f6a2-91c4-7b1e-a3d0-5f0c1d2e3f40' order by at\"",
            printed.plan(
                "Gather Merge  (cost=242877.02..242877.72 rows=6 width=61) (actual time=388.104..391.560 rows=9 loops=1)",
                is_index=False,
                milliseconds=391.9,
                buffers=98531,
            ),
            why="Plan of the events query",
        ),
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -c '\\d events'",
            '                      Table "public.events"\n   Column    |           Type           | Nullable | Default\n-------------+--------------------------+----------+----------\n'
            " at          | timestamp with time zone | not null |\n status      | text                     | not null |\n place       | text                     | not null |\n"
            " note        | text                     | not null | ''::text\n shipment_id | uuid                     |          |\n"
            'Foreign-key constraints:\n    "events_shipment_id_fkey" FOREIGN KEY (shipment_id) REFERENCES shipments(id)',
            why="Describe events after the migration",
        ),
    )
    desk.reply(
        "Вот чего не было видно на четырёх тысячах строк: вместе со старой колонкой исчез индекс `events_shipment_at`, и запрос событий идёт "
        "полным просмотром (391 мс). Добавляю индекс и NOT NULL в миграцию 0042; отдельная 0043 не нужна, схема 42 ещё нигде не выпущена.",
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "CREATE UNIQUE INDEX CONCURRENTLY shipments_uuid_key ON shipments (uuid);\n",
            "CREATE UNIQUE INDEX CONCURRENTLY shipments_uuid_key ON shipments (uuid);\n"
            "-- the old index goes with the old column; without this one every page of events is a full scan\n"
            "CREATE INDEX CONCURRENTLY events_shipment_uuid_at ON events (shipment_uuid, at DESC);\n",
        ),
        desk.edit(
            "migrations/0042_uuid_keys.sql",
            "ALTER TABLE events VALIDATE CONSTRAINT events_shipment_id_fkey;\n",
            "ALTER TABLE events VALIDATE CONSTRAINT events_shipment_id_fkey;\nALTER TABLE events ALTER COLUMN shipment_id SET NOT NULL;\n",
        ),
        thinking="DROP COLUMN drops every index on it. The digest covers shipments only, so adding an index on events does not change the marker: "
        "rows and checksum stay valid, and there is no need to run half an hour again. Say so.",
    )
    desk.queued("И посмотри заодно, не выросла ли events больше чем вдвое, места на проде впритык.")
    desk.reply(
        "Создам индекс на копии руками, чтобы не гонять всё заново, и посмотрю размеры.",
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -c 'create index concurrently events_shipment_uuid_at on events (shipment_id, at desc)' -c '\\timing' -f scripts/sizes.sql",
            "CREATE INDEX\nTime: 41873.220 ms (00:41.873)\n  relname  | rows (est.) | total size | indexes\n-----------+-------------+------------+---------\n"
            " shipments |     1283457 | 655 MB     | 151 MB\n events    |     9764210 | 3302 MB    | 892 MB\n parties   |      208114 | 61 MB      | 19 MB\n claims    |        3127 | 1616 kB    | 424 kB",
            why="Create the index, show sizes",
        ),
        desk.bash(
            "psql -h db-copy.internal perevoz_copy -c \"explain (analyze, buffers) select * from events where shipment_id = '0194f6a2-91c4-7b1e-a3d0-5f0c1d2e3f40' order by at\"",
            printed.plan(
                "Index Scan Backward using events_shipment_uuid_at on events  (cost=0.56..20.61 rows=6 width=61) (actual time=0.024..0.041 rows=9 loops=1)",
                is_index=True,
                milliseconds=0.068,
                buffers=7,
            ),
            why="Plan after the index",
        ),
    )
    desk.reply(
        desk.bash(
            "ssh db-copy.internal sudo -u postgres vacuumdb --verbose --table events perevoz_copy 2>&1 | tail -8",
            'INFO:  vacuuming "perevoz_copy.public.events"\nINFO:  launched 2 parallel vacuum workers for index vacuuming (planned: 2)\n'
            'INFO:  finished vacuuming "perevoz_copy.public.events": index scans: 1\npages: 0 removed, 301842 remain, 301842 scanned (100.00% of total)\n'
            "tuples: 9764210 removed, 9764210 remain, 0 are dead but not yet removable\nindex scan needed: 150921 pages from table (50.00% of total) had 9764210 dead item identifiers removed\n"
            "avg read rate: 210.4 MB/s, avg write rate: 96.1 MB/s\nelapsed: 21.90 s",
            why="Vacuum events",
        ),
        desk.commit("Schema 42: index events by the new key, print the marker"),
    )
    desk.reply(
        "Итог по копии:\n\n"
        "- миграция прошла целиком, маркер в последней строке вывода, сверять надо с ним;\n"
        "- индекс `events_shipment_uuid_at` добавлен в миграцию, запрос событий 391 мс → 0,07 мс;\n"
        "- events выросла с 1893 до 3302 МБ, то есть в 1,74 раза, меньше чем вдвое. Половина роста мёртвые строки: после VACUUM место "
        "используется снова, но файлу не возвращается;\n"
        "- сумма считается по shipments, поэтому от индекса она не меняется, повторять прогон не нужно.\n\n"
        "Открытый вопрос: хватит ли на проде 1,5 ГБ сверху, свободно там сколько?"
    )


def _latency(desk: Desk, dice: Dice) -> None:
    graph = picture([9, 8, 9, 10, 8, 9, 11, 9, 34, 38, 36, 41, 39, 37, 40, 38], (196, 64, 48))
    desk.prompt([
        {"type": "text", "text": "На проде свободно 6 ГБ, хватит. Но вот график с тестового стенда после выкладки ветки: p95 вырос с 90 мс до 380. Разберись, пожалуйста. Пулы не увеличивай, у базы на нас всего 40 соединений."},
        image(graph),
    ])  # fmt: skip
    desk.prompt(
        [
            {
                "type": "text",
                "text": "[Image: original 1920x1080, displayed at 960x540. Multiply coordinates by 2.00 to map to original image.]",
            }
        ],
        meta=True,
    )
    desk.reply(
        "Скачок ровно на выкладке ветки. Смотрю журнал стенда.",
        desk.bash(
            "ssh stand.internal tail -n 90 /var/log/perevoz/access.log",
            printed.requests(dice, 90, is_slow=True),
            why="Tail the access log",
        ),
    )
    desk.reply(
        "Медленны одиночные GET по UUID, почти всё время уходит в базу, страницы быстрые. Похоже на запрос без индекса.",
        desk.bash(
            "ssh stand.internal \"awk '{print \\$3}' /var/log/perevoz/access.log | sed 's/[0-9a-f-]\\{36\\}/ID/' | sort | uniq -c | sort -rn | head\"",
            "  51210 /shipments/ID\n  10077 /shipments?limit=100\n   8812 /shipments/ID/events\n   6431 /shipments/ID/label\n   2290 /hooks/customs\n    918 /shipments/731184\n     77 /quote",
            why="Count by route",
        ),
        desk.bash(
            "psql -h stand.internal perevoz -c 'select calls, round(mean_exec_time::numeric, 2) ms, left(query, 110) q from pg_stat_statements order by total_exec_time desc limit 6'",
            " calls |   ms   | q\n-------+--------+--------------------------------------------------------------------------------\n"
            " 66453 | 341.77 | SELECT s.id, s.legacy_id, s.weight_kg, ... WHERE s.id::text = $1\n 10077 |   4.02 | SELECT s.id, s.legacy_id, s.weight_kg, ... WHERE s.id > $1 ORDER BY s.id LIMIT $2\n"
            "  8812 |   0.31 | INSERT INTO events (shipment_id, at, status, place, note) VALUES ($1, $2, $3, $4, $5)\n  2290 |   0.22 | SELECT ... WHERE s.customs_ref = $1\n"
            "   311 |   9.70 | SELECT s.id FROM shipments s LEFT JOIN LATERAL (SELECT max(e.at) ...\n    12 |   1.13 | SELECT version FROM schema_info",
            why="Most expensive statements",
        ),
    )
    desk.reply(
        "Нашёл, это моя ошибка: в `Repository.get` я написал `s.id::text = %s`. Приведение к тексту выключает индекс первичного ключа, "
        "и каждое чтение просматривает всю таблицу.",
        desk.read("perevoz/repository.py", start=40, lines=30),
        desk.grep("::text", "::text"),
        thinking="WHERE s.id::text = $1 cannot use shipments_pkey. The path convertor already gives a uuid.UUID, and I turned it into a string and the "
        "column into text to make the types meet. Pass the UUID through and compare uuid with uuid.",
    )
    desk.reply(
        desk.edit(
            "perevoz/repository.py",
            "    def get(self, shipment_id: str) -> Shipment:\n",
            "    def get(self, shipment_id: uuid.UUID) -> Shipment:\n",
        ),
        desk.edit("perevoz/repository.py", 'WHERE s.id::text = %s", (shipment_id,)', 'WHERE s.id = %s", (shipment_id,)'),
        desk.edit(
            "perevoz/api.py",
            '    async def show(request: Request) -> Response:\n        shipment_id = str(request.path_params["shipment_id"])\n',
            '    async def show(request: Request) -> Response:\n        shipment_id: uuid.UUID = request.path_params["shipment_id"]\n',
        ),
        desk.edit(
            "perevoz/api.py",
            '    async def add_event(request: Request) -> Response:\n        shipment_id = str(request.path_params["shipment_id"])\n',
            '    async def add_event(request: Request) -> Response:\n        shipment_id: uuid.UUID = request.path_params["shipment_id"]\n',
        ),
        desk.edit(
            "perevoz/api.py",
            'open_repository().get(str(request.path_params["shipment_id"]))',
            'open_repository().get(request.path_params["shipment_id"])',
        ),
        desk.edit(
            "tests/test_repository.py",
            "def test_unknown_ids_are_not_found(repository):\n    with pytest.raises(NotFoundError):\n        repository.get(999_999_999)\n",
            "def test_unknown_ids_are_not_found(repository):\n    with pytest.raises(NotFoundError):\n        repository.get(ids.new_id())\n\n\n"
            "def test_reading_one_shipment_uses_the_primary_key(repository, explain):\n    plan = explain(repository.get, ids.new_id())\n"
            '    assert "shipments_pkey" in plan\n    assert "Seq Scan on shipments" not in plan\n',
        ),
        desk.edit(
            "tests/test_repository.py",
            "from perevoz.models import Event, Status\n",
            "from perevoz import ids\nfrom perevoz.models import Event, Status\n",
        ),
    )
    broken = (
        "        def explain(call, *arguments):\n>           return call.__self__.explain(call, *arguments)\n"
        "E           AttributeError: 'Repository' object has no attribute 'explain'\n\ntests/conftest.py:58: AttributeError"
    )
    only = {
        "test_check_digit_of_known_parcels": ">       assert labels.check_digit(number) == digit\nE       AssertionError: assert 4 == 6\n\ntests/test_labels.py:31: AssertionError",
        "test_reading_one_shipment_uses_the_primary_key": broken,
    }
    new = (
        "tests/test_repository.py::test_reading_one_shipment_uses_the_primary_key",
        "tests/test_api.py::test_old_numbers_are_404",
    )
    desk.reply(
        desk.bash(
            "pytest -v --durations=5", printed.suite(dice, only, extra=(*_ID_TESTS, *new)), why="Run all tests", failed=True
        )
    )
    desk.reply(
        "Фикстура `explain` ждала метода, которого нет. Пусть она сама перехватывает запрос и просит план у базы.",
        desk.bash(
            "python - <<'PY'\nfrom pathlib import Path\np = Path('tests/conftest.py')\ns = p.read_text()\ns = s.replace('return call.__self__.explain(call, *arguments)', "
            "'return plan_of(connection, captured(call, *arguments))')\np.write_text(s)\nPY\npytest tests/test_repository.py",
            ".......                                                                  [100%]\n7 passed in 2.14s",
            why="Fix the fixture and run the tests",
        ),
    )
    desk.reply(
        desk.bash(
            "make deploy-stand && sleep 120 && hey -n 4000 -c 8 -m GET https://stand.internal/shipments/0194f6a2-91c4-7b1e-a3d0-5f0c1d2e3f40",
            "deployed schema-42 to stand.internal\n\nSummary:\n  Total:        9.8114 secs\n  Slowest:      0.1140 secs\n  Fastest:      0.0061 secs\n  Average:      0.0195 secs\n  Requests/sec: 407.69\n\n"
            "Response time histogram:\n  0.006 [1]     |\n  0.017 [2291]  |■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■\n  0.028 [1187]  |■■■■■■■■■■■■■■■■■■■■■\n  0.039 [322]   |■■■■■■\n  0.049 [121]   |■■\n"
            "  0.060 [44]    |■\n  0.071 [19]    |\n  0.082 [9]     |\n  0.092 [4]     |\n  0.103 [1]     |\n  0.114 [1]     |\n\nLatency distribution:\n  50% in 0.0158 secs\n  75% in 0.0229 secs\n  90% in 0.0341 secs\n"
            "  95% in 0.0417 secs\n  99% in 0.0610 secs\n\nStatus code distribution:\n  [200] 4000 responses",
            why="Deploy to the stand and measure",
        ),
        desk.bash(
            "ssh stand.internal tail -n 40 /var/log/perevoz/access.log",
            printed.requests(dice, 40, is_slow=False),
            why="Tail the log again",
        ),
    )
    shot = picture([9, 10, 9, 37, 39, 40, 38, 36, 12, 7, 6, 7, 6, 7, 6, 7], (48, 120, 72))
    screen = {"type": "image", "file": {"base64": shot, "type": "image/png", "originalSize": len(shot) * 3 // 4}}
    png = Call("Read", {"file_path": "/tmp/p95-after.png"}, [image(shot)], screen=screen)
    desk.reply(
        "Снимок графика за последний час, чтобы убедиться глазами.",
        png,
        desk.commit("Compare keys as UUIDs: the cast to text cost a full scan"),
    )
    desk.reply(
        "Починено: p95 на стенде 42 мс против 380 (и против 90 до миграции). Причина была в моём `s.id::text`, пулы не менял. Добавлен тест, "
        "который смотрит план запроса и упадёт, если индекс снова перестанет использоваться.\n\n"
        "Ещё в журнале 918 запросов по старым номерам (`/shipments/731184`, все от operator-ui): они получают 404. Надо решить, "
        "перенаправлять ли их."
    )


def _export(desk: Desk, dice: Dice) -> None:
    desk.prompt(
        "Hi, Tomas here, Vera is at lunch and gave me the keyboard. The broker called about last night's test file. Two requirements, please keep "
        "both: (1) created_at in the export must stay in local Riga time, day first, no zone, exactly as it is today, even though we store UTC; "
        "(2) the file name must not change. Can you check our export against last night's file from production? Answer me in English, please. "
        "Redirects for old numbers: no, we decided against them, operator-ui will be fixed instead."
    )
    desk.reply(
        "I will render yesterday's shipments from the copy with the branch and compare the result with the production file.",
        desk.bash(
            "python -m perevoz.export --dsn copy --day 2026-02-16 --out /tmp/export && diff <(iconv -f cp1251 /srv/broker/shipments-20260216.csv | sort | head -60) <(iconv -f cp1251 /tmp/export/shipments-20260216.csv | sort | head -60)",
            printed.exported(dice, 58, shifted=True),
            why="Compare the export with production",
            failed=True,
        ),
    )
    desk.reply(
        "Every line differs in the hour, by two: we now print UTC. Until today the connection's time zone was Europe/Riga and PostgreSQL "
        "converted for us; since `_is_aware` converts to UTC in the model, `created_at` reaches the export as UTC.",
        desk.bash(
            "git log -S'Europe/Riga' --oneline -- .",
            "c41a77e Pool: 12 connections, the database has 40 for us\n0b9d2f1 First export for the broker",
            why="When the zone was set",
        ),
        desk.read("perevoz/export.py"),
        thinking="Riga is UTC+2 in February and UTC+3 in summer, so a fixed offset would be wrong from 29 March on. zoneinfo is in the standard library. "
        "cp1251 is already what production writes. Georgian and Armenian names become question marks there, in production too; not ours to change, but worth telling.",
    )
    desk.reply(
        desk.edit("perevoz/export.py", "from pathlib import Path\n", "from pathlib import Path\nfrom zoneinfo import ZoneInfo\n"),
        desk.edit(
            "perevoz/export.py",
            '                f"{one.created_at:%d.%m.%Y %H:%M}",\n',
            '                f"{one.created_at.astimezone(RIGA):%d.%m.%Y %H:%M}",\n',
        ),
        desk.edit(
            "perevoz/export.py",
            'COLUMNS = ("id",',
            '# It also expects local time, day first and without a zone; we store UTC.\nRIGA = ZoneInfo("Europe/Riga")\nCOLUMNS = ("id",',
        ),
        desk.edit(
            "tests/test_export.py",
            "def test_the_file_is_cp1251",
            "def test_times_are_local_in_winter_and_in_summer(shipment_at):\n"
            '    for stored, written in (("2026-01-14T07:30Z", "14.01.2026 09:30"), ("2026-07-01T21:15Z", "02.07.2026 00:15")):\n'
            "        assert export.render([shipment_at(stored)]).rstrip().endswith(written)\n\n\ndef test_the_file_is_cp1251",
        ),
    )
    desk.reply(
        desk.bash(
            "pytest tests/test_export.py && python -m perevoz.export --dsn copy --day 2026-02-16 --out /tmp/export && cmp /srv/broker/shipments-20260216.csv /tmp/export/shipments-20260216.csv && echo identical",
            "....                                                                     [100%]\n4 passed in 0.22s\nwrote /tmp/export/shipments-20260216.csv: 2911 shipments, 301844 bytes\nidentical",
            why="Test, render again, compare bytes",
        ),
        desk.commit("export: local time for the broker, whatever the connection's zone is"),
    )
    desk.reply(
        "Both requirements hold: `created_at` is written in Riga time (winter and summer, tested) and the name is still `shipments-YYYYMMDD.csv`. "
        "The file for 2026-02-16 rendered by the branch is byte for byte the one production sent: 2911 shipments, 301844 bytes.\n\n"
        "One thing I saw and did not change: names in Georgian and Armenian become question marks in cp1251, in production too. "
        "If the broker can take UTF-8 one day, that is the place."
    )


def _rollback(desk: Desk, dice: Dice) -> None:
    desk.prompt(
        "Я вернулась, спасибо вам обоим. Осталось два пункта: дополнить runbook и проверить откат. Откат проверяй только на local, копию не "
        "трогай, она нужна Олегу до пятницы. И подскажи, что делать с отправлениями, которые Каунас успеет завести до отката: номера у них не будет."
    )
    desk.reply(
        "Пишу откат и пробую его на local. Отправлениям без номера откат выдаст номера из той же последовательности.",
        desk.write("migrations/down/0042_uuid_keys.sql", ROLLBACK),
        desk.bash(
            "psql -p 5433 perevoz -v ON_ERROR_STOP=1 -1 -f migrations/down/0042_uuid_keys.sql",
            "ALTER TABLE\nUPDATE 0\nALTER TABLE\nUPDATE 31127\npsql:migrations/down/0042_uuid_keys.sql:6: ERROR:  cannot drop constraint shipments_pkey on table shipments because other objects depend on it\n"
            "DETAIL:  constraint events_shipment_id_fkey on table events depends on index shipments_pkey\nconstraint claims_shipment_id_fkey on table claims depends on index shipments_pkey\n"
            "HINT:  Use DROP ... CASCADE to drop the dependent objects too.",
            why="Try the rollback locally",
            failed=True,
        ),
    )
    desk.reply(
        "CASCADE по-прежнему не использую: снимаю оба внешних ключа явно, и claims тоже возвращаю на номер.",
        desk.edit(
            "migrations/down/0042_uuid_keys.sql",
            "ALTER TABLE shipments DROP CONSTRAINT shipments_pkey;\n",
            "ALTER TABLE claims ADD COLUMN shipment_number bigint;\nUPDATE claims c SET shipment_number = s.legacy_id FROM shipments s WHERE s.id = c.shipment_id;\n"
            "ALTER TABLE events DROP CONSTRAINT events_shipment_id_fkey;\nALTER TABLE claims DROP CONSTRAINT claims_shipment_id_fkey;\nALTER TABLE shipments DROP CONSTRAINT shipments_pkey;\n",
        ),
        desk.edit(
            "migrations/down/0042_uuid_keys.sql",
            "UPDATE schema_info SET version = 41",
            "ALTER TABLE claims DROP COLUMN shipment_id;\nALTER TABLE claims RENAME COLUMN shipment_number TO shipment_id;\n"
            "ALTER TABLE claims ADD CONSTRAINT claims_shipment_id_fkey FOREIGN KEY (shipment_id) REFERENCES shipments (id);\n"
            "CREATE INDEX events_shipment_at ON events (shipment_id, at DESC);\nDROP FUNCTION uuid_from_legacy(bigint, timestamptz);\nUPDATE schema_info SET version = 41",
        ),
    )
    desk.reply(
        desk.bash(
            "make db-reset && python scripts/migrate.py --target local >/dev/null && psql -p 5433 perevoz -qc \"insert into shipments (id, sender_id, recipient_id, weight_kg, declared_value) values ('0194f7b0-0000-7000-8000-00000000ca01', 1, 2, 1.5, 10)\" && psql -p 5433 perevoz -v ON_ERROR_STOP=1 -1 -f migrations/down/0042_uuid_keys.sql && psql -p 5433 perevoz -Atc 'select max(id), count(*) from shipments' -c 'select version from schema_info'",
            "dropped and loaded perevoz from fixtures/local.dump (4096 shipments)\nALTER TABLE\nUPDATE 1\nALTER TABLE\nUPDATE 31127\nALTER TABLE\nUPDATE 12\nALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\n"
            "ALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\nALTER TABLE\nCREATE INDEX\nDROP FUNCTION\nUPDATE 1\n4097|4097\n41",
            why="Up, one shipment from Kaunas, down again",
        ),
    )
    desk.reply(
        "Откат проходит туда и обратно: отправление из Каунаса получило номер 4097, events и claims на месте, версия снова 41. Теперь runbook.",
        desk.read("docs/runbook.md"),
        desk.edit(
            "docs/runbook.md",
            "## После миграции\n",
            "## Если нужно откатить схему 42\n\n1. Остановить приём из Каунаса: `systemctl stop kaunas-sync`.\n2. `psql -1 -v ON_ERROR_STOP=1 -f migrations/down/0042_uuid_keys.sql`, одной транзакцией.\n"
            "3. Отправления без номера получат новые номера; наклейки на них надо напечатать заново, список печатает `scripts/unnumbered.sql`.\n"
            "4. Выкатить 2026.2 и включить приём.\n\n## После миграции\n",
        ),
        desk.edit(
            "docs/runbook.md",
            "- `ANALYZE shipments; ANALYZE events;`\n",
            "- `ANALYZE shipments; ANALYZE events;`, потом `VACUUM events` (половина строк мёртвые).\n",
        ),
        desk.write(
            "scripts/unnumbered.sql",
            "-- shipments made since schema 42 that were never given a number\nSELECT id, created_at FROM shipments WHERE legacy_id IS NULL ORDER BY id;\n",
        ),
    )
    only = {
        "test_check_digit_of_known_parcels": ">       assert labels.check_digit(number) == digit\nE       AssertionError: assert 4 == 6\n\ntests/test_labels.py:31: AssertionError"
    }
    new = (
        "tests/test_repository.py::test_reading_one_shipment_uses_the_primary_key", "tests/test_api.py::test_old_numbers_are_404",
        "tests/test_export.py::test_times_are_local_in_winter_and_in_summer",
    )  # fmt: skip
    desk.reply(
        desk.bash(
            "make db-reset && python scripts/migrate.py --target local >/dev/null && pytest -v --durations=5",
            printed.suite(dice, only, extra=(*_ID_TESTS, *new)),
            why="All tests on schema 42",
            failed=True,
        ),
        desk.bash(
            "ruff check . && git status --short",
            "All checks passed!\n M docs/runbook.md\n?? migrations/down/\n?? scripts/unnumbered.sql",
            why="Lint and status",
        ),
        desk.bash(
            "git diff --no-ext-diff main...HEAD --stat | tail -3",
            " tests/test_repository.py           |  12 +-\n 13 files changed, 301 insertions(+), 49 deletions(-)",
            why="Size of the branch",
        ),
    )
    desk.reply(desk.bash("git diff", desk.diff(), why="Show what is not committed"), desk.commit("Roll back schema 42, runbook"))
    desk.reply(
        _todos(
            ("completed", "ids.py и миграция 0042"),
            ("completed", "Модели, репозиторий, API"),
            ("completed", "Прогон на staging-copy"),
            ("completed", "Выгрузка для брокера"),
            ("completed", "Откат и runbook"),
            ("pending", "Заметка к релизу 2026.3"),
        )
    )
    desk.reply(
        "Всё сделано, семь коммитов на ветке, push не делал.\n\n"
        "Про отправления из Каунаса: при откате они получают следующие номера и требуют новых наклеек, это записано в runbook.\n\n"
        "Остаётся открытым: 1) `test_check_digit_of_known_parcels` ждёт Олега; 2) operator-ui ещё ходит по старым номерам, 918 запросов за час, "
        "его будут чинить; 3) `legacy_id` удалить в 2026.4, до этого перевести наклейки; 4) имена на грузинском и армянском в выгрузке."
    )


def chat() -> dict[str, Any]:
    """A small request in the dialect of OpenAI Chat Completions: two tools, parallel calls, two turns."""

    def call(name: str, tool: str, **arguments: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}

    def function(name: str, description: str, key: str) -> dict[str, Any]:
        parameters = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
        return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}

    return {
        "model": "gpt-5-mini",
        "tools": [
            function("find_parcel", "Where a parcel is and what happened to it.", "number"),
            function("quote", "What a parcel to a country costs, by weight in kg.", "query"),
        ],
        "messages": [
            {"role": "system", "content": "You answer customers of a small forwarder. Be brief. Never promise a delivery date."},
            {"role": "user", "content": "Hi! Where are my parcels 480000001283 and 480009143772?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    call("call_a1", "find_parcel", number="480000001283"),
                    call("call_a2", "find_parcel", number="480009143772"),
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "call_a1",
                "content": '{"status": "in_transit", "place": "Kaunas", "at": "2026-02-16T18:20:00Z"}',
            },
            {
                "role": "tool",
                "tool_call_id": "call_a2",
                "content": '{"status": "customs", "place": "Narva", "missing": "invoice for 2 of 3 items"}',
            },
            {
                "role": "assistant",
                "content": "The first left Kaunas yesterday evening. The second is at customs in Narva: an invoice for two of its three items is missing.",
            },
            {
                "role": "user",
                "content": "The invoice is attached to the order, number INV-2026-0311. And what would 4.2 kg to Georgia cost? Please answer in Russian, my mother reads this.",
            },
            {"role": "assistant", "content": None, "tool_calls": [call("call_b1", "quote", query="GE 4.2")]},
            {"role": "tool", "tool_call_id": "call_b1", "content": '{"zone": 4, "price": "26.00", "currency": "EUR"}'},
            {"role": "assistant", "content": "Счёт INV-2026-0311 передам на таможню. Посылка 4,2 кг в Грузию стоит 26,00 EUR."},
            {"role": "user", "content": "Спасибо! А если отправить двумя посылками по 2,1 кг?"},
        ],
    }
