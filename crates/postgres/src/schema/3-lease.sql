-- Version 3: the owner's lease, by this server's clock, and where the owner can be reached.
ALTER TABLE tradewind.owner
    ADD COLUMN until timestamptz NOT NULL DEFAULT '-infinity',
    -- A daemon's folder and its process: `FOLDER/PROCESS`.
    ADD COLUMN holder text NOT NULL DEFAULT '',
    ADD COLUMN url text NOT NULL DEFAULT '';
-- Which folder has what a site's adapter must remember. Without it a site is not used.
CREATE TABLE tradewind.site_folders (
    site text PRIMARY KEY,
    folder text NOT NULL
);
