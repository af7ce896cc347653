"""Who may call a server, and what was done there: `rem keys` and `rem audit`."""

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

from remanence.api.values import dumped, read
from remanence.cli import terminal, values
from remanence.cli.common import Opening, Yes, command, confirm
from remanence.cli.terminal import note, tell
from remanence.errors import InvalidInput, NotFound
from remanence.model.clock import SystemClock

if TYPE_CHECKING:
    from remanence.server.access.audit import Audit, AuditLog, Cut
    from remanence.server.access.chain import Anchor, AuditCheck
    from remanence.server.access.keys import Key, KeyList, Keys

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
LONGEST_D = 36_500

Prefix = Annotated[
    str, typer.Argument(metavar="PREFIX", help="the eight letters after `rem_`, or the key")
]
Scopes = Annotated[
    list[str], typer.Option(help="what it allows: read, write, erase or admin; repeat it")
]
Trust = Annotated[float, typer.Option(min=0, max=1, help="how far what it writes is trusted")]
Quarantine = Annotated[
    bool, typer.Option("--quarantine", help="what it writes waits until an admin has seen it")
]
Operator = Annotated[
    bool, typer.Option("--operator", help="it may also care for the whole store, with its scopes")
]
Expires = Annotated[
    str | None, typer.Option(metavar="WHEN", help="e.g. 90d, 12h or a date; else never")
]
Renewed = Annotated[
    str | None, typer.Option(metavar="WHEN", help="e.g. 90d, 12h or a date; else as the old one")
]
RateLimit = Annotated[
    int | None, typer.Option(min=0, help="calls a minute; 0: no limit; else the server's")
]
Grace = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="how long the old one works on")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was made, with its text."""

    key: Key
    text: str


group = typer.Typer(no_args_is_help=True, help="API keys: who may call a server, and for what.")


@group.command("create")
@command()
def _create(
    asked: Opening,
    name: Annotated[str, typer.Argument(metavar="NAME", help="what you will know it by")],
    scope: Scopes,
    trust: Trust = 1.0,
    quarantine: Quarantine = False,
    operator: Operator = False,
    expires: Expires = None,
    rate_limit: RateLimit = None,
) -> None:
    """Make a key for the tenant and print it. It is shown this once."""
    ends = None if expires is None else moment_by("expires", expires, SystemClock().now())
    with books(asked, create=True) as (keys, _):
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
    asked.answer(NewKey(key=key, text=text), _show_new)


@group.command("list")
@command()
def _list(asked: Opening) -> None:
    """Show every key, or with --tenant a tenant's; never the keys themselves."""
    from remanence.server.access.keys import KeyList

    with books(asked) as (keys, _):
        found = KeyList(keys=tuple(keys.list(asked.tenant)))
    asked.answer(found, _show_list, "keys")


@group.command("rotate")
@command("as_json", "database")
def _rotate(asked: Opening, prefix: Prefix, grace: Grace = 0, expires: Renewed = None) -> None:
    """Put a new key in the place of one; the old one stops at once, or after the grace.

    The new one stops working when the old one was to, unless --expires says otherwise.
    """
    ends = None if expires is None else moment_by("expires", expires, SystemClock().now())
    with books(asked) as (keys, _):
        renewed = None if ends is None else lambda old: replace(old, expires_at=ends)
        key, text = keys.rotate(prefix_in(prefix), grace_s=grace, within=renewed)
    asked.answer(NewKey(key=key, text=text), _show_new)


@group.command("revoke")
@command("as_json", "database")
def _revoke(asked: Opening, prefix: Prefix) -> None:
    """End a key: servers refuse it within 2 seconds, and it never works again."""
    with books(asked) as (keys, _):
        key = keys.revoke(prefix_in(prefix))
    asked.answer(key, lambda _: tell(f"The key {key.prefix} ({key.name}) is revoked."))


def prefix_in(given: str) -> str:
    """The prefix of a key that is given whole or in part; what else was given is never shown."""
    found = re.fullmatch(r"(?:rem_)?([a-z2-7]{8})(?:_[0-9a-f]*)?", given.strip(), re.ASCII)
    if found is None:
        raise NotFound("There is no key like that; `rem keys list` shows them.")
    return found[1]


def moment_by(name: str, told: str, now: datetime, *, back: bool = False) -> datetime:
    """The moment that is meant by `90d`, counted from now on or `back`, or by a date."""
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", told.strip())
    if found is None:
        return values.moment(name, told)
    seconds = int(found[1]) * UNITS_S[found[2]]
    if seconds > LONGEST_D * UNITS_S["d"]:
        raise InvalidInput(f"{name} must lie within {LONGEST_D:,} days.")
    return now + timedelta(seconds=-seconds if back else seconds)


@contextmanager
def books(asked: Opening, *, create: bool = False) -> Iterator[tuple[Keys, Audit]]:
    """The keys and the log of a store; with `create` of one that may be new."""
    from remanence.config.assembly import check_there, open_store
    from remanence.server.access.audit import Audit
    from remanence.server.access.keys import Keys

    settings, clock = asked.settings(), SystemClock()
    if not create:
        check_there(settings.database_url)
    with closing(open_store(settings)) as store:
        audit = Audit(store, clock)
        yield Keys(store.documents, clock, ledger=audit), audit


def _show_new(made: NewKey) -> None:
    terminal.write_line(made.text)
    note(f"{_line(made.key)}\nKeep it now: it is not shown again.")


def _show_list(found: KeyList) -> None:
    for key in found.keys:
        tell(_line(key))
    if not found.keys:
        note("There are no keys; `rem keys create NAME --scope read` makes one.")


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


Verify = Annotated[bool, typer.Option("--verify", help="check that nothing was changed later")]
AnchorTo = Annotated[Path | None, typer.Option(help="write where the log ends now into a new file")]
Against = Annotated[
    Path | None, typer.Option(help="verify that the log still leads through an anchor")
]
Limit = Annotated[int, typer.Option("--limit", "-k", min=1, help="so many entries at most")]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="SPAN", help="erase the entries that are older, e.g. 90d, 12w or a date; asks first"
    ),
]


@command()
def audit(
    asked: Opening,
    verify: Verify = False,
    anchor: AnchorTo = None,
    against: Against = None,
    limit: Limit = 50,
    offset: Annotated[int, typer.Option(min=0, help="pass over the latest ones")] = 0,
    keep: Keep = None,
    yes: Yes = False,
) -> bool:
    """Show what was done in the tenant that must be accounted for, the latest first.

    Who was not let in stands in the log of the tenant `remanence:keys`.
    """
    whole = True
    from remanence.server.access.audit import AuditLog
    from remanence.server.access.gate import LOCAL

    with books(asked) as (_, audit):
        whose = asked.settings().tenant
        if keep is not None:
            oldest = moment_by("keep", keep, SystemClock().now(), back=True)
            if not yes:
                confirm(f"Erase what the log of {whose} tells of before {oldest:%Y-%m-%d %H:%M}?")
            asked.answer(audit.cut(whose, oldest, LOCAL), _show_cut)
        elif anchor is not None:
            made = _kept(audit.anchor(whose), anchor)
            asked.answer(made, lambda _: terminal.write_line(f"Wrote {anchor}."))
        elif verify or against is not None:
            checked = audit.verify(whose, None if against is None else _anchor_in(against))
            whole = checked.intact
            asked.answer(checked, _show_checked)
        else:
            found = AuditLog(entries=tuple(audit.list(whose, limit, offset)))
            asked.answer(found, _show_log, "entries")
    return not whole


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
    from remanence.server.access.chain import Anchor

    try:
        anchor = read(Anchor, json.loads(path.read_text(encoding="utf-8")))
        if anchor.seq < 0:
            raise ValueError("it names no entry of a log")
        return anchor
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no anchor; `rem audit --anchor FILE` writes one.") from error


def _show_checked(checked: AuditCheck) -> None:
    since = f", from entry {checked.since:,} on" if checked.since > 1 else ""
    told = f"{checked.entries:,} entries of {checked.tenant}{since}"
    if checked.intact:
        tell(f"{told}: whole.")
    elif checked.first_bad:
        tell(f"{told}: broken from entry {checked.first_bad} on.")
    else:
        tell(f"The log of {checked.tenant} is broken: where it begins or ends is damaged.")


def _show_cut(cut: Cut) -> None:
    begins = f"the log of {cut.tenant} begins with entry {cut.since:,}"
    tell(f"Erased {cut.removed:,} entries; {begins}.")


def _show_log(found: AuditLog) -> None:
    for entry in found.entries:
        request = f" ({entry.request_id})" if entry.request_id else ""
        line = f"{entry.seq} {entry.at:%Y-%m-%d %H:%M:%S} {entry.who} {entry.deed} "
        tell(line + dumped(entry.about) + request)
    if not found.entries:
        note("The log is empty.")
