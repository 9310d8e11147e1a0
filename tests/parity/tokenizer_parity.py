"""usage: tokenizer_parity.py TOKENIZE FOLDER -- compares muster's byte-level BPE with Hugging Face's, id by id.

Uses real text and nasty lines, with a vocabulary that muster learned and they read, and with one the other way round.
"""
import json
import pathlib
import random
import subprocess
import sys

import tokenizers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
PIECES = (
    "a the Word words don't I'll we've they're she'd it's 'S 'LL ''' ' 's" " 0 7 42 1234567890 3.14 1,000 ½ ² Ⅷ ٣٤"
    " ! ... ?! -- — “quoted” (x) [y] {z} <tag> </s> #hash @at $5 100% a_b x=y http://a.b/c?d=e&f"
    " é ë ñ ø ß ﬁ Ωmega привет мир שלום مرحبا नमस्ते ไทย 你好世界 日本語 한국어 𝔘𝔫𝔦 e\u0301 a\u0308\u0323"
    " 😀 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ☃ ❤️ ™ © \ufeff \u200b \u200d \u00ad \ufffd \U0010ffff \ue000"
).split(" ")
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c", ""]
CONTROLS = [chr(c) for c in range(32)] + ["\x7f", "\x80", "\x9f"]


def nasty_lines(count):
    pick = random.Random(20)
    lines = ["", " ", "\n", "\x00", "   leading", "trailing   ", "a" * 3000, " " * 3000, "ab" * 1500, "'" * 50, END, f"a{END}b {END} {END[:-1]}"]
    lines += PIECES + SPACES + CONTROLS
    while len(lines) < count:
        words = [pick.choice(PIECES) if pick.random() < 0.8 else pick.choice(CONTROLS) for _ in range(pick.randrange(1, 12))]
        lines.append("".join(w + pick.choice(SPACES) for w in words))
        # Any code points except surrogates, which are not text.
        points = [pick.choice([pick.randrange(0x300), pick.randrange(0xD800), pick.randrange(0xE000, 0x110000)]) for _ in range(pick.randrange(1, 20))]
        lines.append("".join(map(chr, points)))
    return lines


def learn(text, vocabulary):
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, min_frequency=2, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator([text], trainer)
    return theirs


def compare(program, path, lines_path, lines):
    out = subprocess.run([program, "encode", path, lines_path], check=True, capture_output=True, text=True).stdout
    ours = [[int(i) for i in line.split()] for line in out.splitlines()]
    theirs = [e.ids for e in Tokenizer.from_file(str(path)).encode_batch(lines)]
    if len(ours) != len(lines):
        sys.exit(f"{path.name}: {len(ours)} answers to {len(lines)} lines")
    wrong = [i for i in range(len(lines)) if ours[i] != theirs[i]]
    for i in wrong[:10]:
        print(f"{path.name}: {lines[i]!r}\n  ours   {ours[i]}\n  theirs {theirs[i]}")
    if wrong:
        sys.exit(f"{path.name}: {len(wrong)} of {len(lines)} lines differ")
    print(f"{path.name}: {len(lines)} lines, {sum(map(len, ours))} ids, all equal")


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    print(f"tokenizers {tokenizers.__version__}")
    real = subprocess.run(["bible", "-f", "gen1:1-gen50:26"], check=True, capture_output=True, text=True).stdout
    lines = real.splitlines()[:2000] + nasty_lines(3000)
    text = real + "\n".join(line for line in lines if END not in line)
    (folder / "text.txt").write_bytes(text.encode())
    (folder / "lines.json").write_text(json.dumps(lines))
    subprocess.run([program, "train", folder / "text.txt", "1500", folder / "ours.json"], check=True)
    learn(text, 3000).save(str(folder / "theirs.json"))
    for name in ("ours.json", "theirs.json"):
        compare(program, folder / name, folder / "lines.json", lines)


main()
