"""Places everybody knows: countries, regions and big cities, in small letters."""

from __future__ import annotations

_COUNTRIES = """
afghanistan|albania|algeria|andorra|angola|argentina|armenia|australia|austria|azerbaijan|bahrain
bangladesh|barbados|belarus|belgium|belize|bolivia|bosnia|botswana|brazil|bulgaria|cambodia
cameroon|canada|cape verde|chile|china|colombia|congo|costa rica|croatia|cuba|cyprus
czech republic|czechia|denmark|dominican republic|ecuador|egypt|el salvador|england|eritrea
estonia|ethiopia|fiji|finland|france|gabon|gambia|georgia|germany|ghana|great britain|greece
greenland|guatemala|guinea|guyana|haiti|honduras|hong kong|hungary|iceland|india|indonesia|iran
iraq|ireland|israel|italy|ivory coast|jamaica|japan|jordan|kazakhstan|kenya|korea|kosovo|kuwait
kyrgyzstan|laos|latvia|lebanon|liberia|libya|liechtenstein|lithuania|luxembourg|madagascar|malawi
malaysia|maldives|mali|malta|mauritius|mexico|moldova|monaco|mongolia|montenegro|morocco
mozambique|myanmar|namibia|nepal|netherlands|new zealand|nicaragua|niger|nigeria|north korea
north macedonia|northern ireland|norway|oman|pakistan|palestine|panama|paraguay|peru|philippines
poland|portugal|puerto rico|qatar|romania|russia|rwanda|saudi arabia|scotland|senegal|serbia
sierra leone|singapore|slovakia|slovenia|somalia|south africa|south korea|spain|sri lanka|sudan
sweden|switzerland|syria|taiwan|tajikistan|tanzania|thailand|tibet|togo|tunisia|turkey
turkmenistan|uganda|ukraine|united arab emirates|united kingdom|united states|uruguay|uk|usa|us
uae|uzbekistan|venezuela|vietnam|wales|yemen|zambia|zimbabwe|europe|africa|asia|south america
north america|scandinavia
"""
_REGIONS = """
alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|hawaii|idaho
illinois|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota
mississippi|missouri|montana|nebraska|nevada|new hampshire|new jersey|new mexico|new york
north carolina|north dakota|ohio|oklahoma|oregon|pennsylvania|rhode island|south carolina
south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin|wyoming
ontario|quebec|british columbia|alberta|manitoba|nova scotia|bavaria|catalonia|tuscany|sicily
andalusia|normandy|brittany|provence|algarve|madeira|azores|cornwall|yorkshire|kent|devon|sussex
wales|bali|crete|sardinia|corsica|flanders|queensland|tasmania|new south wales
"""
_CITIES = """
aarhus|aberdeen|abu dhabi|accra|addis ababa|adelaide|albuquerque|alexandria|algiers|amman
amsterdam|ankara|antwerp|athens|atlanta|auckland|austin|baghdad|baku|baltimore|bangalore|bangkok
barcelona|basel|bath|beijing|beirut|belfast|belgrade|bergen|berkeley|berlin|bern|bilbao|birmingham
bogota|bogotá|bologna|bombay|bonn|bordeaux|boston|boulder|bradford|braga|bratislava|bremen
brighton|brisbane|bristol|brooklyn|bruges|brussels|bucharest|budapest|buenos aires|buffalo|cairo
calgary|cambridge|canberra|cape town|caracas|cardiff|casablanca|charlotte|chennai|chicago
christchurch|cincinnati|cleveland|coimbra|cologne|colombo|columbus|copenhagen|cork|coventry|dakar
dallas|damascus|delhi|denver|detroit|dhaka|doha|dortmund|dresden|dubai|dublin|durban|düsseldorf
edinburgh|edmonton|eindhoven|essen|exeter|faro|florence|frankfurt|galway|gdansk|gdańsk|geneva
genoa|ghent|glasgow|gothenburg|granada|graz|grenoble|guadalajara|guangzhou|hague|hamburg|hanoi
hanover|havana|helsinki|hiroshima|ho chi minh city|hobart|honolulu|houston|hyderabad|indianapolis
innsbruck|islamabad|istanbul|izmir|jakarta|jerusalem|johannesburg|kabul|kampala|kansas city
karachi|kathmandu|kolkata|krakow|kraków|kuala lumpur|kyiv|kiev|kyoto|lagos|lahore|las vegas
lausanne|leeds|leicester|leipzig|lille|lima|limerick|lisbon|lisboa|liverpool|ljubljana|london
los angeles|la|louisville|luanda|lyon|madison|madrid|malaga|málaga|malmö|manchester|manila
manhattan|marrakech|marseille|medellin|medellín|melbourne|memphis|mexico city|miami|milan
milwaukee|minneapolis|minsk|monterrey|montevideo|montpellier|montreal|moscow|mumbai|munich|nagoya
nairobi|nantes|naples|nashville|new delhi|new orleans|new york city|nyc|newcastle|nice|norwich
nottingham|nuremberg|oakland|oporto|orlando|osaka|oslo|ottawa|oxford|palermo|palo alto|paris|perth
philadelphia|phoenix|pisa|pittsburgh|plymouth|portland|porto|prague|pretoria|quito|reykjavik|riga
rio de janeiro|rio|riyadh|rome|rotterdam|sacramento|salt lake city|salzburg|san antonio|san diego
san francisco|sf|san jose|santiago|sao paulo|são paulo|sapporo|sarajevo|saratoga|seattle|seoul
seville|shanghai|sheffield|shenzhen|sofia|southampton|split|stockholm|strasbourg|stuttgart|sydney
taipei|tallinn|tampa|tbilisi|tehran|tel aviv|tokyo|toronto|toulouse|trieste|tucson|tunis|turin
utrecht|valencia|vancouver|venice|verona|vienna|vilnius|warsaw|washington dc|wellington|winnipeg
wroclaw|wrocław|yerevan|york|zagreb|zaragoza|zurich|zürich
"""
_WORDS = """
city|town|village|lake|mount|mountain|river|street|avenue|road|park|beach|island|islands|valley
bay|county|square|bridge|falls|canyon|desert|coast|harbour|harbor|hills|heights|district
"""
_HOMES = """
countryside|suburbs|city centre|city center|downtown|dorm|studio|cabin|farm|mountains|coast
"""


def _listed(table: str) -> frozenset[str]:
    return frozenset(name for line in table.strip().splitlines() for name in line.split("|"))


REGIONS = _listed(_REGIONS)
PLACES = _listed(_COUNTRIES) | REGIONS | _listed(_CITIES)
PLACE_WORDS = _listed(_WORDS)
HOMES = _listed(_HOMES)
_SIDES = frozenset(["north", "south", "east", "west", "northern", "southern"])


def is_place(name: str) -> bool:
    """Whether a name is that of a well-known place, or ends in a word for places."""
    folded = name.lower().removeprefix("the ")
    head, _, rest = folded.partition(" ")
    if rest and (head in ("lake", "mount") or (head in _SIDES and rest in PLACES)):
        return True
    return folded in PLACES or folded.rpartition(" ")[2] in PLACE_WORDS
