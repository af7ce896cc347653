"""Forgetting: how memories fade, what leaves recall, what is foreseen, what is erased later."""

from remanence.sleep.forgetting.erasing import Erasing
from remanence.sleep.forgetting.forecast import Fading, Forecast, forecast
from remanence.sleep.forgetting.forgetting import Forgetting
from remanence.sleep.forgetting.strength import forgotten_on, strength

__all__ = ["Erasing", "Fading", "Forecast", "Forgetting", "forecast", "forgotten_on", "strength"]
