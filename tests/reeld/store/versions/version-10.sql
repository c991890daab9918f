-- A database as the daemon left it that knew version 10 of the tables.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 1919247724;
PRAGMA user_version = 10;
BEGIN TRANSACTION;
CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    title TEXT,
    tags TEXT NOT NULL,
    source INTEGER REFERENCES agents (id),
    source_at INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    killed INTEGER,
    head INTEGER NOT NULL
) STRICT;
INSERT INTO "agents" VALUES(1,'01a20760e26c772eac28f99c891b5834','demo',NULL,'{}',NULL,NULL,1795420119660,1795420119679,NULL,10);
INSERT INTO "agents" VALUES(2,'01a20760e2787d5684e7f7c4b2c00c37','twin','The twin','{}',1,7,1795420119672,1795420119689,NULL,13);
INSERT INTO "agents" VALUES(3,'01a20760e2847e35a0abd50fb20a31dc','gone',NULL,'{}',NULL,NULL,1795420119684,1795420119686,1795420119686,3);
CREATE TABLE erased_events (
    event INTEGER PRIMARY KEY,
    is_gone INTEGER NOT NULL,
    content TEXT,
    data_json TEXT,
    ref TEXT
) STRICT;
CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    agent TEXT NOT NULL,
    client TEXT,
    time INTEGER NOT NULL,
    events INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    state TEXT NOT NULL,
    backups TEXT NOT NULL,
    key TEXT UNIQUE,
    digest BLOB,
    address TEXT,
    reply BLOB
) STRICT;
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    command INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content TEXT,
    data_json TEXT,
    parent INTEGER,
    client TEXT,
    time INTEGER NOT NULL, checksum INTEGER NOT NULL DEFAULT -1, sent INTEGER, ref TEXT,
    UNIQUE (agent, seq)
) STRICT;
INSERT INTO "events" VALUES(1,1,1,1,'created',NULL,'{"name":"demo"}',NULL,'python',1795420119660,3578954794,NULL,NULL);
INSERT INTO "events" VALUES(2,1,2,1,'system','Be brief.',NULL,NULL,'python',1795420119660,598756534,NULL,NULL);
INSERT INTO "events" VALUES(3,1,3,3,'user','What is a tape deck?',NULL,2,'python',1795420119667,1850983696,NULL,NULL);
INSERT INTO "events" VALUES(4,1,4,3,'assistant','It plays cassettes. 📼',NULL,3,'python',1795420119667,2400233399,NULL,NULL);
INSERT INTO "events" VALUES(5,1,5,5,'tool_call','weather({"city":"Bern"})','{"tool_call_id":"c1","name":"weather","arguments":"{\"city\":\"Bern\"}"}',4,'python',1795420119669,1467340163,NULL,NULL);
INSERT INTO "events" VALUES(6,1,6,5,'tool_result',NULL,'{"tool_call_id":"c1","output":"sun","success":true}',5,'python',1795420119669,1940877600,NULL,NULL);
INSERT INTO "events" VALUES(7,1,7,7,'mark',NULL,'{"label":"before"}',6,'python',1795420119670,1663196730,NULL,NULL);
INSERT INTO "events" VALUES(8,2,8,8,'clone',NULL,'{"from":"01a20760e26c772eac28f99c891b5834","at":7}',7,'python',1795420119672,394674054,NULL,NULL);
INSERT INTO "events" VALUES(9,2,9,9,'user','another way',NULL,7,'python',1795420119675,2354872063,NULL,NULL);
INSERT INTO "events" VALUES(10,1,8,8,'user','later',NULL,7,'python',1795420119676,1299146575,NULL,NULL);
INSERT INTO "events" VALUES(11,1,9,9,'rewind',NULL,'{"target":7}',7,'python',1795420119678,1303139035,NULL,NULL);
INSERT INTO "events" VALUES(12,1,10,10,'restore',NULL,'{"to":8,"undoes":9}',10,'python',1795420119679,733222900,NULL,NULL);
INSERT INTO "events" VALUES(13,2,10,10,'changed',NULL,'{"name":"twin","title":"The twin"}',9,'python',1795420119681,2699177942,NULL,NULL);
INSERT INTO "events" VALUES(14,3,1,1,'created',NULL,'{"name":"gone"}',NULL,'python',1795420119684,3330300027,NULL,NULL);
INSERT INTO "events" VALUES(15,3,2,1,'user','bye',NULL,NULL,'python',1795420119684,608674444,NULL,NULL);
INSERT INTO "events" VALUES(16,3,3,3,'agent_killed',NULL,NULL,15,'python',1795420119686,475098533,NULL,NULL);
INSERT INTO "events" VALUES(17,2,11,11,'clear',NULL,NULL,NULL,'python',1795420119688,3752286514,NULL,NULL);
INSERT INTO "events" VALUES(18,2,12,11,'system','Be brief.',NULL,NULL,'python',1795420119688,333252701,NULL,NULL);
INSERT INTO "events" VALUES(19,2,13,13,'user','after the clear',NULL,18,'python',1795420119689,1072618680,NULL,NULL);
CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    agent INTEGER NOT NULL REFERENCES agents (id),
    command INTEGER NOT NULL,
    digest BLOB NOT NULL,
    reply BLOB NOT NULL
, address TEXT, about INTEGER REFERENCES agents (id)) STRICT;
INSERT INTO "keys" VALUES(2,'key-1',1,3,X'E1B903E1A43511120E01DEC2B7D29765',X'87A56167656E74D9203031613230373630653236633737326561633238663939633839316235383334A46865616404A7636F6D6D616E6403A474696D65CF000001A20760E273A5666972737403A76F727068616E7390AA6F70656E5F63616C6C7390','demo',1);
INSERT INTO "keys" VALUES(6,'key-2',2,9,X'2BA5EDB77B3628C1E08B501625BC13C4',X'87A56167656E74D9203031613230373630653237383764353638346537663763346232633030633337A46865616409A7636F6D6D616E6409A474696D65CF000001A20760E27BA5666972737409A76F727068616E7390AA6F70656E5F63616C6C7390','copy',2);
CREATE TABLE milestones (
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    records INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    speaker TEXT,
    prompt INTEGER,
    previous INTEGER,
    marked INTEGER,
    marks BLOB,
    open_calls BLOB,
    checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE purged_agents (uid TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX agents_by_living_name ON agents (name) WHERE killed IS NULL;
CREATE INDEX agents_by_name ON agents (name);
CREATE INDEX agents_by_source ON agents (source) WHERE source IS NOT NULL;
CREATE INDEX events_by_sent ON events (sent) WHERE sent IS NOT NULL;
CREATE UNIQUE INDEX events_by_ref ON events (agent, ref) WHERE ref IS NOT NULL;
CREATE INDEX events_that_clone ON events (parent, agent) WHERE kind = 'clone';
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    WHEN NOT EXISTS (SELECT 1 FROM erased_events WHERE event = OLD.id)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    WHEN NOT EXISTS (SELECT 1 FROM erased_events WHERE event = OLD.id AND is_gone)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE INDEX events_of_state ON events (agent, content, seq) WHERE kind = 'state';
CREATE INDEX events_of_unknown_kind ON events (agent, seq) WHERE kind <> 'user' AND kind <> 'assistant' AND kind <> 'tool_call' AND kind <> 'tool_result' AND kind <> 'agent_killed' AND kind <> 'changed' AND kind <> 'clear' AND kind <> 'clone' AND kind <> 'command' AND kind <> 'created' AND kind <> 'fork' AND kind <> 'interrupted' AND kind <> 'mark' AND kind <> 'note' AND kind <> 'redacted' AND kind <> 'restore' AND kind <> 'revived' AND kind <> 'rewind' AND kind <> 'state' AND kind <> 'system' AND kind <> 'tool' AND kind <> 'usage';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('agents',3);
COMMIT;
