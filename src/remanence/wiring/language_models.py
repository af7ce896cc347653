"""The language model of the settings, if there is one."""

from __future__ import annotations

from remanence.config import Settings
from remanence.errors import ConfigError, InvalidInput
from remanence.ports.language_model import LanguageModel


def make_language_model(settings: Settings) -> LanguageModel | None:
    """The model that `llm_url` and `llm_model` name; None without an address. Nothing connects."""
    if not settings.llm_url:
        return None
    if not settings.llm_model:
        raise ConfigError("llm_url is set and llm_model is not; name the model to ask there.")
    from remanence.llm.openai_compatible import OpenAiCompatibleModel

    try:
        return OpenAiCompatibleModel(
            settings.llm_url,
            settings.llm_model,
            api_key=settings.llm_key or None,
            timeout_s=settings.llm_timeout_s,
        )
    except InvalidInput as error:
        raise ConfigError(str(error)) from error
