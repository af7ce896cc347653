"""`rem audit`: what was done in a tenant, whether it is told whole, and how long it is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.api.rendering import dumped
from remanence.cli import terminal
from remanence.cli.common import Opening, Yes, command, confirm
from remanence.cli.keys import books, moment_by
from remanence.cli.terminal import note
from remanence.errors import InvalidInput, NotFound
from remanence.model.clock import SystemClock
from remanence.model.validation import moment_of

if TYPE_CHECKING:
    from remanence.server.access.audit import Cut
    from remanence.server.access.chain import Anchor, AuditCheck, AuditEntry

Verify = Annotated[bool, typer.Option("--verify", help="check that nothing was changed later")]
AnchorTo = Annotated[
    Path | None, typer.Option("--anchor", help="write where the log ends now into a new file")
]
Against = Annotated[
    Path | None, typer.Option("--against", help="verify that the log still leads through an anchor")
]
Limit = Annotated[int, typer.Option("--limit", "-k", min=1, help="so many entries at most")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="pass over the latest ones")]
Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="SPAN",
        help="erase the entries that are older, e.g. 90d, 12w or a date; asks first",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Entries of a log, the latest first."""

    entries: tuple[AuditEntry, ...]


@command()
def audit(
    asked: Opening,
    verify: Verify = False,
    anchor: AnchorTo = None,
    against: Against = None,
    limit: Limit = 50,
    offset: Offset = 0,
    keep: Keep = None,
    yes: Yes = False,
) -> bool:
    """Show what was done in the tenant that must be accounted for, the latest first.

    Who was not let in stands in the log of the tenant `remanence:keys`.
    """
    whole = True
    with books(asked) as (_, audit):
        from remanence.server.access.gate import LOCAL

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


def _show_checked(checked: AuditCheck) -> None:
    since = f", from entry {checked.since:,} on" if checked.since > 1 else ""
    told = f"{checked.entries:,} entries of {checked.tenant}{since}"
    if checked.intact:
        terminal.write_line(terminal.shown(f"{told}: whole."))
    elif checked.first_bad:
        terminal.write_line(terminal.shown(f"{told}: broken from entry {checked.first_bad} on."))
    else:
        told = f"The log of {checked.tenant} is broken: where it begins or ends is damaged."
        terminal.write_line(terminal.shown(told))


def _show_cut(cut: Cut) -> None:
    told = (
        f"Erased {cut.removed:,} entries; the log of {cut.tenant} begins with entry {cut.since:,}."
    )
    terminal.write_line(terminal.shown(told))


def _show_log(found: AuditLog) -> None:
    for entry in found.entries:
        request = f" ({entry.request_id})" if entry.request_id else ""
        line = f"{entry.seq} {entry.at:%Y-%m-%d %H:%M:%S} {entry.who} {entry.deed} "
        terminal.write_line(terminal.shown(line + dumped(entry.about) + request))
    if not found.entries:
        note("The log is empty.")
