"""Languages, and the words for the people of a country, in small letters."""

from __future__ import annotations

_LANGUAGES = """
afrikaans albanian amharic arabic armenian basque bengali bosnian bulgarian cantonese catalan
chinese croatian czech danish dutch english esperanto estonian farsi finnish flemish french gaelic
galician georgian german greek gujarati hebrew hindi hungarian icelandic indonesian irish italian
japanese khmer korean kurdish lao latin latvian lithuanian malay malayalam maltese mandarin
marathi mongolian nepali norwegian persian polish portuguese punjabi quechua romanian russian
sanskrit serbian sinhala slovak slovenian somali spanish swahili swedish tagalog tamil telugu thai
tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa yiddish yoruba zulu asl
"""
_PEOPLES = """
afghan african algerian american argentinian argentine asian australian austrian bangladeshi
belgian bolivian brazilian british cambodian cameroonian canadian chilean colombian costa-rican
cuban cypriot dominican ecuadorian egyptian emirati ethiopian european filipino ghanaian
guatemalan haitian honduran indian iranian iraqi israeli ivorian jamaican jewish jordanian kenyan
kosovar kuwaiti latino lebanese libyan malaysian mexican moroccan mozambican nigerian pakistani
palestinian panamanian paraguayan peruvian puerto-rican rwandan salvadoran saudi scottish
senegalese singaporean slovenian south-african sudanese swiss syrian taiwanese tanzanian tunisian
ugandan uruguayan venezuelan yemeni zambian zimbabwean english french german spanish portuguese
italian dutch danish swedish norwegian finnish icelandic polish czech slovak hungarian romanian
bulgarian greek turkish russian ukrainian serbian croatian bosnian albanian latvian lithuanian
estonian irish welsh japanese chinese korean vietnamese thai indonesian nepali mongolian armenian
georgian maltese
"""

LANGUAGES = frozenset(_LANGUAGES.split())
PEOPLES = frozenset(_PEOPLES.split())
