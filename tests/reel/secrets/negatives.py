"""What looks like a key and is none: hashes, ids, checksums of lock files, pictures and examples of documentation."""

import json
from base64 import b64encode
from collections.abc import Callable
from random import Random

from tests.reel.secrets.positives import HEX, LOWER, URL, WORD, some, uuid


def base64(random: Random, length: int) -> str:
    """Return the base64 of random bytes."""
    return b64encode(random.randbytes(length)).decode()


# Lines as logs, lock files and records of tools have them. Each has one hash or id.
LINES: tuple[Callable[[Random], str], ...] = (
    lambda r: f"commit {some(r, HEX, 40)}",
    lambda r: f"{some(r, HEX, 7)} Mend the cause once",
    lambda r: f"index {some(r, HEX, 10)}..{some(r, HEX, 10)} 100644",
    lambda r: f"git checkout {some(r, HEX, 40)} && make",
    lambda r: f'"commit": "{some(r, HEX, 40)}",',
    lambda r: f"https://github.com/owner/name/commit/{some(r, HEX, 40)}",
    lambda r: f'  "integrity": "sha512-{base64(r, 64)}",',
    lambda r: f"    resolution: {{integrity: sha512-{base64(r, 64)}}}",
    lambda r: f'checksum = "{some(r, HEX, 64)}"',
    lambda r: f"github.com/a/b v1.2.3 h1:{base64(r, 32)}",
    lambda r: f'    {{file = "a-1.0-py3-none-any.whl", hash = "sha256:{some(r, HEX, 64)}"}},',
    lambda r: f"    --hash=sha256:{some(r, HEX, 64)} \\",
    lambda r: f"FROM python:3.13@sha256:{some(r, HEX, 64)}",
    lambda r: f"{some(r, HEX, 32)}  archive.tar.gz",
    lambda r: f'ETag: "{some(r, HEX, 32)}"',
    lambda r: f'{{"uuid": "{uuid(r)}", "parentUuid": "{uuid(r)}"}}',
    lambda r: f"request id: {uuid(r)}",
    lambda r: f"key: {uuid(r)}",
    lambda r: f'"cache_key": "{some(r, HEX, 64)}"',
    lambda r: f"restore-keys: linux-node-{some(r, HEX, 64)}",
    lambda r: f"token={uuid(r)}",
    lambda r: f'"next_page_token": "{some(r, URL, 44)}"',
    lambda r: f"msg_01{some(r, WORD, 22)}",
    lambda r: f"toolu_01{some(r, WORD, 22)}",
    lambda r: f"req_011{some(r, WORD, 21)}",
    lambda r: f'"call_id": "call_{some(r, WORD, 24)}"',
    lambda r: f"chatcmpl-{some(r, WORD, 29)}",
    lambda r: f"resp_{some(r, HEX, 50)}",
    lambda r: f"/tmp/tmp{some(r, LOWER, 8)}/{some(r, HEX, 40)}/cache-{some(r, HEX, 8)}.json",
    lambda r: f"s3://bucket/{uuid(r)}/{some(r, HEX, 32)}.parquet",
    lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64(r, 31)} a@b",
    lambda r: f"https://a.internal/static/main.{some(r, LOWER, 20)}.js",
    lambda r: f"task-{some(r, HEX, 32)}",
    lambda r: f"disk-{some(r, LOWER, 24)}",
    lambda r: f"{some(r, LOWER, 6)}-us14 {some(r, WORD, 20)}",
    lambda r: f"SHA256:{base64(r, 32).rstrip('=')}",
    lambda r: f"sha1-{base64(r, 20)}",
    lambda r: json.dumps({"signature": base64(r, 220)}),
    lambda r: json.dumps({"encrypted_content": f"gAAAAA{some(r, URL, 180)}"}),
    lambda r: f"<script nonce='{base64(r, 16)}'>",
)
# What documentation and code write in place of a key.
EXAMPLES = (
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-ant-api03-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "export OPENAI_API_KEY=sk-your-key-goes-here-and-nowhere-else",
    "OPENAI_API_KEY=sk-...",
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_000000000000000000000000000000000000",
    "sk-1234567890abcdef1234567890abcdef",
    "ghp_9mnopqrstuvwxyz9MNOPQRSTUVWXYZ9A3k7QpZ2",
    "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxx-xxxxxxxxxxxxxxxxxxxxxxxx",
    "postgres://user:password@localhost:5432/db",
    "postgres://postgres:postgres@localhost/postgres",
    "redis://:${REDIS_PASSWORD}@cache:6379",
    "https://<user>:<token>@github.com/a/b.git",
    "https://user:%s@host/",
    "api_key = os.environ['MISTRAL_API_KEY']",
    "api_key=settings.providers2.primary3.api_key4",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: str = Field(min_length=8, max_length=128)",
    'password = getpass("Password9 of the database: ")',
    "tool --password-file /run/secrets/db2 --key-size 4096 --auth none",
    "auth: required, author: somebody2, oauth2: https://a.internal/oauth2/authorize",
    "secret_name: projects/12345/secrets/my-secret/versions/2",
    "max_tokens: 200000, stop_token: <|endoftext|>",
    "ANTHROPIC_AUTH_TOKEN=$(security find-generic-password -w)",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    f"-----BEGIN PUBLIC KEY-----\n{'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A' * 4}\n-----END PUBLIC KEY-----",
    "-----BEGIN PRIVATE KEY----- is how a private key begins, and behind it are lines that no person can read.",
    "eyJhbGciOi...",
    "sk-learn-contrib-some-long-name-of-a-package",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_API_KEY_GOES_HERE_1",
    "the risk-based approach, task-oriented: sk- is how such keys begin",
    "def test_the_secret_key_of_an_account_is_not_shown_to_another_person_2(): ...",
)


def pictures(random: Random, number: int) -> list[str]:
    """Return pictures as texts: in an address, and in an object."""
    made = (base64(random, random.randrange(600, 6000)) for _ in range(number))
    return [f"data:image/png;base64,iVBORw0KGgo{one}" if len(one) % 8 else json.dumps({"data": one}) for one in made]


def hashes(seed: int, number: int) -> list[str]:
    """Return lines with hashes and ids, of each kind the same number."""
    random = Random(seed)
    return [LINES[index % len(LINES)](random) for index in range(number)]
