-- Everything of one tenant (?1) that belongs to no session.
DELETE FROM memories WHERE tenant = ?1;
DELETE FROM policies WHERE tenant = ?1;
DELETE FROM catalogs WHERE tenant = ?1;
DELETE FROM grants WHERE tenant = ?1;
DELETE FROM artifacts WHERE tenant = ?1;
DELETE FROM faults WHERE tenant = ?1;
