"""The verbs that look after a store: figures, vectors, checks, copies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from remanence.api import answers
from remanence.api.bounds import TEXT
from remanence.api.parameters import Overwrite
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, for_long, verb
from remanence.model.progress import Progress
from remanence.model.stats import Finding, Stats

Repair = Annotated[bool, Says("mend what can be mended")]
BackupTarget = Annotated[str | Path, Says("the file to write", bounds=TEXT, wire=Path)]


class Caring(Layer[F]):
    """The verbs that look after a store: figures, vectors, checks, copies."""

    group = Group.CARE

    @verb("GET /v1/stats", scope=Scoping.TENANT, holds=Holds.FIGURES)
    def stats(self) -> Stats:
        """Show counts, growth per day, and sizes on disk and in memory against the budget."""

    @verb(
        "POST /v1/admin/doctor",
        writes=True,
        scope=Scoping.STORE,
        answer=answers.Examination,
        lasts=for_long,
    )
    def doctor(self, *, repair: Repair = False) -> list[Finding]:
        """Check the store against itself, and the embedder."""

    @verb(
        "POST /v1/admin/reembed",
        writes=True,
        scope=Scoping.TENANT,
        answer=answers.Count,
        reports=True,
        governs=True,
    )
    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory vectors of the present embedder, while searches go on.

        Stop it at any time: the next call goes on where this one stopped. When all is done, the
        vectors of former embedders are removed.
        """

    @verb(
        "POST /v1/admin/reindex",
        writes=True,
        scope=Scoping.STORE,
        answer=answers.Count,
        reports=True,
    )
    def reindex(self, progress: Progress | None = None) -> int:
        """Make the vector index anew from the store, while searches go on.

        An index in this process is read again by the next search, and 0 comes back.
        """

    @verb(
        "POST /v1/admin/compact",
        writes=True,
        scope=Scoping.STORE,
        answer=answers.FreedSpace,
        lasts=for_long,
    )
    def compact(self) -> int:
        """Rewrite the store, so that no byte of what was erased stays in it.

        Writers wait meanwhile. Gives the bytes that came free.
        """

    @verb(
        local="it writes a file; `rem backup` makes one where the server runs",
        scope=Scoping.STORE,
        answer=answers.Copied,
        reports=True,
    )
    def backup(
        self,
        target: BackupTarget,
        progress: Progress | None = None,
        *,
        overwrite: Overwrite = False,
    ) -> Path:
        """Copy the whole store into one file while it is in use.

        A file that is there already is kept unless `overwrite`; the database itself always is.
        """
