"""Words that carry no content: English, and five languages where no English word is hit."""

from __future__ import annotations

_ENGLISH = """
a an the this that these those and or but nor so if then than as of at by for with about against
between into through during before after above below to from up down in out on off over under again
further once here there all any both each few more most other some such no not only same too very
just also ever even else yet still
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves someone something anyone
anything everyone everything nobody nothing
am is are was were be been being have has had having do does did doing done will would shall should
can could might must ought cannot
don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't wouldn't shan't
shouldn't can't couldn't mightn't mustn't needn't ain't
what which who whom whose when where why how many much whatever whichever whoever whenever wherever
because while until although though since whether per via upon within without toward towards
yes yeah yep ok okay oh uh um hmm hey hi hello please
"""

_SPANISH = """
el los las un una unos unas de del que y en por para se su sus mi mis tu es está están fue como
cómo cuando cuándo donde dónde quién quien cuál qué no si sí lo le les al pero más yo él nos muy
también ya esta este esto eso
"""

_FRENCH = """
le les un une des du de et est que qui quoi où quand pourquoi quel quelle je tu il nous vous ils
mes tes sa ses notre votre ce cette ces pas ne avec dans au aux avons avez était sont mais
aussi très être été
"""

_GERMAN = """
der das und ist ich nicht ein eine einen einem einer dem des mit für auf von zu zum zur im wie wer
wo wann warum welche welcher welches haben habe hatte sind waren wir sie es du mein meine dein deine
sein seine ihr ihre aber oder auch noch nur dass
"""

_PORTUGUESE = """
os um uma do da dos das em na nas por para com que e eu você ele ela meu minha seu sua não quando
onde como quem qual está são foi mas mais isso este essa
"""

_ITALIAN = """
il lo gli una di da del della dei delle nel nella che non sono è ha hai abbiamo quando perché
quale quanto questo questa anche più mio suo sua
"""

STOP_WORDS = " ".join([_ENGLISH, _SPANISH, _FRENCH, _GERMAN, _PORTUGUESE, _ITALIAN])
