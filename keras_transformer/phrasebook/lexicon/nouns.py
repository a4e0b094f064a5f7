"""The nouns, adjectives and subjects, grouped by what can be said about them."""

from keras_transformer.phrasebook.grammar.french import Adjective, Noun, Subject, feminine


def m(french: str, english: str, french_plural: str = "", english_plural: str = "") -> Noun:
    """Create a masculine noun."""
    return Noun(french, english, False, french_plural, english_plural)


def f(french: str, english: str, french_plural: str = "", english_plural: str = "") -> Noun:
    """Create a feminine noun."""
    return Noun(french, english, True, french_plural, english_plural)


def adjective(
    french: str, english: str, *, before: bool = False, feminine_form: str = "", vowel: str = ""
) -> Adjective:
    """Create an adjective; the feminine follows from the rule unless it is given."""
    return Adjective(french, feminine_form or feminine(french), english, before, vowel)


# Food and drink
BREAD, MEAT, CHEESE, FISH = (
    m("pain", "bread"),
    f("viande", "meat"),
    m("fromage", "cheese"),
    m("poisson", "fish"),
)
RICE, SOUP, CHOCOLATE = m("riz", "rice"), f("soupe", "soup"), m("chocolat", "chocolate")
BUTTER, SUGAR, JAM = m("beurre", "butter"), m("sucre", "sugar"), f("confiture", "jam")
FOOD = (BREAD, MEAT, CHEESE, FISH, RICE, SOUP, CHOCOLATE)
WATER, COFFEE, TEA, MILK = f("eau", "water"), m("café", "coffee"), m("thé", "tea"), m("lait", "milk")
WINE, BEER = m("vin", "wine"), f("bière", "beer")
DRINKS = (WATER, COFFEE, TEA, MILK, WINE, BEER)
APPLE, ORANGE, TOMATO, EGG = (
    f("pomme", "apple"),
    f("orange", "orange"),
    f("tomate", "tomato"),
    m("œuf", "egg"),
)
BANANA, CARROT = f("banane", "banana"), f("carotte", "carrot")
FRUIT = (APPLE, ORANGE, BANANA)
VEGETABLES = (TOMATO, CARROT)
CAKE, SANDWICH, SALAD, ICE_CREAM = (
    m("gâteau", "cake"),
    m("sandwich", "sandwich"),
    f("salade", "salad"),
    f("glace", "ice cream"),
)
SNACKS = (APPLE, ORANGE, BANANA, CAKE, SANDWICH, SALAD, ICE_CREAM)

# Things
BOOK, NEWSPAPER, LETTER, NOVEL = (
    m("livre", "book"),
    m("journal", "newspaper"),
    f("lettre", "letter"),
    m("roman", "novel"),
)
ARTICLE, MESSAGE, REPORT, POEM = (
    m("article", "article"),
    m("message", "message"),
    m("rapport", "report"),
    m("poème", "poem"),
)
FILM, SONG = m("film", "film"), f("chanson", "song")
PHOTO, LESSON = f("photo", "photo"), f("leçon", "lesson")
EXERCISE, STORY = m("exercice", "exercise"), f("histoire", "story")
DRESS, SKIRT, SHIRT, JACKET = (
    f("robe", "dress"),
    f("jupe", "skirt"),
    f("chemise", "shirt"),
    f("veste", "jacket"),
)
COAT, HAT, JUMPER = m("manteau", "coat"), m("chapeau", "hat"), m("pull", "jumper")
SHOE, SOCK, GLOVE = f("chaussure", "shoe"), f("chaussette", "sock"), m("gant", "glove")
CLOTHES = (DRESS, SKIRT, SHIRT, JACKET, COAT, HAT, JUMPER)
PAIRED = (SHOE, SOCK, GLOVE)
KEY, BAG, PASSPORT, TICKET = (
    f("clé", "key"),
    m("sac", "bag"),
    m("passeport", "passport"),
    m("billet", "ticket"),
)
WALLET, UMBRELLA, PHONE = m("portefeuille", "wallet"), m("parapluie", "umbrella"), m("téléphone", "phone")
WATCH, COMPUTER, PEN, SUITCASE = (
    f("montre", "watch"),
    m("ordinateur", "computer"),
    m("stylo", "pen"),
    f("valise", "suitcase"),
)
CAMERA = m("appareil photo", "camera", "appareils photo")
BELONGINGS = (KEY, BAG, PASSPORT, TICKET, WALLET, UMBRELLA, PHONE, WATCH, PEN, SUITCASE)
HOUSE, FLAT, CAR, BICYCLE = (
    f("maison", "house"),
    m("appartement", "flat"),
    f("voiture", "car"),
    m("vélo", "bicycle"),
)
ROOM, KITCHEN, GARDEN = f("chambre", "room"), f("cuisine", "kitchen"), m("jardin", "garden")
TABLE, CHAIR, BED, LAMP = f("table", "table"), f("chaise", "chair"), m("lit", "bed"), f("lampe", "lamp")
DOG, CAT, FLOWER = m("chien", "dog"), m("chat", "cat"), f("fleur", "flower")
PRESENT, GLASS = m("cadeau", "present"), m("verre", "glass")

# Places
STATION, BANK, LIBRARY = f("gare", "station"), f("banque", "bank"), f("bibliothèque", "library")
BAKERY, MARKET, MUSEUM = f("boulangerie", "bakery"), m("marché", "market"), m("musée", "museum")
HOSPITAL, HOTEL, AIRPORT = m("hôpital", "hospital"), m("hôtel", "hotel"), m("aéroport", "airport")
PHARMACY, RESTAURANT, CINEMA = (
    f("pharmacie", "pharmacy"),
    m("restaurant", "restaurant"),
    m("cinéma", "cinema"),
)
PARK, POOL = m("parc", "park"), f("piscine", "swimming pool")
SUPERMARKET = m("supermarché", "supermarket")
THEATRE, CHURCH, CASTLE, BRIDGE = (
    m("théâtre", "theatre"),
    f("église", "church"),
    m("château", "castle"),
    m("pont", "bridge"),
)
POST_OFFICE, UNIVERSITY, SCHOOL = (
    f("poste", "post office"),
    f("université", "university"),
    f("école", "school"),
)
STREET, VILLAGE, TOWN = f("rue", "street"), m("village", "village"), f("ville", "town")
LANDMARKS = (STATION, BANK, LIBRARY, BAKERY, MARKET, MUSEUM, HOSPITAL, HOTEL, PHARMACY, RESTAURANT, CINEMA,
             PARK,
             SUPERMARKET, THEATRE, CHURCH, CASTLE, POST_OFFICE, UNIVERSITY, SCHOOL, POOL)  # fmt: skip
SHOPS = (BANK, LIBRARY, BAKERY, MARKET, MUSEUM, PHARMACY, RESTAURANT, SUPERMARKET, POST_OFFICE, POOL)
CITIES = (("Paris", "Paris"), ("Lyon", "Lyon"), ("Londres", "London"), ("Rome", "Rome"), ("Madrid", "Madrid"),
          ("Berlin", "Berlin"), ("Genève", "Geneva"), ("Bruxelles", "Brussels"))  # fmt: skip
# Country: with its article, the preposition of being there, in English.
COUNTRIES = (("la France", "en France", "France"), ("l'Italie", "en Italie", "Italy"),
             ("l'Espagne", "en Espagne", "Spain"),
             ("l'Allemagne", "en Allemagne", "Germany"), ("le Japon", "au Japon", "Japan"),
             ("le Canada", "au Canada", "Canada"),
             ("le Portugal", "au Portugal", "Portugal"),
             ("les États-Unis", "aux États-Unis", "the United States"))  # fmt: skip
LANGUAGES = (("français", "French"), ("anglais", "English"), ("espagnol", "Spanish"), ("italien", "Italian"),
             ("allemand", "German"), ("japonais", "Japanese"))  # fmt: skip

# Adjectives
BEAUTIFUL = adjective("beau", "beautiful", before=True, feminine_form="belle", vowel="bel")
NEW = adjective("nouveau", "new", before=True, feminine_form="nouvelle", vowel="nouvel")
OLD = adjective("vieux", "old", before=True, feminine_form="vieille", vowel="vieil")
GOOD, PRETTY = adjective("bon", "good", before=True), adjective("joli", "pretty", before=True)
BIG, SMALL = adjective("grand", "big", before=True), adjective("petit", "small", before=True)
YOUNG, TALL = adjective("jeune", "young", before=True), adjective("grand", "tall", before=True)
EXPENSIVE, INTERESTING = adjective("cher", "expensive"), adjective("intéressant", "interesting")
DIFFICULT, EASY = adjective("difficile", "difficult"), adjective("facile", "easy")
LONG = adjective("long", "long", before=True, feminine_form="longue")
DELICIOUS, HOT, COLD = (
    adjective("délicieux", "delicious"),
    adjective("chaud", "hot"),
    adjective("froid", "cold"),
)
FRESH = adjective("frais", "fresh", feminine_form="fraîche")
RED, BLUE, GREEN, BLACK = (adjective("rouge", "red"), adjective("bleu", "blue"), adjective("vert", "green"),
                           adjective("noir", "black"))  # fmt: skip
WHITE = adjective("blanc", "white", feminine_form="blanche")
COLOURS = (RED, BLUE, GREEN, BLACK, WHITE)
OPEN, CLOSED = adjective("ouvert", "open"), adjective("fermé", "closed")
QUIET, MODERN = adjective("calme", "quiet"), adjective("moderne", "modern")
TIRED, HAPPY, SAD, ILL = (adjective("fatigué", "tired"), adjective("heureux", "happy"),
                          adjective("triste", "sad"),
                          adjective("malade", "ill"))  # fmt: skip
BUSY, READY = adjective("occupé", "busy"), adjective("prêt", "ready")
SURPRISED = adjective("surpris", "surprised")
WORRIED = adjective("inquiet", "worried", feminine_form="inquiète")
MOODS = (TIRED, HAPPY, SAD, ILL, BUSY, READY, SURPRISED, WORRIED)
KIND, CLEVER = adjective("gentil", "kind"), adjective("intelligent", "clever")
FUNNY, SHY = adjective("drôle", "funny"), adjective("timide", "shy")
SERIOUS = adjective("sérieux", "serious")
NATURES = (KIND, CLEVER, FUNNY, SHY, SERIOUS, TALL, YOUNG)
NATIONALITIES = (adjective("français", "French"), adjective("anglais", "English"),
                 adjective("espagnol", "Spanish"),
                 adjective("italien", "Italian"), adjective("allemand", "German"))  # fmt: skip
STUDENT = adjective("étudiant", "student")
JOBS = (STUDENT, adjective("professeur", "teacher", feminine_form="professeure"),
        adjective("infirmier", "nurse"), adjective("avocat", "lawyer"), adjective("boulanger", "baker"),
        adjective("serveur", "waiter", feminine_form="serveuse"),
        adjective("cuisinier", "cook"), adjective("journaliste", "journalist"),
        adjective("dentiste", "dentist"), adjective("médecin", "doctor", feminine_form="médecin"),
        adjective("ingénieur", "engineer", feminine_form="ingénieure"))  # fmt: skip

# Subjects
ME, YOU_FAMILIAR = Subject("je", "I", 0), Subject("tu", "you", 1, both=False)
HE, SHE = Subject("il", "he", 2), Subject("elle", "she", 2, feminine=True)
WE, YOU = Subject("nous", "we", 3, plural=True), Subject("vous", "you", 4)
THEY, THEY_FEMININE = (
    Subject("ils", "they", 5, False, True, False),
    Subject("elles", "they", 5, True, True, False),
)
# The same person seen in an agreement: English cannot tell these back, so French-English has them alone.
MARKED = (Subject("je", "I", 0, True, both=False, marked=True),
          Subject("tu", "you", 1, True, both=False, marked=True),
          Subject("nous", "we", 3, True, True, both=False, marked=True),
          Subject("vous", "you", 4, False, True, both=False, marked=True),
          Subject("vous", "you", 4, True, False, both=False, marked=True))  # fmt: skip
PRONOUNS = (ME, YOU_FAMILIAR, HE, SHE, WE, YOU, THEY, THEY_FEMININE)


def person(french: str, english: str, *, feminine: bool = False, plural: bool = False) -> Subject:
    """Create a person who can be named or pointed at."""
    return Subject(french, english, 5 if plural else 2, feminine, plural)


PAUL, MARIE, THOMAS, JULIE = (person("Paul", "Paul"), person("Marie", "Marie", feminine=True),
                              person("Thomas", "Thomas"),
                              person("Julie", "Julie", feminine=True))  # fmt: skip
NAMES = (PAUL, MARIE, THOMAS, JULIE)
FAMILY = (
    person("mon père", "my father"), person("ma mère", "my mother", feminine=True),
    person("mon frère", "my brother"),
    person("ma sœur", "my sister", feminine=True), person("mon fils", "my son"),
    person("ma fille", "my daughter", feminine=True),
    person("ma grand-mère", "my grandmother", feminine=True), person("mon grand-père", "my grandfather"),
    person("mon oncle", "my uncle"), person("ma tante", "my aunt", feminine=True),
)  # fmt: skip
OTHERS = (
    person("mon ami", "my friend"),
    person("mon voisin", "my neighbour"),
    person("le professeur", "the teacher"),
)
GROUPS = (
    person("mes parents", "my parents", plural=True), person("mes amis", "my friends", plural=True),
    person("les enfants", "the children", plural=True),
    person("mes sœurs", "my sisters", feminine=True, plural=True),
    person("Paul et Marie", "Paul and Marie", plural=True),
    person("Julie et Marie", "Julie and Marie", feminine=True, plural=True),
)  # fmt: skip
PEOPLE = (*NAMES, *FAMILY, *OTHERS, *GROUPS)
SINGLE_PEOPLE = (*NAMES, *FAMILY, *OTHERS)
SUBJECTS = (*PRONOUNS, *PEOPLE)
AGREEING = (*SUBJECTS, *MARKED)


def pronoun(subject: Subject) -> Subject:
    """Return the pronoun for a person who was named before: Marie -> elle, she."""
    if subject.person == 2:
        return SHE if subject.feminine else HE
    if subject.person == 5:
        return THEY_FEMININE if subject.feminine else THEY
    return subject
