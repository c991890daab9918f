-- A database as the daemon wrote it that knew version 4 of the tables.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 1919247724;
PRAGMA user_version = 4;
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
INSERT INTO "agents" VALUES(1,'01a20760c33577ec909b6676d7cfdaf7','demo',NULL,'{}',NULL,NULL,1795420111669,1795420111714,NULL,10);
INSERT INTO "agents" VALUES(2,'01a20760c3487bd4be4271201b13ca59','twin','The twin','{}',1,7,1795420111688,1795420111724,NULL,13);
INSERT INTO "agents" VALUES(3,'01a20760c367702e80b2621c5b5f172e','gone',NULL,'{}',NULL,NULL,1795420111719,1795420111721,1795420111721,3);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent INTEGER NOT NULL REFERENCES agents (id),
    seq INTEGER NOT NULL,
    command INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content TEXT,
    data_json TEXT,
    parent INTEGER REFERENCES events (id),
    client TEXT,
    time INTEGER NOT NULL, checksum INTEGER NOT NULL DEFAULT -1,
    UNIQUE (agent, seq)
) STRICT;
INSERT INTO "events" VALUES(1,1,1,1,'created',NULL,'{"name":"demo"}',NULL,'python',1795420111669,1266317465);
INSERT INTO "events" VALUES(2,1,2,1,'system','Be brief.',NULL,NULL,'python',1795420111669,3180900357);
INSERT INTO "events" VALUES(3,1,3,3,'user','What is a tape deck?',NULL,2,'python',1795420111674,3989580231);
INSERT INTO "events" VALUES(4,1,4,3,'assistant','It plays cassettes. 📼',NULL,3,'python',1795420111674,210717536);
INSERT INTO "events" VALUES(5,1,5,5,'tool_call','weather({"city":"Bern"})','{"tool_call_id":"c1","name":"weather","arguments":"{\"city\":\"Bern\"}"}',4,'python',1795420111678,988043384);
INSERT INTO "events" VALUES(6,1,6,5,'tool_result',NULL,'{"tool_call_id":"c1","output":"sun","success":true}',5,'python',1795420111678,507444443);
INSERT INTO "events" VALUES(7,1,7,7,'mark',NULL,'{"label":"before"}',6,'python',1795420111683,3104739322);
INSERT INTO "events" VALUES(8,2,8,8,'clone',NULL,'{"from":"01a20760c33577ec909b6676d7cfdaf7","at":7}',7,'python',1795420111688,2247451375);
INSERT INTO "events" VALUES(9,2,9,9,'user','another way',NULL,7,'python',1795420111700,2870105669);
INSERT INTO "events" VALUES(10,1,8,8,'user','later',NULL,7,'python',1795420111708,4204679780);
INSERT INTO "events" VALUES(11,1,9,9,'rewind',NULL,'{"target":7}',7,'python',1795420111712,993819227);
INSERT INTO "events" VALUES(12,1,10,10,'restore',NULL,'{"to":8,"undoes":9}',10,'python',1795420111714,3291311822);
INSERT INTO "events" VALUES(13,2,10,10,'changed',NULL,'{"name":"twin","title":"The twin"}',9,'python',1795420111716,4229770434);
INSERT INTO "events" VALUES(14,3,1,1,'created',NULL,'{"name":"gone"}',NULL,'python',1795420111719,1931279962);
INSERT INTO "events" VALUES(15,3,2,1,'user','bye',NULL,NULL,'python',1795420111719,2447049901);
INSERT INTO "events" VALUES(16,3,3,3,'agent_killed',NULL,NULL,15,'python',1795420111721,2692450223);
INSERT INTO "events" VALUES(17,2,11,11,'clear',NULL,NULL,NULL,'python',1795420111722,490524549);
INSERT INTO "events" VALUES(18,2,12,11,'system','Be brief.',NULL,NULL,'python',1795420111722,3511066346);
INSERT INTO "events" VALUES(19,2,13,13,'user','after the clear',NULL,18,'python',1795420111724,1662115756);
CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    agent INTEGER NOT NULL REFERENCES agents (id),
    command INTEGER NOT NULL,
    digest BLOB NOT NULL,
    reply BLOB NOT NULL
, address TEXT, about INTEGER REFERENCES agents (id)) STRICT;
INSERT INTO "keys" VALUES(2,'key-1',1,3,X'93BDA9A3C55E53F7CFF7CBAA3A488B7E',X'87A56167656E74D9203031613230373630633333353737656339303962363637366437636664616637A46865616404A7636F6D6D616E6403A474696D65CF000001A20760C33AA5666972737403A76F727068616E7390AA6F70656E5F63616C6C7390','demo',1);
INSERT INTO "keys" VALUES(6,'key-2',2,9,X'91F3ED5AFF2E6158605E43C7E390571A',X'87A56167656E74D9203031613230373630633334383762643462653432373132303162313363613539A46865616409A7636F6D6D616E6409A474696D65CF000001A20760C354A5666972737409A76F727068616E7390AA6F70656E5F63616C6C7390','copy',2);
CREATE UNIQUE INDEX agents_by_living_name ON agents (name) WHERE killed IS NULL;
CREATE INDEX agents_by_name ON agents (name);
CREATE INDEX agents_by_source ON agents (source) WHERE source IS NOT NULL;
CREATE INDEX events_of_unknown_kind ON events (agent, seq) WHERE kind <> 'user' AND kind <> 'assistant' AND kind <> 'tool_call' AND kind <> 'tool_result' AND kind <> 'agent_killed' AND kind <> 'changed' AND kind <> 'clear' AND kind <> 'clone' AND kind <> 'command' AND kind <> 'created' AND kind <> 'fork' AND kind <> 'interrupted' AND kind <> 'mark' AND kind <> 'note' AND kind <> 'restore' AND kind <> 'revived' AND kind <> 'rewind' AND kind <> 'system' AND kind <> 'tool' AND kind <> 'usage';
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('agents',3);
INSERT INTO "sqlite_sequence" VALUES('events',19);
COMMIT;
