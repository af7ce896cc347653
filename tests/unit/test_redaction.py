"""What is taken out of a text, what is left alone, and how long a hostile text takes."""

from __future__ import annotations

import time

import pytest

from remanence.errors import ConfigError
from remanence.text.redaction import redactor

PRIVATE = [
    ("Write to ana.silva@example.com today.", "Write to [email] today."),
    ("<ben@mail.example.co.uk>", "<[email]>"),
    ("mail: b_e+news@sub-domain.example.org, thanks", "mail: [email], thanks"),
    ("josé@exámple.pt", "[email]"),
    ("a@b.io and c@d.io", "[email] and [email]"),
    ("(x@xn--bcher-kva.example)", "([email])"),
    ("JOE.BLOGGS@EXAMPLE.COM!", "[email]!"),
    ("...ana@example.com", "...[email]"),
    ("+351 912 345 678", "[phone]"),
    ("Call +1 (415) 555-0132 now", "Call [phone] now"),
    ("+1-415-555-0132 2024-05-01", "[phone] 2024-05-01"),
    ("+14155550132", "[phone]"),
    ("+44 20 7946 0958.", "[phone]."),
    ("0049 30 1234567", "[phone]"),
    ("+49/30/1234567", "[phone]"),
    ("(415) 555-0132", "[phone]"),
    ("415-555-0132", "[phone]"),
    ("415.555.0132", "[phone]"),
    ("415 555 0132", "[phone]"),
    ("1-415-555-0132", "[phone]"),
    ("1 415 555 0132", "[phone]"),
    ("030 1234567", "[phone]"),
    ("020 7946 0958", "[phone]"),
    ("07700 900123", "[phone]"),
    ("01 42 68 53 00", "[phone]"),
    ("089/1234567", "[phone]"),
    ("(030) 1234567", "[phone]"),
    ("call me at 5551234567", "call me at [phone]"),
    ("my number is 912345678", "my number is [phone]"),
    ("my number is 912 345 678, ok?", "my number is [phone], ok?"),
    ("phone: 555-0132", "phone: [phone]"),
    ("her phones are 415-555-0132/415-555-0133", "her phones are [phone]/[phone]"),
    ("4111111111111111", "[card]"),
    ("card 4111 1111 1111 1111 exp 12/27", "card [card] exp 12/27"),
    ("4111-1111-1111-1111 123", "[card] 123"),
    ("12 4111 1111 1111 1111", "12 [card]"),
    ("5555 5555 5555 4444,", "[card],"),
    ("2223 0031 2200 3222", "[card]"),
    ("3782 822463 10005", "[card]"),
    ("378282246310005", "[card]"),
    ("6011111111111117", "[card]"),
    ("3530111333300000", "[card]"),
    ("30569309025904", "[card]"),
    ("DE89 3704 0044 0532 0130 00", "[iban]"),
    ("DE89370400440532013000.", "[iban]."),
    ("gb29 nwbk 6016 1331 9268 19", "[iban]"),
    ("IBAN FR14 2004 1010 0505 0001 3M02 606 BIC", "IBAN [iban] BIC"),
    ("NO93 8601 1117 947 AND MORE", "[iban] AND MORE"),
    ("PT50-0002-0123-1234-5678-9015-4", "[iban]"),
    ("from 192.168.1.10:8080", "from [ip]:8080"),
    ("10.0.0.0/8", "[ip]/8"),
    ("At 203.0.113.7.", "At [ip]."),
    ("2001:db8::8a2e:370:7334", "[ip]"),
    ("http://[2001:db8::1]:80/", "http://[[ip]]:80/"),
    ("fe80::1: down", "[ip]: down"),
    ("::1", "[ip]"),
    ("::ffff:192.0.2.128", "[ip]"),
    ("2001:0db8:0000:0000:0000:ff00:0042:8329", "[ip]"),
    ("123-45-6789", "[ssn]"),
    ("SSN: 123 45 6789", "SSN: [ssn]"),
    ("her SSN is 123456789", "her SSN is [ssn]"),
]

LEFT = [
    "2026-11-16",
    "on 16.11.2026 at 10:30",
    "16/11/2026 10:30:45",
    "01-02-2024 10 people came",
    "01/02/2024 09:00",
    "2026-11-16T10:30:00+00:00",
    "2024-02-01 01 02",
    "from 1990 to 2005",
    "1999-2003, 2005-2011",
    "Python 3.11.7",
    "version 1.2.3.4",
    "v1.2.3.4 and v10.0.19045.2965",
    "release 10.0.0.1",
    "1.2.3.4.5",
    "256.1.1.1",
    "12,000 euros",
    "1,234,567.89",
    "12 000 000 people",
    "pi is 3.14159265358979",
    "0.4111111111111111",
    "10:30",
    "10:30:45",
    "ratio 1:2:3:4",
    "00:1a:2b:3c:4d:5e",
    "D1:3 and D12:14",
    "std::vector<int> and a :: b",
    "x ::add y",
    "550e8400-e29b-41d4-a716-446655440000",
    "123e4567-e89b-12d3-a456-426614174000",
    "0190c3f1-4a4b-7cde-8f01-123456789012",
    "message 1089374629384756234",
    "msg_4111111111111111",
    "order number 5551234567",
    "timestamp 1700000000 or 1700000000123",
    "4111111111111112",
    "1234 5678 9012 3456",
    "ISBN 978-3-16-148410-0",
    "9783161484100",
    "4006381333931",
    "DE89 3704 0044 0532 0130 01",
    "XX12 3456 7890 1234 5678",
    "AB12 CDEF GHIJ KLMN OPQR",
    "000-12-3456",
    "666-12-3456",
    "123-00-4567",
    "12-345-6789",
    "account 123456789",
    "555-0132",
    "@ana and #42",
    "ana @ example.com",
    "ana@localhost",
    "a@b",
    "5 + 1234567 = 1234572",
    "room 101 202 303",
    "sizes 100 200 3000",
    "007",
    "in 1,000,000,000 years",
    "scores 21-15, 21-19, 18-21",
    "I call 1000000 people friends",
    "100-200-300",
    "+5 %, +10 points",
    "GPS 38.7223, -9.1393",
    "١٢٣-٤٥-٦٧٨٩",
    "",
    "A plain sentence about tea.",
]


@pytest.mark.parametrize(("text", "told"), PRIVATE)
def test_private_data_goes(text: str, told: str) -> None:
    assert redactor("all")(text) == told
    assert redactor("all")(told) == told, "once more changes nothing"


@pytest.mark.parametrize("text", LEFT)
def test_the_rest_stays(text: str) -> None:
    assert redactor("all")(text) == text


def test_there_are_enough_cases() -> None:
    assert len(PRIVATE) + len(LEFT) >= 80
    for kind in ("email", "phone", "card", "iban", "ip", "ssn"):
        assert sum(f"[{kind}]" in told for _, told in PRIVATE) >= 3


def test_only_the_kinds_that_are_wanted_go() -> None:
    text = "ana@example.com 10.0.0.1 4111111111111111"
    assert redactor("email")(text) == "[email] 10.0.0.1 4111111111111111"
    assert redactor("IP, card")(text) == "ana@example.com [ip] [card]"
    assert redactor("ip card email")(text) == "[email] [ip] [card]"
    assert redactor("")(text) == text


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="email, iban, card, ssn, ip, phone or all"):
        redactor("email, names")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("a", "1", "+", "-", "@", ".", ":", " ", "0", "4", "(", "A1", "a.", "a@", "a@b.", "1 "),
        *(
            "1-",
            "1.",
            "+1",
            "00",
            "0 ",
            "01 ",
            "4111 ",
            "ffff:",
            "::",
            "1:",
            "DE89 ",
            "aa11",
            "+1 ",
        ),
        *(
            "123-45-",
            "255.",
            "a-",
            "x@y-",
            "call ",
            "phone 5",
            "\U0001f9e0",
            "012/",
            "(415) ",
            "415 ",
        ),
        *("a" * 63 + ".", "AA11AA11 ", "version 1.2.3.", "ssn 12345678 ", "4111111111111111"),
    ],
)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    redact, text = redactor("all"), piece * (1_000_000 // len(piece))
    began = time.process_time()
    redact(text)
    assert time.process_time() - began < 5
