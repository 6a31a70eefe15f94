-- Version 1: the journal, its owner and its snapshots.
CREATE TABLE tradewind.meta (
    id int4 PRIMARY KEY CHECK (id = 1),
    -- Version of these tables.
    format int4 NOT NULL,
    market text NOT NULL,
    created int8 NOT NULL
);
-- Which daemon may write: each opening for writing raises the epoch.
CREATE TABLE tradewind.owner (
    id int4 PRIMARY KEY CHECK (id = 1),
    epoch int8 NOT NULL,
    since timestamptz NOT NULL
);
CREATE TABLE tradewind.rows (
    seq int8 PRIMARY KEY CHECK (seq > 0),
    at int8 NOT NULL,
    body bytea NOT NULL,
    chain bytea NOT NULL CHECK (octet_length(chain) = 32)
);
CREATE TABLE tradewind.snapshots (
    seq int8 PRIMARY KEY,
    at int8 NOT NULL,
    version int8 NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE tradewind.pages (
    kind int2 NOT NULL,
    number int8 NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (kind, number)
);
-- Rows are only ever added: that is the database's business too.
CREATE FUNCTION tradewind.stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of a journal stay as they are';
END $$;
CREATE TRIGGER rows_keep BEFORE UPDATE ON tradewind.rows
    FOR EACH ROW EXECUTE FUNCTION tradewind.stays();
CREATE TRIGGER rows_stay BEFORE DELETE ON tradewind.rows
    FOR EACH ROW EXECUTE FUNCTION tradewind.stays();
CREATE TRIGGER rows_all_stay BEFORE TRUNCATE ON tradewind.rows
    FOR EACH STATEMENT EXECUTE FUNCTION tradewind.stays();
