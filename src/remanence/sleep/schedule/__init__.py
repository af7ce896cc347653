"""When sleep comes: cron plans, what is due, leases that keep two workers apart, the worker."""

from remanence.sleep.schedule.background import Background
from remanence.sleep.schedule.plans import DEFAULTS, Schedule
from remanence.sleep.schedule.running import SleepRunner
from remanence.sleep.schedule.schedules import Schedules
from remanence.sleep.schedule.state import ScheduleState
from remanence.sleep.schedule.worker import Outcome, Runner, Worker

__all__ = [
    "DEFAULTS",
    "Background",
    "Outcome",
    "Runner",
    "Schedule",
    "ScheduleState",
    "Schedules",
    "SleepRunner",
    "Worker",
]
