"""Cuts English-Portuguese documents for docs/experiments/en-pt-memory.md.

    python cut.py TRAIN PRONOUNS.json OUT

TRAIN.en, TRAIN.pt and TRAIN.docids are plain lines. PRONOUNS.json is what `abridge contrast make` finds in
all of them. Into the folder OUT:

    held.*          the documents of these examples, and those with an agreement example (below)
    kept.*          the others
    focus1.*        of `kept`, each sentence whose English has it, they or them, and whose Portuguese has a
                    gendered pronoun or a participle after ser or estar, with one sentence before it
    focus3.*        the same with up to three before it
    agreement.json  of `held`, sentences that begin with It or They and whose translation drops the pronoun, so
                    that the gender stands in one participle alone: Foi construída, Foi construído
"""

import json
import pathlib
import random
import re
import sys

train, pronouns, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SIDES = ("en", "pt", "docids")
en, pt, ids = (pathlib.Path(f"{train}.{side}").read_text().split("\n")[:-1] for side in SIDES)

WORD = re.compile(r"[^\W\d_]+")
PARTICIPLE = re.compile(r"(ad|id)[oa]s?$")
SER = set(
    "foi fora será seria seja fosse for é era está estava estará estaria esteja estivesse sido sendo ser "
    "foram serão seriam sejam fossem forem são eram estão estavam estarão estejam ficou ficará".split()
)
SUBJECT = re.compile(
    r"^(?:(?:But|And|So|Also|Therefore|However|Moreover|Furthermore|Yet|Now|Then|Today|Unfortunately|Indeed|"
    r"In fact|Of course|Perhaps|Finally),? )?(it|they)\b",
    re.I,
)
OTHER_PEOPLE = {"he", "she", "him", "her", "his", "you", "your", "one"}
EXPLETIVE = {"that", "a", "an", "the", "this", "clear"}
SPOKEN_SUBJECT = set("ele ela eles elas isto isso este esta esse essa o a os as".split())
PRONOUNS = {"ele", "ela", "eles", "elas"}


def words(text):
    return [word.lower() for word in WORD.findall(text)]


def participles(target):
    """Places of participles right after a form of ser or estar."""
    return [j for j in range(1, len(target)) if PARTICIPLE.search(target[j]) and target[j - 1] in SER]


def agreement(i):
    """The place of the participle that alone shows the gender of the sentence's subject."""
    subject = SUBJECT.match(en[i])
    if not subject or i == 0 or ids[i - 1] != ids[i]:
        return None
    pronoun, source, target = subject[1].lower(), words(en[i]), words(pt[i])
    place = source.index(pronoun)
    if source.count(pronoun) != 1 or OTHER_PEOPLE & set(source) or EXPLETIVE & set(source[place + 1 : place + 5]):
        return None
    if pronoun == "it" and {"that", "to"} & set(source):
        return None
    places = [j for j in participles(target) if j < 8]
    if len(places) != 1 or SPOKEN_SUBJECT & set(target[: places[0]]):
        return None
    return places[0]


def example(i, place):
    """An example of the set, if nothing else would have to change with the participle."""
    spans = list(WORD.finditer(pt[i]))
    if sum(bool(PARTICIPLE.search(span[0].lower())) for span in spans) != 1:
        return None
    word = spans[place][0]
    swapped = re.sub(r"[oa](s?)$", lambda end: ("a" if end[0][0] == "o" else "o") + end[1], word)
    start, end = spans[place].span()
    first = i
    while first > 0 and ids[first - 1] == ids[i] and i - first < 10:
        first -= 1
    return {
        "src segment": en[i],
        "ref segment": pt[i],
        "src pronoun": SUBJECT.match(en[i])[1].lower(),
        "ref pronoun": re.search("[oa]s?$", word)[0],
        "ante distance": None,
        "intrasegmental": None,
        "src ante phrase": None,
        "ref ante phrase": None,
        "document id": f"{ids[i]}.pt",
        "segment id": i - first + 1,
        "corpus": "agreement",
        "src context": en[first:i],
        "ref context": pt[first:i],
        "errors": [
            {
                "contrastive": pt[i][:start] + swapped + pt[i][end:],
                "replacement": re.search("[oa]s?$", swapped)[0],
                "type": "agreement",
            }
        ],
    }


def write(name, places, document=lambda i: ids[i]):
    for side, lines in zip(SIDES, (en, pt, None)):
        text = (document(i) if lines is None else lines[i] for i in places)
        (out / f"{name}.{side}").write_text("".join(f"{line}\n" for line in text))


found = {i: place for i in range(len(en)) if (place := agreement(i)) is not None}
held = {entry["document id"].removesuffix(".pt") for entry in json.load(open(pronouns))}
held |= {ids[i] for i in found}
out.mkdir(exist_ok=True)
write("held", [i for i in range(len(ids)) if ids[i] in held])
write("kept", [i for i in range(len(ids)) if ids[i] not in held])

# As many feminine ones as masculine ones.
examples = [made for i, place in found.items() if (made := example(i, place))]
random.seed(1)
balanced = []
for one, other in [("o", "a"), ("os", "as")]:
    groups = [[entry for entry in examples if entry["ref pronoun"] == ending] for ending in (one, other)]
    for group in groups:
        balanced += random.sample(group, min(map(len, groups)))
(out / "agreement.json").write_text(json.dumps(balanced, ensure_ascii=False, indent=1))
print(len(balanced), "agreement examples")

for most in (1, 3):
    windows, names = [], []
    for i in range(len(en)):
        if ids[i] in held or not {"it", "they", "them"} & set(words(en[i])):
            continue
        target = words(pt[i])
        if not PRONOUNS & set(target) and not participles(target):
            continue
        first = i
        while first > 0 and ids[first - 1] == ids[i] and i - first < most:
            first -= 1
        if first < i:
            windows.append(range(first, i + 1))
    flat = [(str(n + 1), i) for n, window in enumerate(windows) for i in window]
    write(f"focus{most}", [i for _, i in flat], lambda i, names=iter([n for n, _ in flat]): next(names))
    print(len(windows), f"windows with up to {most} before")
