-- Version 2: old rows, compressed; rows that are in an archive may be deleted, no others.
CREATE TABLE tradewind.archives (
    first int8 PRIMARY KEY,
    last int8 NOT NULL,
    first_at int8 NOT NULL,
    last_at int8 NOT NULL,
    before bytea NOT NULL,
    after bytea NOT NULL,
    -- The contents of an archive file: it is compressed already.
    file bytea NOT NULL
);
ALTER TABLE tradewind.archives ALTER COLUMN file SET STORAGE EXTERNAL;
CREATE FUNCTION tradewind.stays_unless_archived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF old.seq > (SELECT coalesce(max(last), 0) FROM tradewind.archives) THEN
        RAISE EXCEPTION 'rows of a journal stay';
    END IF;
    RETURN old;
END $$;
DROP TRIGGER rows_stay ON tradewind.rows;
CREATE TRIGGER rows_stay BEFORE DELETE ON tradewind.rows
    FOR EACH ROW EXECUTE FUNCTION tradewind.stays_unless_archived();
CREATE INDEX archives_last ON tradewind.archives (last);
CREATE TRIGGER archives_stay BEFORE UPDATE OR DELETE ON tradewind.archives
    FOR EACH ROW EXECUTE FUNCTION tradewind.stays();
CREATE TRIGGER archives_all_stay BEFORE TRUNCATE ON tradewind.archives
    FOR EACH STATEMENT EXECUTE FUNCTION tradewind.stays();
