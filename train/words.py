"""Names, places, things and other words from which examples are made."""

from __future__ import annotations

import random

FIRST_NAMES = """Anna Ben Clara David Emma Felix Grace Henry Ivy Jack Kate Leo Mia Noah Olivia Paul Quinn Rosa Sam Tina Uma Victor
Wendy Xavier Yara Zoe Lily Tom Max Lucy Tim Sara Ella Mark Nina Oscar Peter Ruth Simon Tara Alice Bob Carol Daniel Eva Frank Gina
Hugo Irene James Karen Liam Maria Nick Omar Petra Robert Sofia Thomas Ursula Vera Walter Yusuf Amir Bella Carlos Diana Elena Fatima
George Hannah Ingrid Julia Kevin Laura Martin Nadia Oliver Priya Raj Stella Theo Vikram Mei Kenji Aiko Chen Lars Freya Pablo Ines
Marco Luca Giulia Jonas Greta Otto Ahmed Layla Hassan Amara Kofi Zara Ravi Anya Boris Ivan Olga Dmitri Sean Nora Fiona Ian""".split()
LAST_NAMES = """Smith Jones Brown Miller Davis Wilson Moore Taylor Anderson Thomas Jackson White Harris Martin Thompson Garcia Clark
Lewis Lee Walker Hall Allen Young King Wright Hill Scott Green Adams Baker Nelson Carter Mitchell Perez Roberts Turner Phillips
Campbell Parker Evans Edwards Collins Stewart Morris Rogers Reed Cook Morgan Bell Murphy Bailey Cooper Richardson Cox Howard Ward
Peterson Gray Watson Brooks Kelly Sanders Price Bennett Wood Barnes Ross Henderson Coleman Jenkins Perry Powell Long Hughes
Silva Novak Rossi Weber Fischer Schmidt Kim Park Tanaka Sato Singh Patel Khan Ali Nguyen Lopez Cruz Larsen Berg Dubois""".split()
CITIES = """London Paris Berlin Madrid Rome Vienna Oslo Dublin Lisbon Athens Prague Warsaw Helsinki Copenhagen Stockholm Brussels
Amsterdam Zurich Geneva Munich Hamburg Milan Naples Venice Barcelona Seville Porto Lyon Boston Chicago Denver Seattle Austin Dallas
Miami Portland Toronto Montreal Vancouver Sydney Melbourne Auckland Tokyo Osaka Kyoto Seoul Beijing Shanghai Delhi Mumbai Bangkok
Hanoi Manila Jakarta Cairo Nairobi Lagos Accra Tunis Istanbul Ankara Dubai Lima Bogota Quito Santiago Havana Bern Graz Ghent
Leeds York Bath Oxford Bristol Glasgow Edinburgh Cardiff Belfast Cork Nice Turin Malaga Krakow Riga Vilnius Tallinn""".split()
COUNTRIES = """France Germany Spain Italy Austria Norway Ireland Portugal Greece Poland Finland Denmark Sweden Belgium Japan China
India Thailand Vietnam Egypt Kenya Nigeria Ghana Turkey Peru Chile Brazil Mexico Canada Australia""".split()
COLOURS = "red blue green yellow orange purple black white brown pink gray silver gold".split()
ANIMALS = "cat dog horse cow pig sheep goat rabbit mouse fox bear wolf lion tiger duck hen frog fish bird turtle owl snake".split()
FRUITS = "apple banana pear plum peach orange lemon grape mango cherry melon kiwi".split()
THINGS = """book pen lamp chair table bag cup plate bottle shirt hat coat shoe clock phone camera ball toy box key ring basket
blanket pillow mirror brush knife spoon fork bowl pot pan kettle candle umbrella watch wallet notebook pencil ruler desk sofa
bike helmet guitar drum radio keyboard monitor printer speaker charger cable mouse backpack tent rope hammer saw drill ladder""".split()
FOODS = """bread milk cheese eggs butter rice pasta tomatoes potatoes onions carrots apples bananas sugar flour salt honey tea coffee
juice soup salad chicken fish beans nuts cookies cake chocolate yogurt cereal jam oil pepper garlic lemons""".split()
JOBS = """teacher doctor nurse baker farmer driver pilot cook painter writer singer engineer lawyer gardener plumber carpenter
librarian dentist designer chemist reporter waiter tailor builder sailor clerk manager programmer artist mechanic""".split()
HOBBIES = """reading swimming painting cooking hiking dancing fishing running chess gardening singing cycling photography knitting
skating camping sailing writing drawing yoga tennis football basketball climbing""".split()
COMPANIES = """Acme Globex Initech Northwind Bluebird Redwood Sunrise Lakeside Orbit Summit Harbor Pinewood Silverline Brightpath
Greenleaf Stonebridge Riverside Maple Horizon Falcon""".split()
COMPANY_KINDS = ["Ltd", "Inc", "Foods", "Books", "Labs", "Motors", "Travel", "Systems", "Media", "Tools"]
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
STREETS = "Oak Elm Maple Cedar Pine Main High Park Lake Hill River Church Mill Station Bridge Garden School King Queen Market".split()
ADJECTIVES = """big small old new red blue happy sad quick slow bright dark warm cold soft hard clean quiet loud brave kind clever
tiny huge gentle funny strange shiny heavy light round sweet""".split()
VERBS = "run walk jump sing read write play cook swim climb build paint dance sleep laugh talk listen watch draw wait".split()
MORE_FIRST_NAMES = """Aaron Abigail Adam Adele Agnes Aisha Albert Alex Alina Amelia Andre Angela Anton Antonio Arthur Astrid Ava Axel Beatrice Benjamin Bianca Bruno Camila Caroline Cecilia Charles Charlotte Chloe Christian
Colin Dana Daria Derek Dominic Edith Edward Eleanor Eli Elise Emil Emily Eric Ernest Esther Ethan Eugene Evelyn Finn Flora Francis Gabriel Georgia Gustav Harper Harriet Helen Hiro Holly Isaac Isabel Jacob Jade Jamal Jane Jasmine
Jason Jenna Joel John Jordan Jose Joseph Joy Juan Judith Julian Karl Keiko Kim Kira Kurt Leila Lena Leon Leonard Linda Lisa Logan Lorenzo Louis Lucas Lydia Mabel Magnus Manuel Marcus Margaret Marta Mateo Matilda Maya Megan
Michael Mila Miriam Mohamed Monica Morgan Nadine Naomi Natalie Nathan Neil Niko Nikhil Noel Olaf Oleg Pamela Patrick Pedro Penny Philip Rachel Ralph Ramon Rebecca Renata Rita Rohan Roman Ronan Rory Ruby Samuel Sandra Sebastian
Selma Sergio Silvia Sonia Stefan Sunita Susan Sven Tamara Teresa Tobias Tomas Umar Valentina Vincent Viola Wanda William Yan Yasmin Yuki Yvonne Zachary Zainab""".split()
MORE_LAST_NAMES = """Abbott Ahmed Alvarez Andersson Baldwin Banerjee Bauer Becker Bianchi Black Blake Bond Boyd Bradley Burke Burton Castro Chan Chavez Cole Costa Craig Cruz Cunningham Dahl Davies Dean Diaz Doyle Duncan Eriksson Espinoza Ferrari
Ferreira Fletcher Flores Ford Foster Fox Franklin Gallagher Gibson Gomez Gonzalez Graham Grant Griffin Gupta Haas Hansen Hartmann Hayes Hoffman Holmes Hunt Ito Ivanov Jacobs Jensen Johansson Johnson Jordan Kaplan Kaur Kennedy
Klein Kowalski Kumar Lang Laurent Li Lindberg Lund MacDonald Marino Marshall Martinez Mason Mendoza Meyer Mills Moreau Moreno Muller Murray Nakamura Nielsen Okafor Olsen Ortiz Osman Owens Palmer Petrov Pierce Popov Ramirez Rao
Reyes Ricci Rivera Romano Rossini Santos Schneider Schultz Sharma Shaw Simmons Sokolov Spencer Stone Suzuki Svensson Torres Vargas Vega Wagner Wang Webb West Winter Wolf Yamamoto Zhang Ziegler""".split()
MORE_CITIES = """Adelaide Alexandria Algiers Antwerp Atlanta Baltimore Basel Bergen Bilbao Birmingham Bologna Bonn Bordeaux Bratislava Brisbane Bucharest Budapest Calgary Casablanca Chennai Cleveland Cologne Cordoba Detroit Dresden Durban
Florence Frankfurt Genoa Granada Guadalajara Halifax Hannover Houston Izmir Karachi Kyiv Lahore Leipzig Lille Liverpool Luxembourg Manchester Marrakesh Marseille Medellin Memphis Monaco Nagoya Nantes Nashville Newcastle Nuremberg
Odessa Orlando Osaka Ottawa Palermo Perth Philadelphia Phoenix Pisa Plymouth Pretoria Rabat Reykjavik Rotterdam Salzburg Samarkand Singapore Sofia Split Stuttgart Taipei Tampere Tbilisi Toulouse Trieste Uppsala Utrecht
Valencia Verona Wellington Winnipeg Zagreb""".split()
SYLLABLES = "ba be bo da de do fa fi ga go ka ke ki la le lo ma mi mo na ne no pa pi ra re ri ro sa se so ta te ti to va ve za zo".split()

# Names that fit "she" and "he", for stories.
GIRLS = """Lily Mia Lucy Sue Amy Sally Emma Anna Sara Ella Grace Molly Daisy Rosie Luna Bella Jane Ruby Penny Kate Alice Jenny Poppy Sophie Julie Tilly Olive Rachel Claire Gina Ivy Nora Zoe Clara Rosa Tina Maya Nina Eva Ada Ruth
Hannah Laura Julia Elsa Freya Greta Layla Zara Amara Mei Aiko Priya Nadia Stella Iris Flora Hazel Holly Jade Cora Dora Edith Fern Heidi Ines Judy Kira Lena Mabel Nell Opal Paula Rita Sylvia Thea Vera Willow Yara Wendy Sofia Elena
Diana Carol Bonnie Abby Annie Betty Cindy Debbie Ellie Fiona Gwen Helen Irma Josie Katie Lola Megan Nancy Olivia Peggy Queenie Robin Susie Tess Ursula Viola Winnie Zelda Chloe Leah Naomi Esther Miriam Rebecca Tara Uma Anya""".split()
BOYS = """Tim Tom Ben Sam Jack Bob Max Leo Fred John Andy Carl Pete Joe Ted George Mark Jake Bill Gary Henry James Jim Harry Johnny Oliver Finn Noah Paul Felix David Victor Hugo Simon Oscar Peter Martin Nick Daniel Frank Kevin Liam
Thomas Walter Amir Carlos Raj Theo Kenji Chen Lars Pablo Marco Luca Jonas Otto Ahmed Hassan Kofi Ravi Ivan Sean Ian Adam Alan Arthur Barry Brian Caleb Cody Colin Dean Dennis Derek Doug Eddie Eli Ethan Evan Gavin Glen Graham Greg
Isaac Jason Jeff Jesse Joel Jonah Josh Kyle Logan Luke Marvin Matt Miles Morris Nathan Neil Nigel Norman Owen Patrick Philip Ralph Randy Ray Rob Roger Ron Roy Russell Scott Seth Stan Steve Todd Tony Vince Wade Wayne Zach Omar""".split()


def plural(noun: str) -> str:
    if noun in ("fish", "sheep"):
        return noun
    if noun == "mouse":
        return "mice"
    if noun in ("wolf", "knife"):
        return noun.rstrip("ef") + "ves"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def article(noun: str) -> str:
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def invented_word(rng: random.Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3)))


def first_name(rng: random.Random) -> str:
    """Mostly a known name, sometimes one that nobody has."""
    return rng.choice(FIRST_NAMES) if rng.random() < 0.9 else invented_word(rng).capitalize()


def full_name(rng: random.Random) -> str:
    return f"{first_name(rng)} {rng.choice(LAST_NAMES)}"


def city(rng: random.Random) -> str:
    return rng.choice(CITIES) if rng.random() < 0.92 else invented_word(rng).capitalize()


def company(rng: random.Random) -> str:
    return f"{rng.choice(COMPANIES)} {rng.choice(COMPANY_KINDS)}"


def any_first_name(rng: random.Random) -> str:
    """From all names that are known, now and then an invented one."""
    return rng.choice(FIRST_NAMES + MORE_FIRST_NAMES) if rng.random() < 0.94 else invented_word(rng).capitalize()


def any_full_name(rng: random.Random) -> str:
    return f"{any_first_name(rng)} {rng.choice(LAST_NAMES + MORE_LAST_NAMES)}"


def any_city(rng: random.Random) -> str:
    return rng.choice(CITIES + MORE_CITIES) if rng.random() < 0.95 else invented_word(rng).capitalize()


def code(rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(2))
    return f"{letters}-{rng.randint(100, 9999)}"


def date(rng: random.Random) -> str:
    return f"{rng.choice(MONTHS)} {rng.randint(1, 28)}"


def iso_date(rng: random.Random) -> str:
    return f"20{rng.randint(20, 29)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def clock(rng: random.Random) -> str:
    return f"{rng.randint(6, 22):02d}:{rng.choice([0, 15, 30, 45, 10, 20, 40, 50]):02d}"


def email(rng: random.Random) -> str:
    return f"{rng.choice(FIRST_NAMES).lower()}@{rng.choice(COMPANIES).lower()}.com"


def phone(rng: random.Random) -> str:
    return f"555-{rng.randint(1000, 9999)}"


def listing(items: list[str]) -> str:
    """a, b and c"""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


NUMBER_NAMES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen""".split()
TENS_NAMES = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number_name(value: int) -> str:
    """A number below a hundred in words."""
    if value < 20:
        return NUMBER_NAMES[value]
    return TENS_NAMES[value // 10 - 2] + (f"-{NUMBER_NAMES[value % 10]}" if value % 10 else "")


def any_email(rng: random.Random) -> str:
    first, last = rng.choice(FIRST_NAMES + MORE_FIRST_NAMES).lower(), rng.choice(LAST_NAMES + MORE_LAST_NAMES).lower()
    user = rng.choice([first, f"{first}.{last}", f"{first[0]}.{last}", f"{first}{rng.randint(1, 99)}", f"{first}_{last}", "info", "office", last])
    host = rng.choice([rng.choice(COMPANIES).lower(), "example", "mail", invented_word(rng), "university"])
    return f"{user}@{host}.{rng.choice(['com', 'com', 'org', 'net', 'io', 'de', 'co.uk', 'edu'])}"


def any_phone(rng: random.Random) -> str:
    return rng.choice([f"555-{rng.randint(1000, 9999)}", f"555-{rng.randint(100, 999)}-{rng.randint(1000, 9999)}", f"+{rng.randint(1, 99)} {rng.randint(100, 999)} {rng.randint(1000, 99999)}", f"0{rng.randint(20, 999)} {rng.randint(10000, 999999)}",
                       f"({rng.randint(200, 999)}) 555-{rng.randint(1000, 9999)}"])


def any_code(rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(rng.randint(1, 3)))
    return rng.choice([code(rng), code(rng), f"{letters}{rng.randint(10, 9999)}", f"{letters}-{rng.randint(1, 99):02d}-{rng.randint(10, 999)}"])


def any_company(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.5:
        return company(rng)
    return f"{rng.choice(LAST_NAMES + MORE_LAST_NAMES)} {rng.choice(COMPANY_KINDS + ['& Sons', 'Bakery', 'Studio', 'Group'])}" if kind < 0.8 else f"{invented_word(rng).capitalize()} {rng.choice(COMPANY_KINDS)}"
