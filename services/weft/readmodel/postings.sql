-- name: add_document
INSERT INTO documents (session, document, item, version, words) VALUES (?, ?, ?, ?, ?)

-- name: add_tail
INSERT INTO tail (session, document, length, terms) VALUES (?, ?, ?, ?)

-- name: tail
SELECT document, length, terms FROM tail
WHERE session = ? AND document >= ? ORDER BY document

-- name: drop_tail
DELETE FROM tail WHERE session = ? AND document < ?

-- name: add_postings
INSERT INTO postings (session, term, block, before, entries)
VALUES (?1, ?2, ?3,
    coalesce((SELECT before + length(entries) / 4 FROM postings
              WHERE session = ?1 AND term = ?2 AND block < ?3 ORDER BY block DESC LIMIT 1), 0),
    ?4)
ON CONFLICT DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)

-- name: documents_of_item
SELECT session, document FROM documents WHERE item = ?

-- name: supersede
INSERT OR IGNORE INTO superseded (session, document, until) VALUES (?, ?, ?)

-- name: postings
SELECT before, block, entries FROM postings
WHERE session = ? AND term = ? AND block <= ? ORDER BY block DESC

-- name: last_document
SELECT document, version, words FROM documents WHERE session = ? ORDER BY document DESC LIMIT 1

-- name: document
SELECT version, words FROM documents WHERE session = ? AND document = ?

-- name: superseded
SELECT document FROM superseded WHERE session = ? AND until <= ?

-- name: items_of_documents
SELECT d.document, d.item, i.ordinal FROM documents d JOIN items i ON i.sequence = d.item
WHERE d.session = ? AND d.document IN (SELECT value FROM json_each(?))
