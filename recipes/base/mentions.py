"""Short documents in which only the sentence before tells whether "it" is er, sie or es.

    python mentions.py DATA OUT

Of the English-German corpora in the folder DATA (see data.toml), takes sentences that begin with a noun and a
verb on both sides (The report is late. Der Bericht kommt spät.), puts the pronoun in place of the noun
(It is late. Er kommt spät.), and before it another sentence pair of the same corpus that has the same noun on both
sides. At times one more sentence of that document stands before or between them, so that the noun is not always
equally far back. As many er as sie and es are kept, so no pronoun is the better guess, and at most PER_NOUN
of one noun. Nothing is made up but the pronouns.

OUT/mentions.en, .de and .docids are one sentence, or document id, per line.
"""

import collections
import pathlib
import random
import re
import subprocess
import sys

PER_NOUN = 80
# Sentences that mention a noun, of which one is drawn.
MENTIONS = 40
CORPORA = {"europarl": "europarl-en-de/train.{}.zst", "msdocs": "msdocs-en-de/train.{}.zst", "opensubs": "opensubs-en-de/train.{}"}
PRONOUNS = {"Der": "Er", "Die": "Sie", "Das": "Es"}

# What follows is a verb in the singular, so the noun before it is the subject, and Die is not a plural.
VERB = (
    "is|was|has|had|will|would|must|should|can|could|may|might|does|did|cannot|shall|needs|contains|provides|includes|"
    "shows|makes|means|gives|takes|comes|goes|works|looks|seems|remains|became|becomes|began|requires|allows|uses"
)
VERB_DE = (
    "ist|war|hat|hatte|wird|wurde|würde|muss|muß|musste|soll|sollte|kann|konnte|könnte|darf|dürfte|will|wollte|"
    "enthält|zeigt|macht|gibt|nimmt|kommt|geht|steht|liegt|bleibt|scheint|sieht|braucht|bietet|ermöglicht|verwendet|"
    "erfordert|umfasst|stellt|verfügt|besteht|funktioniert|legt|führt|bedeutet|verlangt|begann|fand|tut|fällt|läuft|"
    "bekommt|schlägt|sagt|beginnt|heißt|gehört|hilft|unterstützt|wäre|hätte|sei"
)
SOURCE = re.compile(rf"^(?:The|This) (?:[a-z]+ )?([a-z]{{3,}})(?= (?:{VERB})\b)")
TARGET = re.compile(
    rf"^(Der|Die|Das|Dieser|Diese|Dieses) (?:[a-zäöüß]+e )?([A-ZÄÖÜ][a-zäöüß]{{2,}})(?= (?:{VERB_DE})\b)"
)
# A noun by itself, not a part of a longer one (report item): a determiner before it, and no noun after it.
MENTION = re.compile(
    rf"\b(?:[Tt]he|[Aa]n?|[Tt]h(?:is|at)|[Oo]ur|[Yy]our|[Mm]y|[Hh]is|[Hh]er|[Tt]heir|[Nn]o|[Ee]very|[Nn]ew) (?:[a-z]+ )?([a-z]{{3,}})"
    rf"(?=[.,;:!?]|$| (?:{VERB}|of|in|on|for|to|that|which|and|or|from|with|by|at|as|we|you|I|here|there|today)\b)"
)
ARTICLE = {"Dieser": "Der", "Diese": "Die", "Dieses": "Das"}
# Nouns for people are he and she in English.
PEOPLE = set(
    "man woman boy girl mother father brother sister son daughter wife husband king queen doctor president minister "
    "chairman rapporteur commissioner user person guy lady kid child baby teacher customer administrator speaker "
    "gentleman employee manager driver author prime professor captain general officer judge patient worker other rest "
    "same former latter first second third last next one two".split()
)
WORD = re.compile(r"[A-Za-zÄÖÜäöüß]+")


def lines(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    return path.read_text().split("\n")[:-1]


def read(data, pattern):
    return [lines(pathlib.Path(data) / pattern.format(side)) for side in ("en", "de", "docids")]


def subject(source, target):
    """The noun and its article on both sides, if both sentences begin with one and a verb."""
    english, german = SOURCE.match(source), TARGET.match(target)
    if not english or not german or english[1] in PEOPLE:
        return None
    # Another it would need an antecedent of its own.
    if re.search(r"\b(?:it|its|It)\b", source) or len(source) > 200:
        return None
    return english[1], ARTICLE.get(german[1], german[1]), german[2], english.end(), german.end()


def documents(en, de, ids, chance):
    """Documents of one corpus by pronoun, each a list of pairs."""
    found = [(i, *parts) for i in range(len(en)) if (parts := subject(en[i], de[i]))]
    nouns = {(noun, german) for _, noun, _, german, *_ in found}
    by_noun = collections.defaultdict(set)
    for noun, german in nouns:
        by_noun[noun].add(german)
    # Where each noun stands on both sides.
    places = collections.defaultdict(list)
    for i in range(len(en)):
        if len(en[i]) > 150:
            continue
        german = None
        for noun in set(MENTION.findall(en[i])) & by_noun.keys():
            german = german or set(WORD.findall(de[i]))
            for word in by_noun[noun] & german:
                places[noun, word].append(i)
    # One gender per noun; a noun with several, or often misread, is left out.
    genders = collections.defaultdict(collections.Counter)
    for _, noun, article, german, *_ in found:
        genders[noun, german][article] += 1
    made, taken = collections.defaultdict(list), collections.Counter()
    chance.shuffle(found)
    for i, noun, article, german, english_end, german_end in found:
        if genders[noun, german].most_common(1)[0][0] != article or taken[noun, german] >= PER_NOUN:
            continue
        before = [j for j in chance.sample(places[noun, german], min(MENTIONS, len(places[noun, german]))) if j != i and en[j] != en[i]]
        if not before:
            continue
        # The true sentence before is better than any other.
        j = i - 1 if i - 1 in places[noun, german] and ids[i - 1] == ids[i] else before[0]
        context = [j]
        draw = chance.random()
        if draw < 0.25 and j > 0 and ids[j - 1] == ids[j]:
            context = [j - 1, j]
        elif draw > 0.75 and j + 1 < len(ids) and ids[j + 1] == ids[j] and j + 1 != i:
            context = [j, j + 1]
        taken[noun, german] += 1
        pronoun = PRONOUNS[article]
        pair = ("It" + en[i][english_end:], pronoun + de[i][german_end:])
        made[pronoun].append([(en[j], de[j]) for j in context] + [pair])
    return made


def main():
    data, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    kept = []
    for name, pattern in CORPORA.items():
        made = documents(*read(data, pattern), chance)
        least = min(map(len, made.values()))
        print(name, {pronoun: len(some) for pronoun, some in made.items()}, "of each pronoun kept:", least)
        for some in made.values():
            kept += chance.sample(some, least)
    chance.shuffle(kept)
    texts = [open(out / f"mentions.{side}", "w") for side in ("en", "de", "docids")]
    for number, document in enumerate(kept):
        for pair in document:
            for text, line in zip(texts, (*pair, f"mentions.{number:06}")):
                text.write(line + "\n")
    print(len(kept), "documents,", sum(map(len, kept)), "pairs")


if __name__ == "__main__":
    main()
