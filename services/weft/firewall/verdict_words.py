"""What a reply says first if its call failed, in the languages in which error fields are known."""

FAULTS = frozenset((
    "error", "failed", "failure",
    "fehler", "fehlgeschlagen",
    "erreur", "échec", "échoué",
    "errore", "fallito", "fallita",
    "fallido", "fallida", "fallo",
    "erro", "falhou", "falha",
    "fout", "mislukt",
    "fel", "fejl", "feil", "misslyckades",
    "virhe", "epäonnistui",
    "błąd", "niepowodzenie",
    "chyba", "selhalo",
    "hiba", "sikertelen",
    "hata", "ba\u015far\u0131s\u0131z",
    "lỗi", "thất bại",
    "ошибка", "неудача",
    "помилка", "невдача",
    "错误", "失败", "錯誤", "失敗",
    "エラー", "오류", "실패",
))  # fmt: skip
"""Something went wrong; many of these words are nouns, too."""
REFUSALS = frozenset((
    "rejected", "denied", "refused", "declined",
    "abgelehnt", "verweigert",
    "refusé", "refusée", "rejeté", "rejetée",
    "rifiutato", "rifiutata", "respinto", "respinta",
    "rechazado", "rechazada", "denegado", "denegada",
    "rejeitado", "rejeitada", "recusado", "recusada", "negado",
    "geweigerd", "afgewezen",
    "avvisad", "nekad", "afvist", "avvist", "avslått",
    "hylätty", "estetty",
    "odrzucono", "odrzucony", "odrzucona", "odmowa",
    "zamítnuto", "odmítnuto",
    "elutasítva",
    "reddedildi",
    "bị từ chối",
    "отклонено", "отказано",
    "відхилено", "відмовлено",
    "拒绝", "已拒绝", "拒絕", "已拒絕",
    "拒否", "却下", "거부", "거부됨", "거절",
))  # fmt: skip
"""Somebody or something said no."""
VERDICTS = FAULTS | REFUSALS
