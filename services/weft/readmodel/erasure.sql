-- name: session
SELECT number FROM sessions WHERE tenant = ? AND session = ?

-- name: sessions_of_tenant
SELECT number, session FROM sessions WHERE tenant = ?

-- name: faults_of_session
DELETE FROM faults WHERE tenant = ? AND session = ?

-- name: policies_of_session
DELETE FROM policies WHERE tenant = ? AND session = ?

-- name: newest_tombstone
SELECT coalesce(max(version), 0) FROM tombstones
