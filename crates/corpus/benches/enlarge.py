"""Makes a large corpus out of a small one, to measure what preparing costs at a size.

    python enlarge.py train ten 10 en de

reads train.en, train.de and train.docids, and writes 10 million pairs to ten.en, ten.de and ten.docids: the
text again and again, with one word in ten exchanged for another of the corpus and a number added to one line
in three, so that there are always new pairs and new words, and no part is easier than another. The same
arguments give the same bytes, and fewer millions the beginning of more.
"""

import random
import sys


def vary(line, words, rng):
    own = line.split(" ")
    for _ in range((len(own) + rng.randrange(10)) // 10):
        own[rng.randrange(len(own))] = words[rng.randrange(len(words))]
    if rng.randrange(3) == 0:
        own.append(str(rng.randrange(10_000_000)))
    return " ".join(own)


def main(source, output, millions, *languages):
    for ending in (*languages, "docids"):
        with open(f"{source}.{ending}", encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")[:-1]
        words = [word for line in lines for word in line.split()]
        rng = random.Random(ending)
        with open(f"{output}.{ending}", "w", encoding="utf-8", newline="\n") as file:
            for number in range(int(float(millions) * 1_000_000)):
                line = lines[number % len(lines)]
                if ending == "docids":
                    line = f"{number // len(lines)}-{line}"
                else:
                    line = vary(line, words, rng)
                file.write(line + "\n")


main(*sys.argv[1:])
