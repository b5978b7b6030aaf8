-- What is in force: what still is (in the index's order, newest source first), and what ended later.
-- name: memories
SELECT m.body, m.source, m.version, m.tokens, s.session FROM (
    SELECT * FROM (
        SELECT * FROM memories
        WHERE tenant = :tenant AND type = :type AND scope = :scope AND until = :open
            AND since <= :at
        ORDER BY source DESC, version DESC LIMIT :limit)
    UNION ALL
    SELECT * FROM (
        SELECT * FROM memories
        WHERE tenant = :tenant AND type = :type AND scope = :scope
            AND until > :at AND until < :open AND since <= :at
        ORDER BY source DESC, version DESC LIMIT :limit)
) m JOIN sessions s ON s.number = m.session
ORDER BY m.source DESC, m.version DESC, m.name LIMIT :limit

-- All that was stated of one fact, whoever stated it, newest first.
-- name: statements_of_fact
SELECT m.body, m.source, m.version, m.type, s.session
FROM memories m JOIN sessions s ON s.number = m.session
WHERE m.tenant = :tenant AND m.type IN ('fact', 'user_fact') AND m.scope = :scope AND m.name = :name
    AND m.version <= :at AND (m.withdrawn IS NULL OR m.withdrawn > :at)
ORDER BY m.source DESC, m.version DESC, m.number DESC
