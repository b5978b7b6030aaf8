# ruff: noqa: RUF001
"""What people say of themselves in other languages than English, and what they do not."""

import json
from pathlib import Path

import pytest

from weft.memory.derive import facts_said
from weft.memory.languages import PLACE, Languages, languages_with, own_languages
from weft.runtime.settings import read_settings
from weft_schemas.errors import ConfigurationError


def stated(text: str, languages: Languages | None = None) -> dict[str, str]:
    """Values by key."""
    return {one.key: one.value for one in facts_said(text, "user", languages)}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "Hola, me llamo Ana García y vivo en Madrid.",
            {"name": "Ana García", "location": "Madrid"},
        ),
        (
            "Soy alérgica a los cacahuetes. Nací el 3 de mayo de 1990.",
            {"allergy_cacahuetes": "cacahuetes", "birth_date": "3 de mayo de 1990"},
        ),
        ("Ich heiße Anna und wohne in Berlin.", {"name": "Anna", "location": "Berlin"}),
        ("Übrigens, ich bin gegen Nüsse allergisch!", {"allergy_nüsse": "Nüsse"}),
        (
            "Bonjour ! Je m’appelle Élodie, je travaille chez Renault.",
            {"name": "Élodie", "employer": "Renault"},
        ),
        ("Ciao, mi chiamo Luca e lavoro come ingegnere", {"name": "Luca", "job": "ingegnere"}),
        ("Oi, meu nome é João e moro em São Paulo", {"name": "João", "location": "São Paulo"}),
        (
            "Меня зовут Анна, моя почта anna@example.ru.",
            {"name": "Анна", "email": "anna@example.ru"},
        ),
        (
            "你好，我叫王伟，我住在上海。我对花生过敏。",
            {"name": "王伟", "location": "上海", "allergy_花生": "花生"},
        ),
        (
            "こんにちは。私の名前は田中です。東京に住んでいます。",
            {"name": "田中", "location": "東京"},
        ),
        ("MI ZONA HORARIA ES Europe/Madrid", {"timezone": "Europe/Madrid"}),
    ],
)
def test_said(text: str, facts: dict[str, str]) -> None:
    assert stated(text) == {f"user_{key}": value for key, value in facts.items()}


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Ich bin nicht mehr allergisch gegen Nüsse.", "allergy_nüsse", "Nüsse"),
        ("Ich bin gegen Nüsse nicht mehr allergisch.", "allergy_nüsse", "Nüsse"),
        ("Übrigens, ich wohne nicht mehr in Berlin!", "location", "Berlin"),
        ("Ya no vivo en Madrid.", "location", "Madrid"),
        ("No me llamo Ana.", "name", "Ana"),
        ("Je n’habite plus à Paris.", "location", "Paris"),
        ("Non lavoro più per Fiat", "employer", "Fiat"),
        ("Eu já não moro em Lisboa.", "location", "Lisboa"),
        ("Я больше не работаю в Яндексе.", "employer", "Яндексе"),
        ("У меня больше нет аллергии на орехи.", "allergy_орехи", "орехи"),
        ("我不住在上海了。", "location", "上海"),
        ("我对花生不过敏。", "allergy_花生", "花生"),
        ("私はもう東京に住んでいません。", "location", "東京"),
        ("卵アレルギーではありません。", "allergy_卵", "卵"),
        ("Ich habe keine Allergie mehr gegen Nüsse.", "allergy_nüsse", "Nüsse"),
        ("Ich habe keine Allergie gegen Nüsse mehr.", "allergy_nüsse", "Nüsse"),
        ("Ya no tengo alergia a los cacahuetes.", "allergy_cacahuetes", "cacahuetes"),
        ("Je n'ai plus d'allergie aux arachides.", "allergy_arachides", "arachides"),
        ("Non ho più l’allergia alle noci.", "allergy_noci", "noci"),
        ("Non sono più allergica al lattosio.", "allergy_lattosio", "lattosio"),
        ("Não sou mais alérgico ao leite.", "allergy_leite", "leite"),
        ("У меня прошла аллергия на орехи.", "allergy_орехи", "орехи"),
        ("卵アレルギーが治りました。", "allergy_卵", "卵"),
        ("我已经不对花生过敏了。", "allergy_花生", "花生"),
    ],
)
def test_a_negated_statement_withdraws_its_value(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", "", (value,))]


@pytest.mark.parametrize(
    ("text", "things"),
    [
        (
            "Soy alérgica a los cacahuetes, los mariscos y la penicilina.",
            ["cacahuetes", "mariscos", "penicilina"],
        ),
        ("Soy alérgico a nueces, mariscos y leche", ["nueces", "mariscos", "leche"]),
        ("Ich bin allergisch gegen Nüsse, Milch und Eier.", ["Nüsse", "Milch", "Eier"]),
        ("Ich bin gegen Nüsse und Milch allergisch", ["Nüsse", "Milch"]),
        ("Ich habe eine Allergie gegen Nüsse und Milch", ["Nüsse", "Milch"]),
        ("Tengo alergia al marisco y a las nueces", ["marisco", "nueces"]),
        ("J'ai une allergie aux noix", ["noix"]),
        (
            "Je suis allergique aux noix, aux œufs et à la pénicilline.",
            ["noix", "œufs", "pénicilline"],
        ),
        ("Sono allergico alle noci e alla penicillina", ["noci", "penicillina"]),
        ("Sou alérgica a nozes e a camarão.", ["nozes", "camarão"]),
        ("У меня аллергия на орехи, молоко и яйца.", ["орехи", "молоко", "яйца"]),
        ("我对花生、牛奶和鸡蛋过敏。", ["花生", "牛奶", "鸡蛋"]),
        ("卵、牛乳と小麦アレルギーです。", ["卵", "牛乳", "小麦"]),
        # What follows is no thing of the list.
        ("Soy alérgica a las nueces y tengo hambre", ["nueces"]),
        ("Soy alérgica a las nueces, gracias", ["nueces"]),
        ("Ich bin allergisch gegen Nüsse und habe Hunger", ["Nüsse"]),
        ("Ich bin allergisch gegen Nüsse, danke", ["Nüsse"]),
    ],
)
def test_each_thing_that_somebody_is_allergic_to_is_a_fact(text: str, things: list[str]) -> None:
    named = [(f"user_allergy_{one.casefold()}", one, ()) for one in things]
    assert facts_said(text) == named


def test_after_a_list_another_clause_is_understood() -> None:
    text = "Ich bin allergisch gegen Nüsse und Milch, wohne in Berlin."
    assert stated(text)["user_location"] == "Berlin"
    assert len(stated(text)) == 3


def test_several_allergies_are_denied_at_once_in_other_languages() -> None:
    assert facts_said("Ich bin nicht mehr allergisch gegen Nüsse und Milch.") == [
        ("user_allergy_nüsse", "", ("Nüsse",)),
        ("user_allergy_milch", "", ("Milch",)),
    ]


@pytest.mark.parametrize("text", ["Meine Zeitzone ist egal", "Nací el martes", "誕生日は明日です"])
def test_a_value_without_the_form_of_its_key_teaches_nothing(text: str) -> None:
    assert facts_said(text) == []


def test_what_only_looks_like_a_negation_is_a_value() -> None:
    assert stated("我住在不丹") == {"user_location": "不丹"}


@pytest.mark.parametrize(
    "text",
    [
        "¿Me llamo Ana?",
        "Me llamo Ana, ¿verdad?",
        "Si me llamo Ana, dime.",
        "Dice que me llamo Ana.",
        "Mi hermano dice una cosa y me llamo Ana",
        "“Me llamo Ana”, dijo.",
        "El correo dice: me llamo Ana",
        "¿Ya no vivo en Madrid?",
        "Si ya no vivo en Madrid, dime.",
        "Dice que ya no vivo en Madrid.",
        "Wenn ich in Rom wäre, heiße ich Anna.",
        "Ich wohne in der Nähe",
        "Mein Name ist nicht wichtig",
        "> Ich heiße Anna",
        "Elle écrit je m'appelle Élodie",
        "Se mi chiamo Luca, va bene.",
        "我叫王伟吗？",
        "如果我叫王伟就好了",
        "他说我叫王伟",
        "もし私の名前は田中ですなら",
        "Меня зовут Анна?",
        "Mi correo es ese mismo",
        "Me llamo Ana\nVivo en Madrid",
    ],
)
def test_not_said(text: str) -> None:
    assert facts_said(text) == []


VALUES = {"email": "Anna@example.org", "timezone": "UTC", "birth_date": "3.5.1990"}
"""Values in the form of their keys."""


@pytest.mark.parametrize("name", sorted(own_languages()))
def test_every_phrase_is_understood_alone_behind_a_greeting_and_not_when_asked(name: str) -> None:
    language = own_languages()[name]
    gap = " " if language.is_spaced else ""
    for is_denied, listed in ((False, language.says), (True, language.denies)):
        for key, phrase in ((name, one) for name, phrases in listed.items() for one in phrases):
            value = VALUES.get(key, "Anna")
            said = (
                " ".join(phrase.replace(PLACE, f" {value} ").split())
                if gap
                else phrase.replace(PLACE, value)
            )
            named = f"{key}_anna" if key == "allergy" else key
            found = [(f"user_{named}", *(("", (value,)) if is_denied else (value, ())))]
            assert facts_said(said) == found, said
            assert facts_said(f"{language.before[0]}, {said}.") == found, said
            assert facts_said(f"{said}?") == [], said
            assert facts_said(f"{language.imagines[0]}{gap}{said}") == [], said


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Ich wohne nicht in Berlin, sondern in Hamburg.", "location", "Hamburg"),
        ("Ich wohne nicht mehr in Berlin sondern in Hamburg", "location", "Hamburg"),
        ("Nenn mich nicht Bob, sondern Rob", "name", "Rob"),
        ("Nenn mich nicht Bob, nenn mich Rob", "name", "Rob"),
        ("Ich arbeite nicht als Lehrer, sondern als Arzt", "job", "Arzt"),
        ("No me llamo Ana, sino Eva.", "name", "Eva"),
        ("No vivo en Madrid sino en Sevilla", "location", "Sevilla"),
        ("Je n'habite pas à Paris mais à Lyon", "location", "Lyon"),
        ("Je ne m'appelle pas Ada, mais Eva.", "name", "Eva"),
        ("Non abito a Roma, ma a Milano", "location", "Milano"),
        ("Non mi chiamo Luca bensì Marco", "name", "Marco"),
        ("Não moro em Lisboa, mas em Braga", "location", "Braga"),
        ("Não me chamo Ana, mas sim Eva", "name", "Eva"),
        ("Я живу не в Москве, а в Казани", "location", "Казани"),
        ("Я не живу в Москве, а в Казани", "location", "Казани"),
        ("Меня зовут не Анна, а Ева", "name", "Ева"),
        ("我不叫小明，而是叫小红", "name", "小红"),
        ("我不住在北京，而是住在上海", "location", "上海"),
        ("私の名前は田中ではなく佐藤です", "name", "佐藤"),
        ("東京ではなく大阪に住んでいます", "location", "大阪"),
    ],
)
def test_what_is_said_instead_is_learned(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", value, ())]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Ich wohne nicht in Berlin, aber in Hamburg ist es schön", "location", "Berlin"),
        ("Ich wohne nicht in Berlin, sondern arbeite nur dort", "location", "Berlin"),
        ("Ich arbeite nicht als Lehrer, sondern gar nicht", "job", "Lehrer"),
        ("Je n'habite pas à Paris, mais Anna oui", "location", "Paris"),
        ("Я не живу в Москве, а Анна живёт", "location", "Москве"),
        ("Non abito a Roma, ma mi piace", "location", "Roma"),
    ],
)
def test_nothing_is_guessed_where_it_may_be_something_else(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", "", (value,))]


@pytest.mark.parametrize("name", sorted(own_languages()))
def test_every_language_can_say_something_instead(name: str) -> None:
    language = own_languages()[name]
    assert language.corrects or language.instead_of


@pytest.mark.parametrize("name", sorted(own_languages()))
def test_what_can_be_said_can_be_denied(name: str) -> None:
    language = own_languages()[name]
    assert language.denies.keys() == language.says.keys()


def test_a_newer_value_in_another_language_has_the_same_key() -> None:
    assert facts_said("I live in Lisbon")[0][0] == facts_said("Vivo en Lisboa")[0][0]


def test_what_belongs_to_an_author_has_his_name() -> None:
    assert facts_said("Me llamo Ana", "guest") == [("guest_name", "Ana", ())]


def test_a_file_adds_replaces_and_takes_away(tmp_path: Path) -> None:
    file = tmp_path / "languages.json"
    dutch = {
        "says": {"name": ["ik heet …"]},
        "denies": {"name": ["ik heet niet meer …"]},
        "joins": ["en"],
    }
    file.write_text(json.dumps({"nl": dutch, "es": {"says": {}}}))
    languages = languages_with(read_settings({"WEFT_MEMORY_LANGUAGES": str(file)}).memory_languages)
    assert stated("Ik heet Anna en werk", languages) == {"user_name": "Anna"}
    assert facts_said("Ik heet niet meer Anna", "user", languages) == [("user_name", "", ("Anna",))]
    assert facts_said("Me llamo Ana", "user", languages) == []
    assert stated("Mi chiamo Luca", languages) == {"user_name": "Luca"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"nl": {"says": {"name": ["ik heet"]}}}',
        '{"nl": {"say": {}}}',
        "\xff",
        '{"nl": {"says": {}, "denies": {"name": ["ik heet niet"]}}}',
    ],
)
def test_a_file_that_cannot_be_used_is_named(content: str, tmp_path: Path) -> None:
    file = tmp_path / "languages.json"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"languages\.json cannot be used"):
        languages_with(file)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        languages_with(tmp_path / "missing.json")
