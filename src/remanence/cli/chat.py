"""`rem chat`: talk with a model that remembers, in a terminal or through a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import terminal
from remanence.cli.common import Opening, OutputForm, command
from remanence.cli.terminal import note
from remanence.errors import ConfigError, RemanenceError

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.tools.agent import Agent
    from remanence.tools.agent.thread import Answer, Event

Text = Annotated[
    str | None, typer.Argument(help="say this, print the answer and end; - reads stdin")
]
User = Annotated[str | None, typer.Option("--user-id", "--user", "-u", help="who talks")]
AgentId = Annotated[
    str | None, typer.Option("--agent-id", "--agent", "-a", help="which agent answers")
]
Session = Annotated[
    str | None,
    typer.Option("--session-id", "--session", "-s", help="the conversation to go on with"),
]
Model = Annotated[str | None, typer.Option(help="the model to ask, as in llm_model")]
Url = Annotated[str | None, typer.Option(help="its OpenAI-compatible address, as in llm_url")]
ShowContext = Annotated[
    bool, typer.Option("--show-context", help="show what the context is made of")
]
MinTrust = Annotated[
    float | None, typer.Option(min=0, max=1, help="show the model nothing trusted less than this")
]
Offline = Annotated[bool, typer.Option("--offline", help="ask no model; show what it would get")]
NoTools = Annotated[
    bool,
    typer.Option(
        "--no-tools", help="the model gets no tools: it can neither edit nor search its memory"
    ),
]

HELP = """\
/blocks          core memory as it stands
/undo LABEL      take back the last change of a block
/search WORDS    search long-term memory
/context         what the last context was made of
/quit            leave (as does Ctrl-D); Ctrl-C ends an answer"""
COMMANDS = ("/blocks", "/undo", "/search", "/context", "/help")
NAME_ONE = (
    "No language model is set: set llm_url and llm_model, or pass --url and --model. "
    "--offline shows what one would get."
)
UNASKED = "No language model was asked. What it would get:"
NOBODY = (
    "No user was named (-u): what is remembered belongs to nobody, and its blocks are seen by "
    "every user."
)

_COMMAND = re.compile(r"/[A-Za-z]+")


@command()
def chat(
    asked: Opening,
    text: Text = None,
    user_id: User = None,
    agent_id: AgentId = None,
    session_id: Session = None,
    model: Model = None,
    url: Url = None,
    once: Annotated[str | None, typer.Option(help="the same as TEXT")] = None,
    max_tokens: Annotated[int, typer.Option(help="budget of the context")] = 4_000,
    min_trust: MinTrust = None,
    show_context: ShowContext = False,
    offline: Offline = False,
    no_tools: NoTools = False,
) -> bool:
    """Talk with a language model that remembers; with --offline, see what it would be sent."""
    if text is not None and once is not None:
        raise typer.BadParameter("TEXT and --once are the same; give one of them.")
    said = once if text is None else text
    if asked.form is OutputForm.JSON and said is None:
        raise typer.BadParameter("--json goes with one TEXT.")
    with asked.memory(llm_url="" if offline else url, llm_model=model) as memory:
        from remanence.tools.agent import Agent

        alone = said is not None or not sys.stdin.isatty()
        if not offline:
            _check_model(memory, model, alone=alone)
        if user_id is None:
            note(NOBODY)
        agent = Agent(
            memory,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            max_tokens=max_tokens,
            tools=not no_tools,
            min_trust=min_trust,
        )
        chat = _Chat(memory, agent, user_id, agent_id, show_context, min_trust)
        if asked.form is OutputForm.JSON:
            asked.answer(agent.ask(_said(str(said))), lambda _: None)
            return False
        if said is None:
            return chat.converse()
        chat.tell(agent.stream(_said(said)))
    return False


def _said(text: str) -> str:
    from remanence.cli.values import piped_text

    return piped_text("TEXT") if text == "-" else text


def _check_model(memory: Memory, model: str | None, *, alone: bool) -> None:
    """A program must not take a prompt for an answer; somebody at a terminal sees what it is."""
    if memory.parts.model is not None:
        return
    if model:
        raise ConfigError(
            f"--model {model[:60]!r} has no address to be asked at: pass --url or set llm_url."
        )
    if alone:
        raise ConfigError(NAME_ONE)


@dataclass(slots=True)
class _Chat:
    """One conversation at the terminal."""

    memory: Memory
    agent: Agent
    user_id: str | None
    agent_id: str | None
    show_context: bool
    min_trust: float | None
    last: Answer | None = None

    def converse(self) -> bool:
        """Line by line until the input ends; whether anything failed that nobody could see."""
        seen = sys.stdin.isatty()
        failed = False
        if seen:
            model = self.memory.parts.model
            offline = "Offline (llm_url and llm_model name a model)"
            asked = f"Model {model.name}" if model else offline
            whose = f"user {self.user_id}" if self.user_id else "no user"
            note(f"{asked}, {whose}, session {self.agent.session_id}. /help lists the commands.")
        for line in _lines(seen):
            if line == "/quit":
                break
            try:
                self._heed(line)
            except RemanenceError as error:
                failed = True
                message = f"Error: {terminal.shown(str(error))}"
                terminal.stderr().print(message, style="red", soft_wrap=True)
        whose = f"-u {quote(self.user_id)} " if self.user_id else ""
        note(f"Go on with: rem chat {whose}--session {quote(self.agent.session_id)}")
        return failed and not seen

    def _heed(self, line: str) -> None:
        try:
            if _is_command(line):
                self._command(line)
            else:
                self.tell(self.agent.stream(line))
        except KeyboardInterrupt:
            _emit("\n")
            note("Ended; the answer is not remembered.")

    def tell(self, events: Iterator[Event]) -> None:
        """Show an answer as it comes."""
        out = _Line()
        try:
            self._tell_all(events, out)
        except RemanenceError:
            out.end()
            raise
        if self.last is not None:
            self._told(self.last)

    def _tell_all(self, events: Iterator[Event], out: _Line) -> None:
        from remanence.tools.agent.thread import Done, TextPiece, ToolAnswered, Warned

        for event in events:
            match event:
                case TextPiece(text):
                    out.write(text)
                    continue
                case ToolAnswered(use):
                    told = f"[{use.call.name}: {'done' if use.done else use.result}]"
                case Warned(message):
                    told = f"[{message}]"
                case Done(answered):
                    self.last = answered
                    told = ""
                case _:
                    continue
            out.end()
            if told:
                note(told)

    def _told(self, answered: Answer) -> None:
        if answered.offline:
            note(UNASKED)
            for message in answered.messages:
                _emit(terminal.shown(f"[{message['role']}]\n{message['content']}\n\n"))
        if self.show_context:
            note(answered.context.table())

    def _command(self, line: str) -> None:
        name, *rest = line.split(None, 1)
        match name, "".join(rest):
            case "/blocks", "":
                blocks = self.memory.blocks.list(user_id=self.user_id, agent_id=self.agent_id)
                for block in blocks:
                    size = f"{block.characters:,}/{block.limit:,}"
                    _emit(terminal.shown(f"{block.label} ({size})\n{block.value or '(empty)'}\n\n"))
            case "/undo", label if label:
                block = self.memory.blocks.undo(
                    label,
                    user_id=self.user_id,
                    agent_id=self.agent_id,
                    author="user",
                    reason="rem chat",
                )
                _emit(terminal.shown(f"{block.label}\n{block.value}\n"))
            case "/search", query if query:
                self._search(query)
            case "/context", "":
                note(self.last.context.table() if self.last else "Nothing was asked yet.")
            case _:
                note(HELP)

    def _search(self, query: str) -> None:
        from remanence.cli.screens import show_hit

        hits = self.memory.search(
            query, user_id=self.user_id, agent_id=self.agent_id, min_trust=self.min_trust
        )
        for rank, hit in enumerate(hits, 1):
            show_hit(rank, hit)
        if not hits:
            note("Nothing found.")


class _Line:
    """What is written as it comes, and whether its last line is still open."""

    def __init__(self) -> None:
        self._open = False

    def write(self, text: str) -> None:
        _emit(terminal.shown(text))
        self._open = not text.endswith("\n")

    def end(self) -> None:
        if self._open:
            _emit("\n")
        self._open = False


def _is_command(line: str) -> bool:
    """Whether it is one, known or mistyped; "/etc/hosts is broken" is something to say."""
    return line.split()[0] in COMMANDS or _COMMAND.fullmatch(line) is not None


def _lines(seen: bool) -> Iterator[str]:
    """What is typed or piped in, line by line; blank lines are passed over."""
    if seen:
        with suppress(ImportError):  # Windows edits lines by itself
            import readline  # noqa: F401 - makes `input` edit and recall lines
    prompt = "> " if sys.stdout.isatty() else ""
    while True:
        try:
            line = input(prompt) if seen else _piped_line()
        except EOFError:
            return
        except KeyboardInterrupt:
            _emit("\n")
            note("/quit or Ctrl-D leaves.")
            continue
        if line.strip():
            yield line.strip()


def _piped_line() -> str:
    """The next line; bytes that are no UTF-8 stay recognisable, so that only this line fails."""
    data = sys.stdin.buffer.readline()
    if not data:
        raise EOFError
    return data.decode("utf-8", "surrogateescape")


def _emit(text: str) -> None:
    """Text to stdout at once."""
    terminal.write(text)
    terminal.flush()
