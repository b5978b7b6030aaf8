-- What every view begins with.
-- name: begin
SELECT m.value, (SELECT value FROM meta WHERE name = 'encoding'),
    coalesce(s.number, 0), coalesce(s.items, 0), coalesce(s.documents, 0), coalesce(s.words, 0)
FROM (SELECT 1)
LEFT JOIN meta m ON m.name = 'checkpoint'
LEFT JOIN sessions s ON s.tenant = :tenant AND s.session = :session

-- name: item
SELECT i.sequence, i.ordinal, i.id, i.kind, i.text, i.tokens, i.outline, i.parent_id, i.sensitivity,
    i.metadata, i.published_ns, i.untrusted,
    e.version, e.tokens, e.body, s.version, s.tokens, s.text,
    CASE WHEN i.untrusted AND e.version IS NULL THEN EXISTS (
        SELECT 1 FROM waits w WHERE w.item = i.sequence AND w.since <= :at AND w.until > :at
    ) END,
    b.tokens, b.characters, coalesce(b.outline, e.outline), b.packed,
    (SELECT max(rank) FROM levels
        WHERE item = i.sequence AND version <= :at AND until > :at),
    CASE WHEN i.body IS NOT NULL AND NOT i.untrusted THEN i.size ELSE 0 END
FROM items i
LEFT JOIN envelopes e ON e.version = (
    SELECT max(version) FROM envelopes WHERE item = i.sequence AND version <= :at)
LEFT JOIN bodies b ON b.version = e.version
LEFT JOIN summaries s ON s.version = (
    SELECT max(version) FROM summaries WHERE item = i.sequence AND version <= :at)

-- name: of_kind
WHERE i.session = :session AND i.kind = :kind AND i.ordinal < :count
ORDER BY i.ordinal DESC LIMIT :limit

-- name: first_of_kind
WHERE i.session = :session AND i.kind = :kind AND i.ordinal < :count
ORDER BY i.ordinal LIMIT 1

-- name: pinned
WHERE i.sequence IN (
    SELECT item FROM pins WHERE session = :session AND item <= :at ORDER BY item DESC LIMIT :limit)
ORDER BY i.sequence

-- name: span
WHERE i.session = :session AND i.ordinal BETWEEN :first AND :last
ORDER BY i.ordinal

-- The plus, here and below, keeps SQLite from walking the whole session by an index.
-- name: places
WHERE i.session = :session AND i.ordinal IN (SELECT value FROM json_each(:numbers))
    AND +i.ordinal < :count
ORDER BY i.ordinal

-- name: by_sequence
WHERE i.sequence IN (SELECT value FROM json_each(:numbers))
    AND +i.session = :session AND i.sequence <= :at
ORDER BY i.sequence

-- name: by_id
WHERE i.session = :session AND i.id IN (SELECT value FROM json_each(:ids)) AND i.sequence <= :at
ORDER BY i.sequence

-- name: children
WHERE i.session = :session AND i.parent_id IN (SELECT value FROM json_each(:ids))
    AND i.sequence <= :at
ORDER BY i.sequence

-- The newest items with any, newest first.
-- name: flags
SELECT item, body, max(version) FROM flags
WHERE session = :session AND version <= :at GROUP BY item ORDER BY item DESC LIMIT :limit

-- name: sequence_of_ordinal
SELECT sequence FROM items WHERE session = ? AND ordinal = ?

-- name: item_of_document
SELECT item FROM documents WHERE session = ? AND document = ?

-- name: erased
SELECT max(version) FROM tombstones
WHERE tenant = :tenant AND session IN (:session, '') AND version <= :at

-- name: pending
SELECT item FROM waits WHERE session = :session AND until > :at AND since <= :at

-- name: scopes
SELECT scope FROM scopes WHERE session = ? AND sequence <= ? ORDER BY sequence, scope

-- The tenant's, and the session's own.
-- name: policies
SELECT session, version, body FROM policies WHERE version IN (
    (SELECT max(version) FROM policies
    WHERE tenant = :tenant AND session = :session AND version <= :at),
    (SELECT max(version) FROM policies
    WHERE tenant = :tenant AND session = '' AND version <= :at))

-- name: grants
SELECT body FROM grants WHERE tenant = ? ORDER BY version DESC LIMIT 1

-- name: catalog_size
SELECT length(body) FROM catalogs
WHERE tenant = :tenant AND name = :name AND version <= :at ORDER BY version DESC LIMIT 1

-- name: catalog
SELECT version, body FROM catalogs
WHERE tenant = :tenant AND name = :name AND version <= :at ORDER BY version DESC LIMIT 1
