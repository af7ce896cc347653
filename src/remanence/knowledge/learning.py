"""Learning as a caller asks for it: read a text and keep nothing, read memories anew."""

from __future__ import annotations

from datetime import datetime

from remanence.clock import Clock
from remanence.errors import InvalidInput
from remanence.knowledge.extract.statement import Named, Reading
from remanence.knowledge.learner import SELF, Learner
from remanence.model import accept
from remanence.model.knowledge import EntityType
from remanence.model.scope import Reach
from remanence.ports.language_model import LanguageModel
from remanence.ports.store import Progress, Store
from remanence.remember.writer import Writer

PAGE = 200
MODEL = "model"


class Learning:
    """Reads memories again, by the rules or by a language model."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        tenant: str,
        *,
        writer: Writer,
        learner: Learner,
        model: LanguageModel | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._learner = learner
        self._clock = clock
        self._tenant = tenant
        self._model = model

    def extract(
        self,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | None = None,
        model: bool = False,
    ) -> Reading:
        """What a text says, and what of it would be refused and why; nothing is kept."""
        name = accept.label_of("speaker", speaker) or SELF
        moment = self._clock.now() if at is None else accept.moment_of("at", at)
        learner = self._reader(model)
        whole = accept.text_of("text", text)
        return learner.read(whole, speaker=Named(name, EntityType.PERSON), at=moment)

    def learn(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        model: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Read memories anew, such as those stored before facts were; how many claims they make.

        What was found in them before is replaced; what callers stated stays. Stop it at any time:
        what was read is read. With `model`, by the language model of the settings.
        """
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            all_users=all_users,
        )
        learner = self._reader(model)
        ids = [id for id, _ in self._store.versions(reach)]  # whatever others archive meanwhile
        claims = 0
        for start in range(0, len(ids), PAGE):
            page = self._store.get(self._tenant, ids[start : start + PAGE])
            claims += self._writer.learn_again(page, learner.learn) if page else 0
            if progress:
                progress(min(start + PAGE, len(ids)), len(ids))
        return claims

    def refused(self) -> dict[str, int]:
        """How often something did not become a fact since the memory was opened, by reason."""
        return self._learner.refused()

    def _reader(self, model: bool) -> Learner:
        if not accept.truth_of("model", model):
            return self._learner
        if self._model is None:
            raise InvalidInput("No language model is configured; set llm_url and llm_model.")
        from remanence.knowledge.extract.by_model import ModelReader

        return self._learner.reading_by(ModelReader(self._model), MODEL)
