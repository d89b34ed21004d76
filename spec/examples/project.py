"""
The invented project that the example session works on: its files as they are when the session begins.

``perevoz`` tracks parcels.  Nothing of it exists; it is written for this session, so that what the
tools print (listings, searches, diffs) can be computed from one tree and agrees with itself.
"""

from __future__ import annotations

from typing import Final

FILES: Final[dict[str, str]] = {}

FILES["pyproject.toml"] = """\
[project]
name = "perevoz"
version = "2026.2.3"
requires-python = ">=3.12"
dependencies = ["psycopg[binary]>=3.2", "starlette>=0.46", "uvicorn>=0.34", "pydantic>=2.11"]

[dependency-groups]
dev = ["pytest>=8.4", "httpx>=0.28", "ruff>=0.12"]

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-q --strict-markers"
markers = ["db: needs the local PostgreSQL on port 5433"]

[tool.ruff]
line-length = 100
"""

FILES["perevoz/settings.py"] = '''\
"""Settings, from the environment and nowhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    dsn: str
    pool_min: int = 2
    pool_max: int = 12
    statement_timeout_ms: int = 8_000
    lock_timeout_ms: int = 1_500
    export_dir: str = "/var/lib/perevoz/export"
    broker_url: str = "https://customs-broker.example/api/v3"


def load() -> Settings:
    return Settings(
        dsn=os.environ["PEREVOZ_DSN"],
        pool_max=int(os.environ.get("PEREVOZ_POOL_MAX", "12")),
        export_dir=os.environ.get("PEREVOZ_EXPORT_DIR", "/var/lib/perevoz/export"),
    )
'''

FILES["perevoz/models.py"] = '''\
"""What a shipment is."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal

from pydantic import BaseModel, Field, field_validator


class Status(enum.StrEnum):
    CREATED = "created"
    ACCEPTED = "accepted"
    CUSTOMS = "customs"
    IN_TRANSIT = "in_transit"
    DELIVERED = "delivered"
    RETURNED = "returned"
    LOST = "lost"

    @property
    def is_final(self) -> bool:
        return self in (Status.DELIVERED, Status.RETURNED, Status.LOST)


class Party(BaseModel):
    name: str = Field(min_length=1, max_length=140)
    country: str = Field(pattern="^[A-Z]{2}$")
    city: str
    street: str
    postcode: str

    @field_validator("postcode")
    @classmethod
    def _no_spaces_at_the_ends(cls, value: str) -> str:
        return value.strip()


class Shipment(BaseModel):
    id: int
    sender: Party
    recipient: Party
    weight_kg: Decimal = Field(gt=0, le=Decimal("31.5"))
    declared_value: Decimal = Field(ge=0)
    status: Status = Status.CREATED
    created_at: dt.datetime
    customs_ref: str | None = None

    @field_validator("created_at")
    @classmethod
    def _is_aware(cls, value: dt.datetime) -> dt.datetime:
        if value.tzinfo is None:
            raise ValueError("created_at has no time zone")
        return value.astimezone(dt.UTC)


class Event(BaseModel):
    shipment_id: int
    at: dt.datetime
    status: Status
    place: str
    note: str = ""


class Quote(BaseModel):
    zone: int
    weight_kg: Decimal
    price: Decimal
    currency: str = "EUR"
'''

FILES["perevoz/repository.py"] = '''\
"""Shipments in PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from .models import Event, Party, Shipment, Status

_COLUMNS = """
    s.id, s.weight_kg, s.declared_value, s.status, s.created_at, s.customs_ref,
    f.name AS from_name, f.country AS from_country, f.city AS from_city, f.street AS from_street, f.postcode AS from_postcode,
    t.name AS to_name, t.country AS to_country, t.city AS to_city, t.street AS to_street, t.postcode AS to_postcode
"""

_FROM = """
    FROM shipments s
    JOIN parties f ON f.id = s.sender_id
    JOIN parties t ON t.id = s.recipient_id
"""


class NotFoundError(LookupError):
    """No shipment has this id."""


class Repository:
    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self._connection = connection
        self._connection.row_factory = dict_row

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._connection.transaction():
            yield

    def get(self, shipment_id: int) -> Shipment:
        row = self._connection.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE s.id = %s", (shipment_id,)
        ).fetchone()
        if row is None:
            raise NotFoundError(shipment_id)
        return _shipment(row)

    def page(self, *, after: int = 0, limit: int = 100) -> Sequence[Shipment]:
        """Keyset pages: ids grow with time, so the newest page is the one after the largest id seen."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE s.id > %s ORDER BY s.id LIMIT %s", (after, limit)
        ).fetchall()
        return [_shipment(row) for row in rows]

    def by_customs_ref(self, reference: str) -> Shipment | None:
        row = self._connection.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE s.customs_ref = %s", (reference,)
        ).fetchone()
        return None if row is None else _shipment(row)

    def add(self, shipment: Shipment, *, sender_id: int, recipient_id: int) -> int:
        row = self._connection.execute(
            """
            INSERT INTO shipments (sender_id, recipient_id, weight_kg, declared_value, status, created_at, customs_ref)
            VALUES (%s, %s, %s, %s, %s, %s, %s)
            RETURNING id
            """,
            (
                sender_id, recipient_id, shipment.weight_kg, shipment.declared_value,
                shipment.status, shipment.created_at, shipment.customs_ref,
            ),
        ).fetchone()
        assert row is not None
        return int(row["id"])

    def record(self, event: Event) -> None:
        self._connection.execute(
            "INSERT INTO events (shipment_id, at, status, place, note) VALUES (%s, %s, %s, %s, %s)",
            (event.shipment_id, event.at, event.status, event.place, event.note),
        )
        self._connection.execute(
            "UPDATE shipments SET status = %s WHERE id = %s", (event.status, event.shipment_id)
        )

    def events(self, shipment_id: int) -> Sequence[Event]:
        rows = self._connection.execute(
            "SELECT shipment_id, at, status, place, note FROM events WHERE shipment_id = %s ORDER BY at",
            (shipment_id,),
        ).fetchall()
        return [Event(**row) for row in rows]

    def stuck(self, *, since: dt.datetime) -> Sequence[int]:
        """Ids of shipments without an event since then that are not at their end."""
        rows = self._connection.execute(
            """
            SELECT s.id FROM shipments s
            LEFT JOIN LATERAL (
                SELECT max(e.at) AS last_at FROM events e WHERE e.shipment_id = s.id
            ) e ON true
            WHERE s.status NOT IN ('delivered', 'returned', 'lost')
              AND coalesce(e.last_at, s.created_at) < %s
            ORDER BY s.id
            """,
            (since,),
        ).fetchall()
        return [int(row["id"]) for row in rows]


def _shipment(row: dict[str, Any]) -> Shipment:
    return Shipment(
        id=row["id"],
        sender=_party(row, "from"),
        recipient=_party(row, "to"),
        weight_kg=row["weight_kg"],
        declared_value=row["declared_value"],
        status=Status(row["status"]),
        created_at=row["created_at"],
        customs_ref=row["customs_ref"],
    )


def _party(row: dict[str, Any], prefix: str) -> Party:
    return Party(**{field: row[f"{prefix}_{field}"] for field in Party.model_fields})
'''

FILES["perevoz/api.py"] = '''\
"""The HTTP interface."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from . import labels, tariffs
from .models import Event, Status
from .repository import NotFoundError, Repository

log = logging.getLogger("perevoz.api")


def create_app(open_repository: Callable[[], Repository]) -> Starlette:
    async def show(request: Request) -> Response:
        shipment_id = int(request.path_params["shipment_id"])
        try:
            shipment = open_repository().get(shipment_id)
        except NotFoundError:
            return JSONResponse({"error": "no such shipment"}, status_code=404)
        return JSONResponse(shipment.model_dump(mode="json"))

    async def index(request: Request) -> Response:
        after = int(request.query_params.get("after", "0"))
        limit = min(int(request.query_params.get("limit", "100")), 500)
        found = open_repository().page(after=after, limit=limit)
        body = {"items": [one.model_dump(mode="json") for one in found]}
        if len(found) == limit:
            body["next"] = f"/shipments?after={found[-1].id}&limit={limit}"
        return JSONResponse(body)

    async def add_event(request: Request) -> Response:
        shipment_id = int(request.path_params["shipment_id"])
        try:
            event = Event(shipment_id=shipment_id, **await request.json())
        except ValidationError as error:
            return JSONResponse({"error": error.errors(include_url=False)}, status_code=422)
        repository = open_repository()
        with repository.transaction():
            current = repository.get(shipment_id)
            if current.status.is_final:
                return JSONResponse({"error": f"already {current.status}"}, status_code=409)
            repository.record(event)
        log.info("event shipment=%s status=%s place=%s", shipment_id, event.status, event.place)
        return JSONResponse({"status": event.status}, status_code=201)

    async def label(request: Request) -> Response:
        shipment = open_repository().get(int(request.path_params["shipment_id"]))
        return Response(labels.zpl(shipment), media_type="application/zpl")

    async def quote(request: Request) -> Response:
        body = await request.json()
        return JSONResponse(tariffs.quote(body["country"], body["weight_kg"]).model_dump(mode="json"))

    async def customs_hook(request: Request) -> Response:
        """The broker calls this when a declaration changes; it knows our id and nothing else of us."""
        body = await request.json()
        repository = open_repository()
        shipment = repository.by_customs_ref(body["reference"])
        if shipment is None:
            log.warning("customs: unknown reference %r", body["reference"])
            return Response(status_code=204)
        status = Status.IN_TRANSIT if body["state"] == "released" else Status.CUSTOMS
        repository.record(
            Event(shipment_id=shipment.id, at=dt.datetime.now(dt.UTC), status=status, place=body["office"])
        )
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/shipments", index),
            Route("/shipments/{shipment_id:int}", show),
            Route("/shipments/{shipment_id:int}/events", add_event, methods=["POST"]),
            Route("/shipments/{shipment_id:int}/label", label),
            Route("/quote", quote, methods=["POST"]),
            Route("/hooks/customs", customs_hook, methods=["POST"]),
        ]
    )
'''

FILES["perevoz/export.py"] = '''\
"""The nightly file for the customs broker."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable
from pathlib import Path

from .models import Shipment

# The broker's importer reads columns by position.  Its vendor went out of business in 2019.
COLUMNS = ("id", "sender", "recipient", "weight_kg", "declared_value", "created_at")


def write(shipments: Iterable[Shipment], place: Path, *, day: dt.date) -> Path:
    target = place / f"shipments-{day:%Y%m%d}.csv"
    partial = target.with_suffix(".part")
    partial.write_bytes(render(shipments).encode("cp1251", errors="replace"))
    partial.rename(target)
    return target


def render(shipments: Iterable[Shipment]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\\r\\n")
    writer.writerow(COLUMNS)
    for one in shipments:
        writer.writerow(
            (
                one.id,
                f"{one.sender.name}, {one.sender.city}",
                f"{one.recipient.name}, {one.recipient.city}",
                f"{one.weight_kg:.3f}".replace(".", ","),
                f"{one.declared_value:.2f}".replace(".", ","),
                f"{one.created_at:%d.%m.%Y %H:%M}",
            )
        )
    return out.getvalue()
'''

FILES["perevoz/labels.py"] = '''\
"""Parcel labels in ZPL."""

from __future__ import annotations

from .models import Shipment

_WEIGHTS = (3, 1, 7)


def check_digit(number: str) -> int:
    """
    The last digit of a parcel number.

    >>> check_digit("000000128")
    3
    """
    total = sum(int(digit) * _WEIGHTS[place % 3] for place, digit in enumerate(reversed(number)))
    return (10 - total % 10) % 10


def parcel_number(shipment_id: int) -> str:
    """Twelve digits: a fixed prefix, the id, the check digit.  Printed on every parcel since 2011."""
    body = f"48{shipment_id:09d}"
    return f"{body}{check_digit(body)}"


def zpl(shipment: Shipment) -> str:
    number = parcel_number(shipment.id)
    lines = [
        "^XA",
        "^CI28",
        f"^FO40,40^A0N,40,40^FD{shipment.recipient.name}^FS",
        f"^FO40,90^A0N,32,32^FD{shipment.recipient.street}^FS",
        f"^FO40,130^A0N,32,32^FD{shipment.recipient.postcode} {shipment.recipient.city}^FS",
        f"^FO40,170^A0N,48,48^FD{shipment.recipient.country}^FS",
        f"^FO40,260^BY3^BCN,120,Y,N,N^FD{number}^FS",
        f"^FO40,430^A0N,24,24^FD{shipment.weight_kg:.1f} kg^FS",
        "^XZ",
    ]
    return "\\n".join(lines)
'''

FILES["perevoz/tariffs.py"] = '''\
"""What a parcel costs."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

from .models import Quote

ZONES = {
    "EE": 1, "LV": 1, "LT": 1, "FI": 1,
    "PL": 2, "SE": 2, "DE": 2, "DK": 2, "CZ": 2,
    "FR": 3, "NL": 3, "BE": 3, "AT": 3, "IT": 3, "ES": 3,
    "RS": 4, "TR": 4, "GE": 4, "AM": 4, "KZ": 4, "MD": 4,
}

_BASE = {1: Decimal("6.90"), 2: Decimal("9.40"), 3: Decimal("11.80"), 4: Decimal("14.50")}
_PER_KG = {1: Decimal("0.85"), 2: Decimal("1.10"), 3: Decimal("1.45"), 4: Decimal("2.30")}
_FUEL = Decimal("1.0725")


class NoTariffError(LookupError):
    """We do not deliver there."""


def quote(country: str, weight_kg: Decimal | str) -> Quote:
    """
    The price of one parcel, fuel surcharge included, rounded up to ten cents.

    >>> quote("LV", "1.2").price
    Decimal('8.60')
    """
    try:
        zone = ZONES[country]
    except KeyError:
        raise NoTariffError(country) from None
    weight = Decimal(weight_kg).quantize(Decimal("0.1"), rounding=ROUND_UP)
    price = (_BASE[zone] + _PER_KG[zone] * weight) * _FUEL
    return Quote(zone=zone, weight_kg=weight, price=(price * 10).to_integral_value(ROUND_UP) / 10)
'''

FILES["migrations/0040_events_index.sql"] = """\
-- 0040: events are read by shipment, newest first
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_shipment_at ON events (shipment_id, at DESC);
UPDATE schema_info SET version = 40, applied_at = now();
"""

FILES["migrations/0041_customs.sql"] = """\
-- 0041: customs references
ALTER TABLE shipments ADD COLUMN customs_ref text;
CREATE UNIQUE INDEX CONCURRENTLY shipments_customs_ref ON shipments (customs_ref) WHERE customs_ref IS NOT NULL;
UPDATE schema_info SET version = 41, applied_at = now();
"""

FILES["scripts/migrate.py"] = '''\
"""
Applies migrations, in batches where a table is large.

    python scripts/migrate.py --target staging-copy [--batch 5000] [--dry-run]

Refuses to run against production: that is done by the release job with two people present.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path

import psycopg

TARGETS = {
    "local": "postgresql://perevoz@localhost:5433/perevoz",
    "staging-copy": "postgresql://perevoz@db-copy.internal:5432/perevoz_copy",
}
FOLDER = Path(__file__).parents[1] / "migrations"


def pending(connection: psycopg.Connection, folder: Path) -> list[Path]:
    (version,) = connection.execute("SELECT version FROM schema_info").fetchone()
    return [path for path in sorted(folder.glob("*.sql")) if int(path.name[:4]) > version]


def digest(connection: psycopg.Connection, table: str) -> tuple[int, str]:
    """Number of rows, and a digest of all of them in key order."""
    total, state = 0, hashlib.sha256()
    with connection.cursor("digest") as cursor:
        for row in cursor.execute(f"SELECT {table}::text FROM {table} ORDER BY legacy_id"):
            state.update(row[0].encode())
            total += 1
    return total, state.hexdigest()[:16]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=sorted(TARGETS), required=True)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(argv)
    with psycopg.connect(TARGETS[options.target], autocommit=True) as connection:
        for path in pending(connection, FOLDER):
            started = time.monotonic()
            print(f"== {path.name}")
            if not options.dry_run:
                apply(connection, path, batch=options.batch)
            print(f"== {path.name} done in {time.monotonic() - started:.1f} s")
    return 0


def apply(connection: psycopg.Connection, path: Path, *, batch: int) -> None:
    for statement in path.read_text().split(";\\n"):
        if statement.strip():
            connection.execute(statement)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''

FILES["legacy/import_1c.py"] = """\
# -*- coding: utf-8 -*-
# Загрузка отправлений из 1С.  Запускается по cron на старой машине (Python 3.6!).
# НЕ МЕНЯТЬ без Галины Петровны: формат файла описан только в её тетради.

import csv
import datetime
import sys

import psycopg2

FIELDS = ["num", "otpravitel", "poluchatel", "ves", "stoimost", "data"]


def main(path):
    conn = psycopg2.connect("dbname=perevoz user=import1c")
    cur = conn.cursor()
    with open(path, encoding="cp1251") as f:
        for row in csv.DictReader(f, fieldnames=FIELDS, delimiter=";"):
            created = datetime.datetime.strptime(row["data"], "%d.%m.%Y %H:%M")
            cur.execute(
                "INSERT INTO shipments (sender_id, recipient_id, weight_kg, declared_value, status, created_at)"
                " VALUES (party_by_name(%s), party_by_name(%s), %s, %s, 'created', %s)"
                " RETURNING id",
                (
                    row["otpravitel"],
                    row["poluchatel"],
                    row["ves"].replace(",", "."),
                    row["stoimost"].replace(",", "."),
                    created,
                ),
            )
            print("%s -> %d" % (row["num"], cur.fetchone()[0]))
    conn.commit()


if __name__ == "__main__":
    main(sys.argv[1])
"""

FILES["tests/test_repository.py"] = '''\
"""Shipments come back from the database as they went in."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from perevoz.models import Event, Status
from perevoz.repository import NotFoundError

pytestmark = pytest.mark.db


def test_get_gives_back_what_was_added(repository, shipment):
    new_id = repository.add(shipment, sender_id=1, recipient_id=2)
    found = repository.get(new_id)
    assert found.weight_kg == Decimal("2.350")
    assert found.status is Status.CREATED


def test_unknown_ids_are_not_found(repository):
    with pytest.raises(NotFoundError):
        repository.get(999_999_999)


def test_pages_are_in_order_and_do_not_overlap(repository, many_shipments):
    first = repository.page(limit=40)
    second = repository.page(after=first[-1].id, limit=40)
    ids = [one.id for one in (*first, *second)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 80


def test_an_event_changes_the_status(repository, shipment):
    new_id = repository.add(shipment, sender_id=1, recipient_id=2)
    at = dt.datetime(2026, 1, 14, 9, 30, tzinfo=dt.UTC)
    repository.record(Event(shipment_id=new_id, at=at, status=Status.ACCEPTED, place="Riga"))
    assert repository.get(new_id).status is Status.ACCEPTED
    assert [event.place for event in repository.events(new_id)] == ["Riga"]


def test_stuck_shipments_are_those_without_news(repository, many_shipments):
    late = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert repository.stuck(since=late) == [one.id for one in many_shipments if not one.status.is_final]
'''

FILES["tests/test_api.py"] = '''\
"""What the outside sees."""

from __future__ import annotations

import pytest


def test_a_shipment_is_shown(client, stored):
    answer = client.get(f"/shipments/{stored.id}")
    assert answer.status_code == 200
    assert answer.json()["recipient"]["city"] == "Daugavpils"


def test_unknown_shipments_are_404(client):
    assert client.get("/shipments/123456789").status_code == 404


def test_pages_link_to_the_next_one(client, many_shipments):
    body = client.get("/shipments?limit=25").json()
    assert body["next"] == f"/shipments?after={body['items'][-1]['id']}&limit=25"
    assert client.get(body["next"]).json()["items"][0]["id"] > body["items"][-1]["id"]


@pytest.mark.parametrize("status", ["delivered", "returned", "lost"])
def test_finished_shipments_take_no_events(client, finished, status):
    answer = client.post(
        f"/shipments/{finished[status].id}/events",
        json={"at": "2026-02-01T08:00:00Z", "status": "in_transit", "place": "Vilnius"},
    )
    assert answer.status_code == 409


def test_the_broker_finds_us_by_reference(client, stored, repository):
    answer = client.post(
        "/hooks/customs",
        json={"reference": stored.customs_ref, "state": "released", "office": "LV000210"},
    )
    assert answer.status_code == 204
    assert repository.get(stored.id).status == "in_transit"


def test_a_label_has_twelve_digits(client, stored):
    text = client.get(f"/shipments/{stored.id}/label").text
    number = text.split("^BCN,120,Y,N,N^FD")[1].split("^FS")[0]
    assert len(number) == 12
    assert number.isdigit()
'''

FILES["tests/test_export.py"] = '''\
"""The file for the broker, byte for byte."""

from __future__ import annotations

import datetime as dt

from perevoz import export


def test_columns_and_their_order(two_shipments):
    header, *_ = export.render(two_shipments).split("\\r\\n")
    assert header == "id;sender;recipient;weight_kg;declared_value;created_at"


def test_numbers_are_written_with_commas(two_shipments):
    _, first, *_ = export.render(two_shipments).split("\\r\\n")
    assert first == "128;ООО «Ромашка», Рига;Jānis Bērziņš, Daugavpils;2,350;1234,50;14.01.2026 09:30"


def test_the_file_is_cp1251_and_appears_at_once(two_shipments, tmp_path):
    place = export.write(two_shipments, tmp_path, day=dt.date(2026, 1, 14))
    assert place.name == "shipments-20260114.csv"
    assert place.read_bytes().decode("cp1251").count("\\r\\n") == 3
    assert list(tmp_path.iterdir()) == [place]
'''

FILES["docs/runbook.md"] = """\
# Дежурному: перевозка данных

## Перед миграцией

1. Проверить, что реплика не отстаёт больше чем на 5 секунд: `select now() - pg_last_xact_replay_timestamp()`.
2. Снять копию: `make copy-staging`. Занимает около сорока минут, предупредить Олега.
3. Прогнать миграцию на копии (`--target staging-copy`) и сохранить **последнюю строку вывода**: в ней версия схемы,
   число строк и контрольная сумма. Без этой строки релиз не начинаем.
4. Сверить контрольную сумму с тем, что печатает релизная задача. Не совпало, значит откат, без обсуждений.

## Во время миграции

- Блокировки дольше полутора секунд не ждём: `lock_timeout` стоит 1500 мс, задача повторяет пачку сама.
- Если очередь событий выросла больше чем на 20 000, остановить пачки (`touch /run/perevoz/pause`) и ждать.
- Интерфейс операторов в это время только читает. Об этом висит баннер.

## После миграции

- `ANALYZE shipments; ANALYZE events;`
- Посмотреть p95 на графике «API latency»: до 120 мс норма, выше 300 мс будить Олега.
- Выгрузка для брокера идёт в 03:15. Первую после миграции проверить глазами: колонки читаются по номеру.

## Чего не делать никогда

- Не запускать `scripts/migrate.py` на prod руками.
- Не менять `legacy/`: его читает старая машина, на ней Python 3.6.
- Не чинить номера посылок: они напечатаны на коробках.
"""

FILES["README.md"] = """\
# perevoz

Tracks parcels for a small forwarder: 1.3 million shipments, nine warehouses, one customs broker.

    make db          # PostgreSQL 17 on port 5433
    make test        # pytest, ruff
    make copy-staging

`docs/runbook.md` is for whoever is on duty. `legacy/` runs on another machine and is not ours to change.
"""
