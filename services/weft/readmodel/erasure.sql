-- name: memories_of_session
SELECT number, tenant, type, scope, name, until FROM memories WHERE session = ?

-- All that belongs to it goes by triggers.
-- name: delete_session
DELETE FROM sessions WHERE number = ?

-- name: sessions_of_tenant
SELECT session FROM sessions WHERE tenant = ?

-- name: rows_of_tenant
DELETE FROM memories WHERE tenant = ?;
DELETE FROM policies WHERE tenant = ?;
DELETE FROM catalogs WHERE tenant = ?;
DELETE FROM grants WHERE tenant = ?;
DELETE FROM artifacts WHERE tenant = ?;
DELETE FROM faults WHERE tenant = ?

-- name: rows_of_session
DELETE FROM faults WHERE tenant = ? AND session = ?;
DELETE FROM policies WHERE tenant = ? AND session = ?

-- name: newest_tombstone
SELECT coalesce(max(version), 0) FROM tombstones

-- name: forks
SELECT DISTINCT i.metadata ->> '$.forked_from.session', s.session
FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = ? AND i.metadata ->> '$.forked_from.session' IS NOT NULL

-- name: items_before
SELECT count(*) FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = :tenant AND (:session IS NULL OR s.session = :session) AND i.sequence < :before
