"""The verbs of schedules: when a memory sleeps by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import NAME, Steps
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, verb
from remanence.consolidation.schedules.schedules import ScheduleState

Name = Annotated[str, Says("hourly, daily, weekly, or one of your own", bounds=NAME)]
Cron = Annotated[str | None, Says("minute hour day month weekday, such as `30 3 * * *`")]
Enabled = Annotated[bool | None, Says("whether it runs at all")]
SetZone = Annotated[str | None, Says("the time zone of cron, such as Europe/Lisbon")]
AfterNew = Annotated[int | None, Says("also after so many new memories; 0: not")]
AfterMessages = Annotated[int | None, Says("also after so many new messages; 0: not")]
IdleS = Annotated[float | None, Says("wait until nobody has used the memory for so many seconds")]
JitterS = Annotated[float | None, Says("spread many stores over so many seconds")]

ScheduleList = listed("ScheduleList", "Schedules and how they stand.", schedules=ScheduleState)


class Schedules(Layer[F]):
    """When a tenant's memory sleeps: `hourly`, `daily`, `weekly`, and what else was set."""

    layer = "schedules"
    group = Group.SLEEP

    @verb("GET /v1/schedules", scope=Scoping.TENANT, answer=ScheduleList)
    def list(self) -> Sequence[ScheduleState]:
        """List schedules, the defaults first, with their next and last runs."""

    @verb("GET /v1/schedules/get", scope=Scoping.TENANT)
    def get(self, name: Name) -> ScheduleState:
        """Show a schedule."""

    @verb("PUT /v1/schedules", writes=True, scope=Scoping.TENANT, governs=True, holds=Holds.WRITTEN)
    def set(
        self,
        name: Name,
        *,
        cron: Cron = None,
        steps: Steps = None,
        enabled: Enabled = None,
        zone: SetZone = None,
        after_new: AfterNew = None,
        after_messages: AfterMessages = None,
        idle_s: IdleS = None,
        jitter_s: JitterS = None,
    ) -> ScheduleState:
        """Change a schedule, or make a new one.

        Change a schedule, or make one (then with `cron` and `steps`); the rest stays as it is.

        An `after_new` or `after_messages` of 0 takes that away. What was due under the former cron
        is not made up for; a run under way goes on.
        """

    @verb(
        "DELETE /v1/schedules",
        writes=True,
        scope=Scoping.TENANT,
        answer=answers.Acknowledgement,
        governs=True,
    )
    def remove(self, name: Name) -> None:
        """Take a schedule away; a default one comes back with `reset`."""

    @verb(
        "POST /v1/schedules/reset",
        writes=True,
        scope=Scoping.TENANT,
        answer=ScheduleList,
        governs=True,
    )
    def reset(self) -> Sequence[ScheduleState]:
        """Go back to the default schedules, beginning now; others are removed."""
