"""`rem keys` and `rem audit`: who may call a server, and what was done there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import terminal, values
from remanence.cli.common import AsJson, Database, Opening, Tenant, opening
from remanence.cli.outcome import FAILED, answer, form_of, guarded
from remanence.errors import InvalidInput, NotFound
from remanence.model.accept import moment_of
from remanence.operations.operation import Group
from remanence.operations.rendering import dumped

if TYPE_CHECKING:
    from remanence.server.access.audit import Anchor, Audit, Entry, Verified
    from remanence.server.access.key import Key
    from remanence.server.access.keys import Keys

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
LONGEST_D = 36_500

Name = Annotated[str, typer.Argument(metavar="NAME", help="what you will know it by")]
Prefix = Annotated[
    str, typer.Argument(metavar="PREFIX", help="the eight letters after `rem_`, or the key")
]
Scopes = Annotated[
    list[str],
    typer.Option("--scope", help="what it allows: read, write, erase or admin; repeat it"),
]
Trust = Annotated[
    float, typer.Option("--trust", min=0, max=1, help="how far what it writes is trusted")
]
Quarantine = Annotated[
    bool, typer.Option("--quarantine", help="what it writes waits until an admin has seen it")
]
Operator = Annotated[
    bool, typer.Option("--operator", help="it may also care for the whole store, with its scopes")
]
Expires = Annotated[
    str | None,
    typer.Option("--expires", metavar="WHEN", help="e.g. 90d, 12h or a date; else never"),
]
Renewed = Annotated[
    str | None,
    typer.Option("--expires", metavar="WHEN", help="e.g. 90d, 12h or a date; else as the old one"),
]
RateLimit = Annotated[
    int | None,
    typer.Option("--rate-limit", min=0, help="calls a minute; 0: no limit; else the server's"),
]
Grace = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="how long the old one works on")
]
Verify = Annotated[bool, typer.Option("--verify", help="check that nothing was changed later")]
AnchorTo = Annotated[
    Path | None, typer.Option("--anchor", help="write where the log ends now into a new file")
]
Against = Annotated[
    Path | None, typer.Option("--against", help="verify that the log still leads through an anchor")
]
Limit = Annotated[int, typer.Option("--limit", "-k", min=1, help="so many entries at most")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="pass over the latest ones")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was made, with its text."""

    key: Key
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """The keys there are."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Entries of a log, the latest first."""

    entries: tuple[Entry, ...]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    keys = typer.Typer(no_args_is_help=True, help="API keys: who may call a server, and for what.")
    for name, command in (
        ("create", _create),
        ("list", _list),
        ("rotate", _rotate),
        ("revoke", _revoke),
    ):
        keys.command(name)(command)
    app.add_typer(keys, name="keys", rich_help_panel=Group.CARE.value)
    app.command("audit", rich_help_panel=Group.CARE.value)(_audit)


def _create(
    context: typer.Context,
    name: Name,
    scope: Scopes,
    trust: Trust = 1.0,
    quarantine: Quarantine = False,
    operator: Operator = False,
    expires: Expires = None,
    rate_limit: RateLimit = None,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Make a key for the tenant and print it. It is shown this once."""
    form, asked = form_of(as_json), opening(context, database, tenant)
    with guarded(form):
        from remanence.clock import SystemClock

        ends = None if expires is None else ending(expires, SystemClock().now())
        with _books(asked, create=True) as (keys, _):
            key, text = keys.create(
                name,
                tenant=asked.settings().tenant,
                grants=scope,
                trust=trust,
                quarantine=quarantine,
                operator=operator,
                expires_at=ends,
                rate_limit=rate_limit,
            )
        answer(NewKey(key=key, text=text), form, None, _show_new)


def _list(
    context: typer.Context,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Show every key, or with --tenant a tenant's; never the keys themselves."""
    form, asked = form_of(as_json), opening(context, database, tenant)
    with guarded(form):
        with _books(asked) as (keys, _):
            found = KeyList(keys=tuple(keys.list(asked.tenant)))
        answer(found, form, "keys", _show_list)


def _rotate(
    context: typer.Context,
    prefix: Prefix,
    grace: Grace = 0,
    expires: Renewed = None,
    as_json: AsJson = False,
    database: Database = None,
) -> None:
    """Put a new key in the place of one; the old one stops at once, or after the grace.

    The new one stops working when the old one was to, unless --expires says otherwise.
    """
    form, asked = form_of(as_json), opening(context, database, None)
    with guarded(form):
        from remanence.clock import SystemClock

        ends = None if expires is None else ending(expires, SystemClock().now())
        with _books(asked) as (keys, _):
            renewed = None if ends is None else lambda old: replace(old, expires_at=ends)
            key, text = keys.rotate(prefix_in(prefix), grace_s=grace, within=renewed)
        answer(NewKey(key=key, text=text), form, None, _show_new)


def _revoke(
    context: typer.Context, prefix: Prefix, as_json: AsJson = False, database: Database = None
) -> None:
    """End a key: servers refuse it within 2 seconds, and it never works again."""
    form, asked = form_of(as_json), opening(context, database, None)
    with guarded(form):
        with _books(asked) as (keys, _):
            key = keys.revoke(prefix_in(prefix))
        told = f"The key {key.prefix} ({key.name}) is revoked."
        answer(key, form, None, lambda _: terminal.write_line(terminal.shown(told)))


def _audit(
    context: typer.Context,
    verify: Verify = False,
    anchor: AnchorTo = None,
    against: Against = None,
    limit: Limit = 50,
    offset: Offset = 0,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Show what was done in the tenant that must be accounted for, the latest first.

    Who was not let in stands in the log of the tenant `remanence:keys`.
    """
    form, asked = form_of(as_json), opening(context, database, tenant)
    whole = True
    with guarded(form), _books(asked) as (_, audit):
        whose = asked.settings().tenant
        if anchor is not None:
            made = _kept(audit.anchor(whose), anchor)
            answer(made, form, None, lambda _: terminal.write_line(f"Wrote {anchor}."))
        elif verify or against is not None:
            checked = audit.verify(whose, None if against is None else _anchor_in(against))
            whole = checked.intact
            answer(checked, form, None, _show_checked)
        else:
            found = AuditLog(entries=tuple(audit.list(whose, limit, offset)))
            answer(found, form, "entries", _show_log)
    if not whole:
        raise typer.Exit(FAILED)


def _kept(anchor: Anchor, path: Path) -> Anchor:
    """The anchor, written into a file that was not there before."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(dumped(anchor) + "\n")
    except FileExistsError:
        raise InvalidInput(f"{path} is there already; earlier anchors are worth keeping.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    return anchor


def _anchor_in(path: Path) -> Anchor:
    from remanence.server.access.audit import Anchor

    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        tenant, seq, hash = told["tenant"], told["seq"], told["hash"]
        if not isinstance(tenant, str) or not isinstance(hash, str) or not _counts(seq):
            raise TypeError("it names no entry of a log")
        return Anchor(tenant=tenant, seq=seq, hash=hash, at=moment_of("at", told["at"]))
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, InvalidInput, RecursionError) as error:
        raise InvalidInput(f"{path} is no anchor; `rem audit --anchor FILE` writes one.") from error


def _counts(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def prefix_in(given: str) -> str:
    """The prefix of a key that is given whole or in part; what else was given is never shown."""
    found = re.fullmatch(r"(?:rem_)?([a-z2-7]{8})(?:_[0-9a-f]*)?", given.strip(), re.ASCII)
    if found is None:
        raise NotFound("There is no key like that; `rem keys list` shows them.")
    return found[1]


def ending(told: str, now: datetime) -> datetime:
    """The moment that is meant by `90d` or by a date."""
    span = re.fullmatch(r"([0-9]{1,9})([smhdw])", told.strip())
    if span is None:
        return values.moment("expires", told)
    seconds = int(span[1]) * UNITS_S[span[2]]
    if seconds > LONGEST_D * UNITS_S["d"]:
        raise InvalidInput(f"expires must lie within {LONGEST_D:,} days; leave it out for never.")
    return now + timedelta(seconds=seconds)


@contextmanager
def _books(asked: Opening, *, create: bool = False) -> Iterator[tuple[Keys, Audit]]:
    """The keys and the log of a store; with `create` of one that may be new."""
    from remanence.clock import SystemClock
    from remanence.server.access.audit import Audit
    from remanence.server.access.keys import Keys
    from remanence.wiring import check_there, open_store

    settings, clock = asked.settings(), SystemClock()
    if not create:
        check_there(settings.database_url)
    with closing(open_store(settings)) as store:
        audit = Audit(store, clock)
        yield Keys(store, clock, ledger=audit), audit


def _show_new(made: NewKey) -> None:
    from remanence.cli.screens import note

    terminal.write_line(made.text)
    note(f"{_line(made.key)}\nKeep it now: it is not shown again.")


def _show_list(found: KeyList) -> None:
    from remanence.cli.screens import note

    for key in found.keys:
        terminal.write_line(terminal.shown(_line(key)))
    if not found.keys:
        note("There are no keys; `rem keys create NAME --scope read` makes one.")


def _show_checked(checked: Verified) -> None:
    told = f"{checked.entries:,} entries of {checked.tenant}"
    if checked.intact:
        terminal.write_line(terminal.shown(f"{told}: whole."))
    elif checked.first_bad:
        terminal.write_line(terminal.shown(f"{told}: broken from entry {checked.first_bad} on."))
    else:
        terminal.write_line(terminal.shown(f"The log of {checked.tenant} has lost its head."))


def _show_log(found: AuditLog) -> None:
    from remanence.cli.screens import note
    from remanence.operations.rendering import dumped

    for entry in found.entries:
        request = f" ({entry.request_id})" if entry.request_id else ""
        line = f"{entry.seq} {entry.at:%Y-%m-%d %H:%M:%S} {entry.who} {entry.deed} "
        terminal.write_line(terminal.shown(line + dumped(entry.about) + request))
    if not found.entries:
        note("The log is empty.")


def _line(key: Key) -> str:
    limits = [
        f"trust {key.trust:g}" if key.trust < 1 else "",
        "quarantine" if key.quarantine else "",
        "operator" if key.operator else "",
        "" if key.rate_limit is None else f"{key.rate_limit:,} calls a minute",
        f"replaced by {key.rotated_to}" if key.rotated_to else "",
        f"revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else "",
        f"until {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at and not key.revoked_at else "",
    ]
    told = ", ".join([" ".join(sorted(key.grants)), *filter(None, limits)])
    return f"{key.prefix} {key.name} (tenant {key.tenant}): {told}"
