"""Which attributes of a person a question asks for without their names: `where do I live?` asks for
a location."""

from __future__ import annotations

from collections.abc import Collection

from weft.terms import words

_WORDS = {
    "name": """
        call heiße nennen nenn llamo llámame llámeme nombre appelle appelez nom prénom chiamo chiami
        chiamami nome chamo chamar зовут зовите имя 名前 と申 とい 我叫 名字 叫我 名叫
    """,
    "location city town country home address": """
        live reside base locate move home wohne lebe gezogen vivo resido mudé mudado habite vis
        abito trasferito trasferita moro живу переехал переехала 住ん 我住 住在 我搬
    """,
    "employer company": """
        work employ job arbeite trabajo travaille lavoro trabalho работаю 働い 勤め 工作 上班
    """,
    "job occupation profession role title": """
        work job occupation profession arbeite beruf trabajo travaille métier lavoro trabalho
        профессия профессии 职业
    """,
    "allergy": """
        allergic eat food allergisch allergie alérgico alérgica alergia allergique allergico
        allergica аллергия アレルギー 过敏
    """,
    "diet": "eat food vegan vegetarian",
    "timezone zone": """
        time clock zeitzone horaria horaire orario horário часовой タイムゾーン 时区
    """,
    "email mail": "email mail write reach contact correo почта почты メール 邮箱 邮件",
    "phone mobile": "phone reach contact",
    "birth birthday birthdate age": """
        born birthday old age geboren nací né née nato nata nasci родился родилась 誕生 生年 生日
        出生
    """,
    "preference": "prefer favourite favorite",
}
"""Words of keys → words with which people speak of what they stand for, in the languages that the
memory-updater knows: those of its phrases, and a few with which people ask."""
_ATTRIBUTES = [
    (frozenset(words(names)), frozenset(words(spoken))) for names, spoken in _WORDS.items()
]


def asked_attributes(terms: Collection[str]) -> frozenset[str]:
    """The terms of keys that may hold what a question with these terms asks for."""
    asked = (names for names, spoken in _ATTRIBUTES if not spoken.isdisjoint(terms))
    return frozenset[str]().union(*asked)
