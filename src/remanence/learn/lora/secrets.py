"""Secrets: what looks like one is never taught, for nobody can take it out of weights again."""

from __future__ import annotations

import re

_NAMED = re.compile(
    r"\b(?:pass(?:word|code|phrase|wd)s?|passw[oö]rt|kennwort|wachtwoord|mots? de passe|contraseña"
    r"|senha|pin ?(?:codes?|numbers?)|(?:api|secret|private|access|ssh|encryption|licen[cs]e"
    r"|signing|recovery)[ _-]?(?:keys?|tokens?|codes?)|(?:auth\w*|bearer|refresh|session) tokens?"
    r"|(?:account|card|passport|insurance|social security|routing) (?:numbers?|no\b)|iban"
    r"|cvv2?|cvc|ssn|otp|one-time code|(?:seed|recovery) phrases?|security (?:question|answer)s?"
    r"|(?:door|gate|alarm|entry|entrance|garage|safe|lock(?:er)?|bike|security|verification|unlock"
    r"|wi-?fi|phone)(?:'s)? (?:codes?|pins?|keys?|combinations?))\b"
)
# Words with other uses: a secret only where a value with a digit is told soon after.
_VALUED = re.compile(
    r"\b(?:codes?|pins?|tokens?|keys?|combinations?|logins?|secrets?|credentials)\b(?: #?\d{3}"
    r"|[^.!?\n]{0,40}?(?:\bis\b|\bare\b|[:=?]) ?(?:now )?[\"'“‘]?(?=\S{0,200}\d)[\w#*-]{3,})"
)
_MADE = re.compile(
    r"-----BEGIN|://[^\s/:@]{1,200}:[^\s@]{1,200}@|\beyJ[\w-]{10,}|\b(?:sk|pk|ghp|gho|xox[a-z]|glpat)[-_][\w-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}"
    r"|\b(?=\w{32})(?=\w*\d)[0-9a-fA-F]{32,}\b|(?<![\w/])(?=\w{20})(?=\w*\d)(?=\w*[a-z])\w*[A-Z]"
)
_DATES = re.compile(
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?|\b\d{1,2}([./-])\d{1,2}\1\d{2,4}\b"
    r"|\b(?:1[89]|20)\d{2} ?[-–/] ?(?:1[89]|20)?\d{2}\b"
)
_DIGITS = re.compile(r"\d(?:[ .()/-]{0,2}\d){7,}|\d{7,}")


def holds_secret(text: str) -> bool:
    """Whether it names a password, code, key or account, or shows what looks like one.

    Long numbers count, telephone numbers among them; dates do not. It rather says so once too
    often.
    """
    small = text.lower()
    if _NAMED.search(small) or _VALUED.search(small) or _MADE.search(text):
        return True
    return _DIGITS.search(_DATES.sub(" ", text)) is not None
