"""Questions about anything, which an adapter must leave as they are; no user's words."""

_ASKED = (
    "When did {} happen?|Who told me about {}?|Where is {}?|What do I know about {}?|"
    "Why did {} matter so much?|How often does {} come up?|What changed with {} last year?"
)
_ABOUT = (
    "the trip to the sea|my sister's wedding|the broken washing machine|the new phone|a good film|"
    "the doctor's advice|learning the guitar|the children's school|our garden|the train to work|"
    "a job interview|the football match|my favourite recipe|the cat|the birthday party|"
    "moving house|the insurance claim|a painting class|climate change|the election|"
    "the marathon|my bank account|a book about history|the hotel in the mountains|"
    "the software update|the customer's complaint|a surprise visit|the old car|the piano|"
    "a political debate|the hospital|the password|the dog's food|a charity event|the camera"
)


def anchor_questions() -> list[str]:
    """Some seventy of them, always the same."""
    forms, things = _ASKED.split("|"), _ABOUT.split("|")
    return [
        forms[(number + turn * 3) % len(forms)].format(thing)
        for turn in range(2)
        for number, thing in enumerate(things)
    ]
