"""Common first names, in small letters: whom a name most likely means, and whether she or he."""

from __future__ import annotations

_SHE = """
abigail ada agnes aisha alexandra alice alicia alina amanda amelia amy ana andrea angela anita
anna anne annie antonia anya audrey aurora ava barbara beatrice beatriz becky bella beth bianca
brenda bridget camila carla carmen carol carolina caroline catarina catherine cecilia charlotte
chloe christina christine cindy clara claire clare claudia cristina daisy daniela deborah delia
denise diana donna dora doris dorothy edith elaine eleanor elena elisa eliza elizabeth ella ellen
elsa emilia emily emma erica erin esther eva evelyn fatima fiona florence frances freya gabriela
gemma georgia gina giulia gloria grace greta hannah harriet hazel heather heidi helen helena ines
ingrid irene iris isabel isabella isla ivy jane janet jasmine jen jenna jennifer jenny jessica
jill joan joana joanna josephine joy joyce judith julia julie juliet karen kate katherine kathleen
katie kayla kelly kim kirsten kristen lara laura lauren layla lea leah leila lena leonor leticia
lily linda lisa liz lola lorena louise lucia lucy luisa luna lydia maddie madeleine maggie maja
mandy mara margaret maria mariana marie marina marisol marta martha mary matilda maya megan
melanie melissa mia michelle mila miriam molly monica nadia nancy naomi natalia natalie natasha
nia nicole nina nora norah olga olivia paloma pamela patricia paula pauline penelope petra phoebe
pilar poppy priya rachel raquel rebecca renata rita rosa rose rosie roxana ruby ruth sabrina sally
samantha sandra sara sarah selena serena sharon sheila shreya sienna silvia simone sofia sonia
sophia sophie stella stephanie sue summer susan susana suzanne sylvia tamara tania tanya tara
teresa tessa theresa tiffany tina ursula valentina valeria vanessa vera veronica victoria violet
virginia vivian wendy willow yara yasmin yolanda yuki yvonne zara zoe
"""
_HE = """
aaron adam adrian ahmed aidan alan albert alberto alejandro alex alexander alfred ali amir anders
andre andreas andrew andy anthony antonio antonis arjun arthur ben benjamin bernard bill billy bob
bobby boris brad brandon brian bruno bruce bryan calvin carl carlos charles charlie chris christian
christopher colin connor craig damian dan daniel danny darren dave david dean dennis derek diego
dmitri dominic donald douglas duarte dylan eddie eduardo edward edwin eli elias elliot emil enrico
enzo eric erik ethan eugene evan felipe felix fernando filipe finn francesco francis francisco
frank fred frederick gabriel gareth gary gavin geoff george gerald giovanni goran graham greg
gregory guido gustavo guy hamza hans harold harry hassan hector henrik henry hiroshi howard hugh
hugo ian ibrahim igor isaac ivan ivo jack jacob jake james jamal jan jared jason javier jay jeff
jeffrey jeremy jerry jesse jim jimmy joao joão joaquim joe joel johan johannes john johnny jon
jonas jonathan jorge jose josé joseph josh joshua juan julian julio justin karl karim keith ken
kenneth kenji kevin klaus kofi kwame kyle lars larry lee leo leon leonard leonardo liam lorenzo
louis luca lucas luis luke luigi malcolm manuel marc marcel marco marcus mario mark martin mateo
matteo matt matthew max michael miguel mike milo mohamed mohammed muhammad nate nathan neil
nicholas nick nico nicolas nigel niko noah oliver omar oscar otto owen pablo paolo patrick paul
pavel pedro pete peter phil philip pierre rafael raj rajesh ralph ramon raul ravi ray raymond
ricardo richard rick rob robert roberto robin rodrigo roger roland roman ron ronald rory ross roy
rui russell ryan salvador sam samir samuel santiago scott sean sebastian sergei sergio shane simon
stefan stephen steve steven stuart takeshi ted teddy terry theo thiago thomas tiago tim timothy
toby todd tom tomas tommy tony travis trevor tyler victor viktor vikram vincent vitor vlad walter
warren wayne wei will william xavier yusuf zach
"""

SHE = frozenset(_SHE.split())
HE = frozenset(_HE.split())


def gender_of(name: str) -> str:
    """f or m where the first name says so, else nothing."""
    first = name.partition(" ")[0].lower()
    if first in SHE:
        return "f"
    return "m" if first in HE else ""


def is_first_name(name: str) -> bool:
    """Whether the first word of a name is a common first name."""
    return bool(gender_of(name))
