-- Version 4: what is remembered of sites, and the epoch that orders to them carry.
ALTER TABLE tradewind.owner
    -- That of a term of ownership: it stays when the owner's connection was lost and is opened again.
    ADD COLUMN term int8 NOT NULL DEFAULT 0;
-- A site whose folder in `site_folders` is `database` has its notes here.
CREATE TABLE tradewind.site_notes (
    site text NOT NULL,
    kind int2 NOT NULL,
    key text NOT NULL,
    body text NOT NULL,
    place int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (site, kind, key)
);
