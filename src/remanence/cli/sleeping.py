"""`rem sleep` without a verb: a whole night, or what it would do; and `rem forget --preview`."""

from __future__ import annotations

from typing import Annotated

import typer

from remanence.cli import values
from remanence.cli.common import AsJson, Database, Tenant, opening
from remanence.cli.outcome import FAILED, answer, form_of, guarded

Steps = Annotated[
    list[str] | None,
    typer.Option(
        "--step",
        help="only these: talks, merge, distil, reflect, forget, erase, compress, learn, upkeep, "
        "or consolidate for the second to the fourth",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "-n", help="only say what would be done, and why")
]
User = Annotated[str | None, typer.Option("--user-id", "-u", help="only this user's memories")]
Model = Annotated[
    bool, typer.Option("--model", help="let the language model help; what it says is checked")
]
Now = Annotated[str | None, typer.Option("--now", metavar="DATE", help="what age counts from")]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="show what sleep would forget by itself, when and why"),
]


def night(
    context: typer.Context,
    steps: Steps = None,
    dry_run: DryRun = False,
    user_id: User = None,
    model: Model = False,
    now: Now = None,
    as_json: AsJson = False,
    database: Database = None,
    tenant: Tenant = None,
) -> None:
    """Sleep: consolidate, forget, compress, learn, tidy up. `rem sleep undo` takes a run back."""
    asked = opening(context, database, tenant)
    if context.invoked_subcommand is not None:
        context.obj = asked
        return
    form = form_of(as_json)
    with guarded(form):
        from remanence.cli.progress import progress
        from remanence.cli.sleep_screens import show
        from remanence.operations.sleep import Asleep
        from remanence.operations.table import operation

        moment = None if now is None else values.moment("now", now)
        request = Asleep(steps=tuple(steps or ()), user_id=user_id, model=model, now=moment)
        chosen = operation("sleep.plan" if dry_run else "sleep.run")
        with asked.memory(create=False) as memory, progress(chosen.spelled) as report:
            response = chosen.perform(memory, request, report)
        answer(response, form, chosen.listing, show)
    if not getattr(response, "healthy", True):
        raise typer.Exit(FAILED)
