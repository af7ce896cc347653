"""Words that say what somebody does for a living, and words that only look so."""

from __future__ import annotations

import re

_TRADES = """
accountant actor actress actuary adviser advisor agent analyst animator apprentice archaeologist
architect archivist artist assistant astronaut astronomer athlete attorney auditor author baker
banker barber barista bartender beautician biologist bookkeeper botanist boxer brewer broker
builder butcher ceo cfo cto coo caregiver carpenter cartoonist cashier chef chemist chiropractor
choreographer clerk coach coder columnist comedian composer concierge conductor consultant
contractor cook cop counsellor counselor courier curator dancer deputy dentist designer detective
developer dietitian director dj doctor dressmaker driver ecologist economist editor educator
electrician engineer entrepreneur epidemiologist estate-agent farmer firefighter fisherman florist
freelancer gardener geologist goldsmith grocer guard guide hairdresser handyman headmaster
historian housekeeper illustrator inspector instructor interpreter intern investor janitor jeweller
journalist judge lawyer lecturer librarian lifeguard linguist locksmith logistician machinist
maid mailman manager marine masseuse mathematician mechanic medic meteorologist midwife miner
minister model mortician musician nanny neurologist nurse nutritionist officer optician optometrist
orthodontist painter paralegal paramedic pastor pathologist pediatrician pharmacist philosopher
photographer physician physicist physiotherapist pianist pilot playwright plumber poet
policeman police-officer politician porter postman potter presenter priest principal producer
professor programmer projectionist psychiatrist psychologist publicist radiographer radiologist
realtor receptionist recruiter referee reporter researcher roofer sailor salesman salesperson
saleswoman scientist sculptor seamstress secretary senator server shopkeeper singer sociologist
soldier solicitor sommelier statistician steward stewardess stylist superintendent surgeon
surveyor tailor teacher technician teller therapist tour-guide trader trainer translator trucker
tutor undertaker upholsterer usher vet veterinarian videographer violinist waiter waitress warden
watchmaker welder worker woodworker writer zoologist partner lead head supervisor owner founder
co-founder cofounder freelancer strategist marketer coordinator specialist representative
administrator programmer tester planner streamer blogger youtuber influencer housewife homemaker
cellist drummer guitarist dermatologist cardiologist oncologist gynaecologist gynecologist
ceramicist podcaster copywriter scriptwriter screenwriter novelist landscaper fundraiser
bookseller cheesemaker winemaker beekeeper stonemason bricklayer glazier blacksmith
"""
_NOT_TRADES = """
member beginner believer fighter lover winner loser stranger learner dreamer reader thinker lot
bit fan player survivor supporter listener giver runner hiker swimmer gamer walker owl riser
sleeper eater drinker smoker collector helper killer keeper matter number leader newcomer foreigner
introvert extrovert parent mother father sister brother daughter outsider insider customer user
follower quitter hater starter sucker traveler traveller cyclist
optimist pessimist perfectionist realist feminist minimalist tourist activist vegetarian list
twist socialist capitalist atheist communist pacifist
racist populist nationalist egoist nudist masochist sadist finalist volunteer career beer deer peer
gist fist mist whist
pescatarian flexitarian libertarian human christian buddhist volunteer person guy girl man woman
"""

STATUSES = (
    r"self-employed|self employed|unemployed|retired|jobless|between jobs|freelance|a freelancer"
    r"|a stay-at-home (?:mom|mum|dad|mother|father|parent)|a housewife"
)
TRADES = frozenset(_TRADES.split())
NOT_TRADES = frozenset(_NOT_TRADES.split())
_ENDINGS = re.compile(
    r"[a-z]{2,}(?:ist|ician|keeper|smith|maker|grapher|worker|mason|monger|wright|eer|warden)$"
)


def is_trade(phrase: str) -> bool:
    """Whether a noun phrase names a trade: its head does ("senior software engineer")."""
    head = re.split(r" (?:of|for|at|in|with|on) ", phrase.lower(), maxsplit=1)[0].split()
    if not head:
        return False
    word = head[-1]
    if word == "worker" and head[:-1] in ([], ["hard"], ["good"], ["fast"], ["slow"], ["great"]):
        return False
    return word in TRADES or (word not in NOT_TRADES and _ENDINGS.match(word) is not None)
