"""Long lines without sentences are cut at the ends of their segments, and never within a value."""

import pytest

from weft.passages.part import Part, leaves
from weft.passages.prose import split_prose

LINE = "LIN+{n}++4000{n}:EN'PIA+5+ART-{n}:SA'IMD+F++:::Screw n. {n}'DTM+2:2024{n}'QTY+21:{n}7'"
ORDER = (
    "UNB+UNOC:3+40123:14+54123:14+240801:1000+R7'UNH+1+ORDERS:D'BGM+220+PO-8841+9'DTM+137:2024'"
    + "".join(LINE.format(n=n) for n in range(40))
    + "UNS+S'UNT+310+1'UNZ+1+R7'"
)
CLAIMS = "ISA*00*    *ZZ*SENDER   *U*00401*77*0*P*>~ST*835*0001~" + "".join(
    f"CLP*CL{n}*1*{n}00*50**12*{n}~NM1*QC*1*Name{n}*Ann~DTM*232*202407{n:02d}~" for n in range(60)
)
RESULTS = "MSH|^~\\&|LAB|HOSP|EHR\rPID|1||77^^^H^MR||Garcia^Elena\r" + "".join(
    f"OBX|{n}|NM|T{n}^Analyte {n}^L||{n}.5|mg/dL|1-{n}|N|||F\r" for n in range(60)
)
LOG = " | ".join(f"10:00:{n:02d} worker-{n} job={n}77 done in {n}ms" for n in range(60))
LONG = "".join(
    f"HDR*{n}~" + "".join(f"LIN*{n}*{'x' * 30}*{m}~" for m in range(12)) for n in range(9)
)


def pieces(text: str) -> list[str]:
    found = [text[leaf.start : leaf.end] for leaf in leaves(split_prose(text))]
    assert "".join(found) == text
    return found


@pytest.mark.parametrize(
    ("text", "sign", "begins"),
    [(ORDER, "'", "LIN+"), (CLAIMS, "~", "CLP*"), (RESULTS, "\r", "OBX|"), (LOG, "| ", "10:")],
    ids=["EDIFACT", "X12", "HL7", "log"],
)
def test_a_piece_is_whole_records_of_segments(text: str, sign: str, begins: str) -> None:
    first, *middle, last = pieces(text)
    assert all(one.startswith(begins) and one.endswith(sign) for one in middle)
    assert max(map(len, (first, *middle, last))) <= 320
    counts = [leaf.count for leaf in leaves(split_prose(text))]
    assert sum(counts) == len(text.rstrip(sign).split(sign.strip(" ")))


def test_of_a_long_record_the_first_segment_is_shown_with_any_other() -> None:
    def blocks(part: Part) -> list[Part]:
        return [part] if part.unit == "block" else [b for c in part.children for b in blocks(c)]

    found = blocks(split_prose(LONG))
    heads = [LONG[part.children[0].start : part.children[0].end] for part in found]
    assert heads == [f"HDR*{n}~" for n in range(9)]
    assert all(part.children[0].identifies for part in found)


def test_an_apostrophe_in_words_ends_no_segment() -> None:
    text = "it's what we don't know that they're after when it's late and you'll see " * 30
    assert all(one.endswith(" ") for one in pieces(text))


@pytest.mark.parametrize("sign", [",", ";", "&", "|", "\t"])
def test_a_line_without_blanks_is_cut_between_its_values(sign: str) -> None:
    text = sign.join(f"k{n}=v{n * 7919}" for n in range(400))
    *before, _ = pieces(text)
    assert len(before) > 2
    assert all(one.endswith(sign) for one in before)


@pytest.mark.parametrize("place", ["BIN+{}'", "LIN+{}'"], ids=["below", "first"])
def test_a_segment_that_is_far_too_long_is_cut(place: str) -> None:
    text = ORDER.replace("UNS+S'", f"LIN+41++7:EN'{place.format('QUJD' * 2_000)}UNS+S'")
    assert max(map(len, pieces(text))) <= 1_280
