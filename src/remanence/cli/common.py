"""What every command has: options, which memory it opens, how it checks, answers and ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remanence.api.values import plain
from remanence.api.verb import AnyVerb
from remanence.cli import terminal
from remanence.errors import InvalidInput, RemanenceError

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.config import Settings

PANEL = "Everywhere"

Database = Annotated[
    str | None,
    typer.Option(
        "--db", "--database", help="the database: a path, or postgresql://…", rich_help_panel=PANEL
    ),
]
Tenant = Annotated[str | None, typer.Option(help="who is logged in", rich_help_panel=PANEL)]
Config = Annotated[
    str | None, typer.Option(help="a settings file, TOML or YAML", rich_help_panel=PANEL)
]
AsJson = Annotated[
    bool, typer.Option("--json", help="answer with one JSON envelope", rich_help_panel=PANEL)
]
AsLines = Annotated[
    bool, typer.Option("--ndjson", help="answer with a JSON object a line", rich_help_panel=PANEL)
]
# The options of every command, with their defaults.
EVERYWHERE = {"as_json": (AsJson, False), "database": (Database, None), "tenant": (Tenant, None)}
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
Explain = Annotated[bool, typer.Option("--explain", "-e", help="show what it is made of")]


FAILED = 1
INTERRUPTED = 130


class OutputForm(StrEnum):
    """How an answer is written."""

    HUMAN = "human"
    JSON = "json"
    NDJSON = "ndjson"


def form_of(as_json: bool, as_lines: bool = False) -> OutputForm:
    """The form that the switches ask for."""
    if as_lines:
        return OutputForm.NDJSON
    return OutputForm.JSON if as_json else OutputForm.HUMAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Which memory to open, where what is None is left to the settings, and how to answer."""

    database: str | None = None
    tenant: str | None = None
    config: str | None = None
    form: OutputForm = OutputForm.HUMAN

    def answer(
        self, response: Any, show: Callable[[Any], None], listing: str | None = None
    ) -> None:
        """Write a response: one envelope, a JSON object a line, or for people to read."""
        match self.form:
            case OutputForm.JSON:
                terminal.write_line(_dumped({"ok": True, "data": plain(response)}))
            case OutputForm.NDJSON:
                for item in getattr(response, listing) if listing else [response]:
                    terminal.write_line(_dumped(plain(item)))
            case OutputForm.HUMAN:
                show(response)
        terminal.flush()

    def memory(self, *, create: bool = True, **settings: Any) -> Memory:
        """The memory, opened; with `create=False` only if its database is there."""
        from remanence.api.memory import Memory
        from remanence.config.assembly import check_there

        if not create:
            check_there(self.settings().database_url)
        return Memory(self.database, tenant=self.tenant, config=self.config, **settings)

    def settings(self) -> Settings:
        """The settings in force."""
        from remanence.config import load_settings

        return load_settings(self.given, file=self.config)

    @property
    def given(self) -> dict[str, Any]:
        """The settings that the command line says."""
        return {"database": self.database, "tenant": self.tenant}


def opening(
    context: typer.Context,
    database: str | None = None,
    tenant: str | None = None,
    form: OutputForm = OutputForm.HUMAN,
) -> Opening:
    """What was said before the command's name, overruled by what was said after it."""
    before = context.obj if isinstance(context.obj, Opening) else Opening()
    database, tenant = database or before.database, tenant or before.tenant
    return replace(before, database=database, tenant=tenant, form=form)


def command(*takes: str, **other: Any) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Make a command of a function that gets the `Opening` which was asked for, and its own values.

    `takes` names the options of every command that it has, all when none is named; one that means
    something else here is in `other`. What goes wrong ends it in one line; where it gives True, the
    exit code tells of a failure. One that has verbs does its own work only where none is named.
    """

    def made(run: Callable[..., object]) -> Callable[..., None]:
        @wraps(run)
        def call(context: typer.Context, **given: Any) -> None:
            extra = taken(given, *chosen)
            form = OutputForm.JSON if extra.get("as_json") else OutputForm.HUMAN
            asked = opening(context, extra.get("database"), extra.get("tenant"), form)
            if context.invoked_subcommand is not None:
                context.obj = asked
                return
            with guarded(form):
                failed = run(asked, **given)
            if failed:
                raise typer.Exit(FAILED)

        chosen = {name: EVERYWHERE[name] for name in takes or EVERYWHERE}
        chosen |= {name: (kind, None) for name, kind in other.items()}
        (_, *own) = signature(run, eval_str=True).parameters.values()
        own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
        shared = [keyword(name, *option) for name, option in chosen.items()]
        with_signature(call, [keyword("context", typer.Context), *own, *shared])
        return call

    return made


def confirm(question: str) -> None:
    """Ask on a terminal; where nobody can be asked, refuse."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody can be asked here: pass --yes to go ahead.")
    typer.confirm(question, abort=True, err=True)


def keyword(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A keyword-only parameter for a made-up signature."""
    kind = Parameter.KEYWORD_ONLY
    return Parameter(name, kind, default=default, annotation=annotation)


def with_signature(call: Callable[..., None], wanted: list[Parameter]) -> None:
    """Give a function that takes `**given` the signature a command is made from."""
    call.__signature__ = Signature(wanted)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in wanted}


def taken(given: dict[str, Any], *names: str) -> Mapping[str, Any]:
    """Take the named values out of `given`; those that are not there are None."""
    return {name: given.pop(name, None) for name in names}


@contextmanager
def guarded(form: OutputForm) -> Iterator[None]:
    """Turn what goes wrong into one line (or one envelope) and an exit code; never a traceback."""
    try:
        yield
    except BrokenPipeError:
        terminal.let_go_of_stdout()
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except RemanenceError as error:
        _fail(form, type(error).__name__, str(error))
    except OSError as error:
        _fail(form, type(error).__name__, _os_message(error))


def _fail(form: OutputForm, kind: str, message: str) -> None:
    if form is OutputForm.HUMAN:
        terminal.stderr().print(f"Error: {terminal.shown(message)}", style="red", soft_wrap=True)
    else:
        terminal.write_line(_dumped({"ok": False, "error": {"type": kind, "message": message}}))
        terminal.flush()
    raise typer.Exit(FAILED)


def _os_message(error: OSError) -> str:
    about = f"{error.filename}: " if error.filename else ""
    return f"{about}{error.strerror or error}. Check the path and its permissions."


def _dumped(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


Fields = dict[str, Any]
Line = Mapping[str, Any]


def cleaned(operation: AnyVerb, request: Any, memory: Memory) -> Any:
    """The request as it is stored; `InvalidInput` for what only the memory may say."""
    if not operation.writes:
        return request
    from remanence.server.access.writing import check_claims

    given = {each.name: getattr(request, each.name) for each in fields(request)}
    told = cleaning(operation.name, memory.settings)(given)
    check_claims(operation, told, memory)
    return replace(request, **told)


def cleaning(what: str, settings: Settings) -> Callable[[Fields], Fields]:
    """What takes private data out of a request or a line, if the settings want it."""
    if not settings.redact:
        return dict
    from remanence.language.redaction import redactor
    from remanence.server.access.writing import redacted

    redact = redactor(settings.redact)
    return lambda given: redacted(what, given, redact)


def admitting(settings: Settings) -> Callable[[Line], Line] | None:
    """The same for what is read out of an export."""
    if not settings.redact:
        return None
    from remanence.language.redaction import redactor
    from remanence.server.access.writing import Intake

    return Intake(None, redactor(settings.redact))
