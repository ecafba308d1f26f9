"""Training text for a memory on an English-Portuguese model: the model's own translations with corrected genders.

    python teach.py MODEL DATA FOLDER

MODEL is the imported model, DATA the folder of corpora, and FOLDER has what cut.py wrote. A memory that learns from
people's translations learns their style first. The model's own translations have no other style to learn: what is
left to learn are the endings that it got wrong for want of context. Two kinds of documents are written to FOLDER:

    mentions.*   English sentences that begin with a noun (The house was built in 1900.), with a pronoun in its place
                 (It was built in 1900.), after a sentence that has the noun (The house is old.). The model
                 translates both forms. Where the noun stands in the sentence it knows the gender (A casa foi
                 construída), and that is put into the translation of the other (Foi construída em 1900.). As many
                 feminine as masculine ones, so that neither is the better guess.
    debates.*    windows of debates (focus3.*), translated by the model; pronouns and participles have the gender of the
                 reference, where the reference has the same word.

`ABRIDGE` names the program.
"""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys

PER_NOUN = 120
CANDIDATES = 60_000
# Documents made of one sentence, each with another mention of its noun.
CONTEXTS = 3
WINDOWS = 10_000
# Only the English side is read.
CORPORA = ["msdocs-en-de/train", "msdocs-en-fr/train", "opensubs-en-de/train", "opensubs-en-fr/train"]
SINGULAR, PLURAL = "is|was|has|does|doesn't|isn't|wasn't|hasn't", "are|were|have|do|don't|aren't|weren't|haven't"
EITHER = "will|would|must|should|can|could|may|might|did|cannot|can't|won't"
SUBJECT = re.compile(
    rf"^(?:The|This|That|These|Those|My|Your|Our|His|Her|Their) (?:[a-z]+ )?([a-z]{{3,}})(?= ({SINGULAR}|{PLURAL}|{EITHER})\b)"
)
MENTION = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|[Tt]h(?:is|at|ese|ose)|[Oo]ur|[Yy]our|[Mm]y|[Hh]is|[Hh]er|[Tt]heir|[Nn]o|[Nn]ew|[Ss]ome) (?:[a-z]+ )?([a-z]{3,})"
    rf"(?=[.,;:!?]|$| (?:{SINGULAR}|{PLURAL}|{EITHER}|of|in|on|for|to|that|which|and|or|from|with|by|at|as|we|you|I|here|there)\b)"
)
# Nouns for people are he and she in English.
PEOPLE = set(
    "man woman boy girl mother father brother sister son daughter wife husband king queen doctor president minister "
    "chairman rapporteur commissioner user person guy lady kid child baby teacher customer administrator speaker "
    "gentleman employee manager driver author prime professor captain general officer judge patient worker other rest "
    "same former latter first second third last next one two only".split()
)
WORD = re.compile(r"[^\W\d_]+")
ARTICLES = {
    "o": "m", "a": "f", "os": "m", "as": "f", "este": "m", "esta": "f", "estes": "m", "estas": "f", "esse": "m",
    "essa": "f", "esses": "m", "essas": "f", "meu": "m", "minha": "f", "seu": "m", "sua": "f", "nosso": "m",
    "nossa": "f", "seus": "m", "suas": "f", "nossos": "m", "nossas": "f", "aquele": "m", "aquela": "f",
}  # fmt: skip
SER = set(
    "foi fora será seria seja fosse for é era está estava estará estaria esteja estivesse sido sendo ser estar "
    "foram serão seriam sejam fossem forem são eram estão estavam estarão estejam ficou ficará fica ficam".split()
)
ADVERBS = set("muito mais tão bem não já também ainda agora sempre bastante completamente totalmente realmente".split())
PRONOUNS = {"ele": "ela", "ela": "ele", "eles": "elas", "elas": "eles"}
GENDERED = re.compile(r"[oa]s?$")


def swapped(word):
    """The same word in the other gender."""
    if word.lower() in PRONOUNS:
        other = PRONOUNS[word.lower()]
        return other.capitalize() if word[0].isupper() else other
    return re.sub(r"[oa](s?)$", lambda end: ("a" if end[0][0] == "o" else "o") + end[1], word)


def gender(word):
    word = word.lower()
    if word in PRONOUNS:
        return "m" if word.startswith("ele") else "f"
    return "m" if word.rstrip("s").endswith("o") else "f"


def predicates(text):
    """Words of a translation that agree with its subject: those after a form of ser or estar."""
    spans = list(WORD.finditer(text))
    after = False
    for place, span in enumerate(spans):
        word = span[0].lower()
        if after and len(word) > 3 and GENDERED.search(word) and word not in ADVERBS:
            yield span
        after = word in SER or (after and word in ADVERBS)


def pronouns(text):
    return [span for span in WORD.finditer(text) if span[0].lower() in PRONOUNS]


def put(text, spans):
    """`text` with the words of these spans in the other gender."""
    for span in sorted(spans, key=lambda span: -span.start()):
        text = text[: span.start()] + swapped(span[0]) + text[span.end() :]
    return text


def lines(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    return path.read_text().split("\n")[:-1]


def translated(model, name, text, folder):
    """Each line by itself."""
    source, target = folder / f"{name}.source", folder / f"{name}.target"
    source.write_text("".join(line + "\n" for line in text))
    target.unlink(missing_ok=True)
    program = os.environ.get("ABRIDGE", "abridge")
    subprocess.run([program, "translate", "--quiet", "--model", model, source, "--output", target], check=True)
    found = lines(target)
    assert len(found) == len(text)
    return found


def write(folder, name, documents):
    texts = [open(folder / f"{name}.{side}", "w") for side in ("en", "pt", "docids")]
    for number, document in enumerate(documents):
        for pair in document:
            for text, line in zip(texts, (*pair, f"{name}.{number:06}")):
                text.write(line + "\n")


def neighbourhood(texts, here, chance):
    """The sentence at a place; at times the one after it as well, or the one before it, so that a mention is not always
    equally far back."""
    text, i = texts[here[0]], here[1]
    draw = chance.random()
    if draw < 0.25 and i + 1 < len(text) and len(text[i + 1]) < 120:
        return [text[i], text[i + 1]]
    if draw > 0.75 and i and len(text[i - 1]) < 120:
        return [text[i - 1], text[i]]
    return [text[i]]


def mentions(model, data, folder, chance):
    texts = [lines(folder / "kept.en")]
    for name in CORPORA:
        path = pathlib.Path(data) / f"{name}.en"
        texts.append(lines(path if path.exists() else path.with_name(path.name + ".zst")))
    found, taken = [], collections.Counter()
    # Where each noun stands, and where it is what the sentence is about.
    places, subjects = collections.defaultdict(list), collections.defaultdict(list)
    for number, text in enumerate(texts):
        for i, line in enumerate(text):
            if len(line) > 120:
                continue
            for noun in set(MENTION.findall(line)):
                places[noun].append((number, i))
            subject = SUBJECT.match(line)
            if subject:
                subjects[subject[1]].append((number, i))
            if subject and not re.search(r"\b(?:[Ii]ts?|[Tt]h(?:ey|em|eir))\b", line):
                found.append((number, i, subject))
    chance.shuffle(found)
    rows, seen = [], set()
    for number, i, subject in found:
        noun, verb, line = subject[1], subject[2], texts[number][i]
        many = verb in PLURAL.split("|") or (verb in EITHER.split("|") and noun.endswith("s"))
        if (noun in PEOPLE and not many) or taken[noun] >= PER_NOUN or line in seen:
            continue
        before = [
            [place for place in some if texts[place[0]][place[1]] != line] for some in (places[noun], subjects[noun])
        ]
        if not before[0]:
            continue
        contexts = [neighbourhood(texts, chance.choice(chance.choice(before) or before[0]), chance) for _ in range(CONTEXTS)]
        taken[noun] += 1
        seen.add(line)
        rows.append((line, ("They" if many else "It") + line[subject.end() :], contexts))
        if len(rows) == CANDIDATES:
            break
    print(len(rows), "sentences that begin with a noun")
    whole = translated(model, "noun", [row[0] for row in rows], folder)
    short = translated(model, "pronoun", [row[1] for row in rows], folder)
    made, changed = collections.defaultdict(list), 0
    for (_, source, contexts), evidence, target in zip(rows, whole, short):
        words = [word.lower() for word in WORD.findall(evidence)]
        if not words or words[0] not in ARTICLES:
            continue
        true = ARTICLES[words[0]]
        known = {span[0].lower() for span in predicates(evidence)}
        if not known or any(gender(word) != true for word in known):
            continue
        subject = pronouns(target)
        some = [span for span in predicates(target) if {span[0].lower(), swapped(span[0].lower())} & known]
        # A pronoun elsewhere may be somebody else.
        if subject and (len(subject) > 1 or subject[0].start() > 0):
            continue
        if not some:
            continue
        wrong = [span for span in [*some, *subject] if gender(span[0]) != true]
        changed += bool(wrong)
        made[true].append((contexts, source, put(target, wrong)))
    least = min(map(len, made.values()))
    print({name: len(some) for name, some in made.items()}, "kept of each:", least, "; corrected:", changed)
    kept = [
        (context, source, target)
        for some in made.values()
        for contexts, source, target in chance.sample(some, least)
        for context in contexts
    ]
    chance.shuffle(kept)
    before = iter(translated(model, "context", [line for context, *_ in kept for line in context], folder))
    write(folder, "mentions", [[*((line, next(before)) for line in context), (source, target)] for context, source, target in kept])


def debates(model, folder, chance):
    en, pt, ids = (lines(folder / f"focus3.{side}") for side in ("en", "pt", "docids"))
    windows = collections.defaultdict(list)
    for i, name in enumerate(ids):
        windows[name].append(i)
    chosen = chance.sample(list(windows.values()), min(WINDOWS, len(windows)))
    flat = [i for window in chosen for i in window]
    own = dict(zip(flat, translated(model, "debates", [en[i] for i in flat], folder)))
    changed = 0
    documents = []
    for window in chosen:
        document = []
        for i in window:
            reference = {word.lower() for word in WORD.findall(pt[i])}
            wrong = [
                span
                for span in [*predicates(own[i]), *pronouns(own[i])]
                if span[0].lower() not in reference and swapped(span[0].lower()) in reference
            ]
            changed += bool(wrong)
            document.append((en[i], put(own[i], wrong)))
        documents.append(document)
    print(len(documents), "windows of debates,", changed, "sentences corrected")
    write(folder, "debates", documents)


def main():
    model, data, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    chance = random.Random(1)
    mentions(model, data, folder, chance)
    debates(model, folder, chance)


if __name__ == "__main__":
    main()
