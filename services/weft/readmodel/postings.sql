-- name: add_document
INSERT INTO documents (session, document, item, passage, version, words)
VALUES (?, ?, ?, ?, ?, ?)

-- name: add_unsealed
INSERT INTO unsealed_documents (session, document, length, terms, times) VALUES (?, ?, ?, ?, ?)

-- name: unsealed
SELECT document, length, terms, times FROM unsealed_documents
WHERE session = ? AND document >= ? AND document < ? ORDER BY document

-- name: first_unsealed
SELECT min(document) FROM unsealed_documents WHERE session = ?

-- name: drop_unsealed
DELETE FROM unsealed_documents WHERE session = ? AND document < ?

-- Of each term: the byte at which its postings begin in the entries and, in the lower 16 bits, how
-- many bytes they are. One statement, since thousands of rows take longer to bind than to write.
-- name: add_postings
INSERT INTO postings (session, term, block, entries)
SELECT :session, key, :block, substr(:entries, value >> 16, value & 0xFFFF)
FROM json_each(:terms) WHERE true
ON CONFLICT DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)

-- name: supersede
INSERT OR IGNORE INTO superseded (session, document, until)
SELECT session, document, ?1 FROM documents WHERE item = ?2

-- name: postings
SELECT block, entries FROM postings
WHERE session = ? AND term = ? AND block <= ? ORDER BY block DESC

-- Of each term: the bytes of all its blocks.
-- name: lengths
SELECT wanted.value, sum(length(p.entries))
FROM json_each(:terms) wanted
CROSS JOIN postings p ON p.session = :session AND p.term = wanted.value
GROUP BY wanted.key

-- Of each term: the bytes before a block, and that block.
-- name: lengths_until
SELECT wanted.value, coalesce(sum(length(p.entries)) FILTER (WHERE p.block < :newest), 0),
    max(p.entries) FILTER (WHERE p.block = :newest)
FROM json_each(:terms) wanted
CROSS JOIN postings p ON p.session = :session AND p.term = wanted.value AND p.block <= :newest
GROUP BY wanted.key

-- What a search begins with: the newest erasure, the session's first document that is not sealed,
-- and its last one.
-- name: begin
SELECT (SELECT coalesce(max(version), 0) FROM tombstones),
    (SELECT min(document) FROM unsealed_documents WHERE session = :session),
    d.document, d.version, d.words
FROM (SELECT 1) LEFT JOIN documents d ON d.session = :session
    AND d.document = (SELECT max(document) FROM documents WHERE session = :session)

-- name: document
SELECT version, words FROM documents WHERE session = ? AND document = ?

-- name: superseded
SELECT 1 FROM superseded WHERE session = ? AND document = ? AND until <= ?

-- name: any_superseded
SELECT 1 FROM superseded WHERE session = ? AND until <= ? LIMIT 1

-- name: items_of_documents
SELECT d.document, d.item, i.ordinal, d.passage, i.kind FROM json_each(?) wanted
CROSS JOIN documents d ON d.session = ? AND d.document = wanted.value
CROSS JOIN items i ON i.sequence = d.item
