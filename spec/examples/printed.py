"""
What the commands of the example session print: logs, listings, plans, test runs.

Long outputs are put together from small parts with `Dice`, so that no two lines are alike and every
run of this script gives the same bytes.
"""

# ruff: noqa: E501 - what programs print is not broken into lines

from __future__ import annotations

from typing import Final

from desk import Dice

MARKER: Final = "МАРКЕР: schema_version=42 rows=1283457 checksum=9f3a61c07be2d845 elapsed_s=1871 target=staging-copy"
"""The decisive line: the last one of a long output, and the only place where the checksum stands."""

PLACES: Final = (
    "Riga",
    "Daugavpils",
    "Liepāja",
    "Kaunas",
    "Vilnius",
    "Tallinn",
    "Narva",
    "Warszawa",
    "Białystok",
    "Brest",
    "Тбилиси",
    "Ереван",
)


def listing(paths: list[str], dice: Dice) -> str:
    lines = [f"total {len(paths) * 8}"]
    for path in sorted(paths):
        day, hour, minute = dice.between(1, 16), dice.between(7, 19), dice.below(60)
        lines.append(f"-rw-r--r-- 1 vera vera {dice.between(400, 9800):6} Feb {day:2} {hour:02}:{minute:02} {path}")
    return "\n".join(lines)


def history(dice: Dice) -> str:
    subjects = (
        "Label: print the country in large letters", "Customs hook: 204 for unknown references, they retry for ever otherwise",
        "tariffs: zone 4 for MD", "Fix rounding of quotes (always up, as printed on the price list)", "events: index by shipment and time",
        "export: write to .part and rename", "Pool: 12 connections, the database has 40 for us", "api: 409 for finished shipments",
        "runbook: what to do when the replica lags", "Drop Python 3.11", "repository: keyset pages instead of OFFSET",
        "tests: parcels heavier than 31.5 kg are refused", "Move the 1C import to legacy/, it stays on the old machine",
        "stuck(): count from created_at when there is no event", "migrate.py refuses production", "Add the customs reference (schema 41)",
        "psycopg 3.2", "README: how to get a copy of staging", "Log events with place", "Postcodes: strip blanks",
    )  # fmt: skip
    people = ("Vera", "Tomas", "Oleg", "Vera", "Vera")
    lines = []
    for number, subject in enumerate(subjects):
        lines.append(f"{dice.hexadecimal(7)} 2026-{2 - number // 12:02}-{28 - number:02} {dice.one_of(people):5} {subject}")
    return "\n".join(lines)


def tables() -> str:
    return """\
                                        Table "public.shipments"
     Column     |           Type           | Nullable |                Default
----------------+--------------------------+----------+---------------------------------------
 id             | bigint                   | not null | nextval('shipments_id_seq'::regclass)
 sender_id      | bigint                   | not null |
 recipient_id   | bigint                   | not null |
 weight_kg      | numeric(6,3)             | not null |
 declared_value | numeric(12,2)            | not null |
 status         | text                     | not null | 'created'::text
 created_at     | timestamp with time zone | not null | now()
 customs_ref    | text                     |          |
Indexes:
    "shipments_pkey" PRIMARY KEY, btree (id)
    "shipments_customs_ref" UNIQUE, btree (customs_ref) WHERE customs_ref IS NOT NULL
    "shipments_created_at" brin (created_at)
Check constraints:
    "shipments_weight_kg_check" CHECK (weight_kg > 0::numeric AND weight_kg <= 31.5)
Foreign-key constraints:
    "shipments_recipient_id_fkey" FOREIGN KEY (recipient_id) REFERENCES parties(id)
    "shipments_sender_id_fkey" FOREIGN KEY (sender_id) REFERENCES parties(id)
Referenced by:
    TABLE "events" CONSTRAINT "events_shipment_id_fkey" FOREIGN KEY (shipment_id) REFERENCES shipments(id)
    TABLE "claims" CONSTRAINT "claims_shipment_id_fkey" FOREIGN KEY (shipment_id) REFERENCES shipments(id)

                      Table "public.events"
   Column    |           Type           | Nullable | Default
-------------+--------------------------+----------+----------
 shipment_id | bigint                   | not null |
 at          | timestamp with time zone | not null |
 status      | text                     | not null |
 place       | text                     | not null |
 note        | text                     | not null | ''::text
Indexes:
    "events_shipment_at" btree (shipment_id, at DESC)
Foreign-key constraints:
    "events_shipment_id_fkey" FOREIGN KEY (shipment_id) REFERENCES shipments(id)

  relname  | rows (est.) | total size | indexes
-----------+-------------+------------+---------
 shipments |     1283457 | 412 MB     | 96 MB
 events    |     9764210 | 1893 MB    | 744 MB
 parties   |      208114 | 61 MB      | 19 MB
 claims    |        3127 | 1184 kB    | 288 kB"""


_COUNTRIES: Final = (
    "EE",
    "LV",
    "LT",
    "FI",
    "PL",
    "SE",
    "DE",
    "DK",
    "CZ",
    "FR",
    "NL",
    "BE",
    "AT",
    "IT",
    "ES",
    "RS",
    "TR",
    "GE",
    "AM",
    "KZ",
    "MD",
)


def suite(dice: Dice, failed: dict[str, str], *, extra: tuple[str, ...] = ()) -> str:
    """A verbose run of the suite; *failed* maps the names of failing tests to what pytest prints about them."""
    names = [
        *(f"tests/test_tariffs.py::test_every_zone_has_a_price[{country}]" for country in _COUNTRIES),
        *(f"tests/test_tariffs.py::test_weight_is_rounded_up[{weight}]" for weight in ("0.01", "0.10", "0.11", "1.19", "1.20", "9.99", "31.41", "31.50")),
        "tests/test_tariffs.py::test_countries_without_tariff_are_refused",
        "tests/test_labels.py::test_check_digit_of_known_parcels[48000000128-6]",
        "tests/test_labels.py::test_check_digit_of_known_parcels[48000914377-2]",
        "tests/test_labels.py::test_check_digit_of_known_parcels[48001283457-9]",
        "tests/test_labels.py::test_number_has_twelve_digits",
        "tests/test_labels.py::test_zpl_is_utf8_and_closed",
        "tests/test_models.py::test_naive_times_are_refused",
        "tests/test_models.py::test_times_become_utc[+02:00]",
        "tests/test_models.py::test_times_become_utc[+03:00]",
        "tests/test_models.py::test_postcodes_lose_blanks[LV-1050 ]",
        "tests/test_models.py::test_postcodes_lose_blanks[ 0108]",
        *(f"tests/test_models.py::test_final_states[{state}]" for state in ("delivered", "returned", "lost")),
        *(f"tests/test_models.py::test_weights_outside_the_limits_are_refused[{weight}]" for weight in ("0", "-1", "31.501", "nan")),
        "tests/test_export.py::test_columns_and_their_order",
        "tests/test_export.py::test_numbers_are_written_with_commas",
        "tests/test_export.py::test_the_file_is_cp1251_and_appears_at_once",
        "tests/test_repository.py::test_get_gives_back_what_was_added",
        "tests/test_repository.py::test_unknown_ids_are_not_found",
        "tests/test_repository.py::test_pages_are_in_order_and_do_not_overlap",
        "tests/test_repository.py::test_an_event_changes_the_status",
        "tests/test_repository.py::test_stuck_shipments_are_those_without_news",
        "tests/test_api.py::test_a_shipment_is_shown",
        "tests/test_api.py::test_unknown_shipments_are_404",
        "tests/test_api.py::test_pages_link_to_the_next_one",
        *(f"tests/test_api.py::test_finished_shipments_take_no_events[{state}]" for state in ("delivered", "returned", "lost")),
        "tests/test_api.py::test_the_broker_finds_us_by_reference",
        "tests/test_api.py::test_a_label_has_twelve_digits",
        *extra,
    ]  # fmt: skip
    lines = [
        "============================= test session starts ==============================",
        "platform linux -- Python 3.12.9, pytest-8.4.1, pluggy-1.6.0 -- /home/vera/src/perevoz/.venv/bin/python",
        "rootdir: /home/vera/src/perevoz",
        "configfile: pyproject.toml",
        f"collected {len(names)} items",
        "",
    ]
    for number, name in enumerate(names, 1):
        state = "FAILED" if name.split("::")[1] in failed else "PASSED"
        lines.append(f"{name} {state} [{number * 100 // len(names):3}%]")
    if failed:
        lines += ["", "=================================== FAILURES ==================================="]
        for name, text in failed.items():
            lines += [f"{f' {name} ':_^80}", "", text, ""]
    lines += ["", "============================= slowest 5 durations =============================="]
    for _ in range(5):
        lines.append(f"{dice.between(80, 1900) / 1000:.2f}s call     {dice.one_of(names[33:])}")
    if failed:
        lines.append("=========================== short test summary info ============================")
        for name, text in failed.items():
            reason = next(line[2:].strip() for line in text.split("\n") if line.startswith("E "))
            lines.append(f"FAILED {next(one for one in names if name in one)} - {reason[:70]}")
    good = len(names) - len(failed)
    bad = f"{len(failed)} failed, " if failed else ""
    lines.append(
        f"========================= {bad}{good} passed in {dice.between(700, 1400) / 100:.2f}s ========================="
    )
    return "\n".join(lines)


def migration(dice: Dice) -> str:
    """The run on the copy: 257 batches, what came between them, and the marker as the last line."""
    lines = [
        "target    staging-copy (db-copy.internal:5432/perevoz_copy), PostgreSQL 17.4",
        "pending   0042_uuid_keys.sql",
        "replica   lag 0.2 s",
        "== 0042_uuid_keys.sql",
        "10:02:11 add columns: shipments.uuid, events.shipment_uuid, claims.shipment_uuid (nullable, no rewrite)",
    ]
    second, retries = 11, 0
    for batch in range(1, 258):
        second += dice.between(5, 8)
        minute, rest = divmod(second, 60)
        clock = f"{10 + (2 + minute) // 60:02}:{(2 + minute) % 60:02}:{rest:02}"
        first = (batch - 1) * 5000 + 1
        last = min(batch * 5000, 1283457)
        lag = dice.between(1, 18) / 10
        events = dice.between(36_200, 39_900)
        lines.append(
            f"{clock} batch {batch:03}/257 legacy_id {first}..{last} events {events} "
            f"lock {dice.between(2, 96)} ms write {dice.between(310, 940)} ms wal {dice.between(9, 31)} MB lag {lag} s"
        )
        luck = dice.below(100)
        if luck < 7:
            retries += 1
            lines.append(
                f"{clock}   lock_timeout after 1500 ms on events, waiting {dice.between(200, 900)} ms, attempt 2 of 5: ok"
            )
        elif luck < 12:
            lines.append(f"{clock}   autovacuum: events, {dice.between(11, 46)} % of pages scanned, batches slowed to 1 of 2")
        elif luck < 17:
            wait = dice.between(51, 93) / 10
            lines.append(f"{clock}   реплика отстала на {wait} с, жду; догнала за {dice.between(3, 17)} с")
        elif luck < 21:
            lines.append(
                f"{clock}   checkpoint: {dice.between(210, 980)} MB written, WAL {dice.between(11, 39) / 10} GB since the last one"
            )
        elif luck < 28:
            number, place = dice.between(first, last), dice.one_of(PLACES)
            lines.append(
                f"{clock}   sample legacy_id {number} ({place}): uuid version 7, order kept, {dice.between(3, 11)} events follow: ok"
            )
    lines += [
        "10:31:58 batches done, 257 of 257",
        f"10:31:58 retries {retries}, none gave up",
        "10:31:59 create unique index concurrently shipments_uuid_key: 14.2 s, 49 MB",
        "10:32:14 create index concurrently claims_shipment_uuid: 0.3 s",
        "10:32:14 validate check shipments.uuid is not null: 1.1 s, events.shipment_uuid is not null: 6.9 s",
        "10:32:22 swap primary key: id -> legacy_id, uuid -> id (exclusive lock held 41 ms)",
        "10:32:22 foreign keys events, claims: added not valid, validated in 31.8 s",
        "10:32:54 orphans: events 0, claims 0; duplicates: 0; null keys: 0",
        "10:33:02 digest of shipments in legacy_id order ...",
        "== 0042_uuid_keys.sql done in 1871.4 s",
        MARKER,
    ]
    return "\n".join(lines)


def requests(dice: Dice, count: int, *, is_slow: bool) -> str:
    """An access log of the test stand."""
    agents = ("operator-ui/4.1", "kaunas-sync/0.9", "operator-ui/4.1", "python-httpx/0.28", "scanner-gw/2.2")
    lines = []
    second = 0.0
    for _ in range(count):
        second += dice.between(20, 900) / 1000
        minute, rest = divmod(second, 60)
        kind = dice.below(10)
        uuid = f"0194f{dice.hexadecimal(3)}-{dice.hexadecimal(4)}-7{dice.hexadecimal(3)}-{dice.one_of('89ab')}{dice.hexadecimal(3)}-{dice.hexadecimal(12)}"
        slow = is_slow and kind < 6
        took = dice.between(310, 1290) if slow else dice.between(9, 96)
        path, status, method = f"/shipments/{uuid}", 200, "GET"
        if kind == 6:
            path = f"/shipments?limit={dice.one_of((25, 50, 100))}"
        elif kind == 7:
            path, method, status = f"/shipments/{uuid}/events", "POST", dice.one_of((201, 201, 201, 409))
        elif kind == 8:
            path, status = f"/shipments/{dice.between(100000, 1283457)}", 404
        elif kind == 9:
            path = f"/shipments/{uuid}/label"
        size = dice.between(180, 5200)
        lines.append(
            f'2026-02-17T11:{4 + int(minute):02}:{rest:06.3f}Z {method} {path} {status} {size}B {took}ms db={took * dice.between(71, 95) // 100}ms '
            f'conn={dice.between(1, 12)}/12 "{dice.one_of(agents)}"'
        )  # fmt: skip
    return "\n".join(lines)


def exported(dice: Dice, count: int, *, shifted: bool) -> str:
    """Lines of two exports that differ, as ``diff`` prints them."""
    firms = (
        "ООО «Ромашка»",
        "SIA Baltic Cargo",
        "UAB Žalia upė",
        "ИП Гогоберидзе",
        "OÜ Põhjatäht",
        "ЧП «Ливень»",
        "SIA Dzintars",
        "ООО «Север-Трак»",
    )
    people = (
        "Jānis Bērziņš",
        "Ольга Сидорова",
        "Mantas Kazlauskas",
        "Նարե Սարգսյան",
        "Piotr Zieliński",
        "ნინო ბერიძე",
        "Kadri Tamm",
        "Ион Чебан",
    )
    lines = [f"1c1,{count}" if not shifted else f"2,{count + 1}c2,{count + 1}"]
    rows = []
    for _ in range(count):
        number, hour = dice.between(1282000, 1283457), dice.between(2, 21)
        head = f"{number};{dice.one_of(firms)}, {dice.one_of(PLACES)};{dice.one_of(people)}, {dice.one_of(PLACES)}"
        body = f"{dice.between(1, 31)},{dice.between(0, 999):03};{dice.between(5, 4000)},{dice.below(100):02}"
        rows.append((head, body, hour, dice.below(60)))
    lines += [f"< {head};{body};16.02.2026 {hour:02}:{minute:02}" for head, body, hour, minute in rows]
    lines.append("---")
    lines += [f"> {head};{body};16.02.2026 {(hour - 2 if shifted else hour):02}:{minute:02}" for head, body, hour, minute in rows]
    return "\n".join(lines)


def plan(node: str, *, is_index: bool, milliseconds: float, buffers: int) -> str:
    if is_index:
        return f"""\
                                                                QUERY PLAN
-------------------------------------------------------------------------------------------------------------------------------------------
 {node}
   Index Cond: (shipment_id = '0194f6a2-91c4-7b1e-a3d0-5f0c1d2e3f40'::uuid)
   Buffers: shared hit={buffers}
 Planning:
   Buffers: shared hit=18
 Planning Time: 0.212 ms
 Execution Time: {milliseconds:.3f} ms"""
    return f"""\
                                                                QUERY PLAN
-------------------------------------------------------------------------------------------------------------------------------------------
 {node}
   Workers Planned: 2
   Workers Launched: 2
   ->  Parallel Seq Scan on events  (cost=0.00..241877.00 rows=3 width=61) (actual time=311.870..{milliseconds - 9:.3f} rows=3 loops=3)
         Filter: (shipment_id = '0194f6a2-91c4-7b1e-a3d0-5f0c1d2e3f40'::uuid)
         Rows Removed by Filter: 3254734
         Buffers: shared hit=2114 read={buffers}
 Planning Time: 0.388 ms
 JIT:
   Functions: 12
   Timing: Generation 1.204 ms, Inlining 0.000 ms, Optimization 0.911 ms, Emission 14.620 ms, Total 16.735 ms
 Execution Time: {milliseconds:.3f} ms"""
