"""Keys as the services document them, with random bodies, in the places where conversations have them.

Nothing here is taken from the table of shapes: what a service says of its keys is written down a second time.
"""

import json
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

WORD = string.ascii_letters + string.digits
URL = WORD + "-_"
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits


class Positive(NamedTuple):
    """A text with a secret, and what of it has to be found."""

    service: str
    secret: str
    text: str


def some(random: Random, alphabet: str, length: int) -> str:
    """Return random characters."""
    return "".join(random.choices(alphabet, k=length))


def uuid(random: Random) -> str:
    """Return a random UUID."""
    return "-".join(some(random, HEX, length) for length in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    """Return a JSON Web Token."""
    parts = {"alg": "HS256", "typ": "JWT"}, {"sub": some(random, string.digits, 10), "iat": random.randrange(10**9)}
    head = ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{some(random, URL, 43)}"


def pem(random: Random, of: str) -> str:
    """Return a private key as a file has it."""
    lines = [some(random, WORD + "+/", 64) for _ in range(random.randrange(3, 26))]
    return "\n".join([f"-----BEGIN {of}PRIVATE KEY-----", *lines, f"-----END {of}PRIVATE KEY-----"])


# By service: how it makes a key.
KEYS: dict[str, Callable[[Random], str]] = {
    "Anthropic": lambda r: f"sk-ant-api03-{some(r, URL, 93)}AA",
    "Anthropic admin": lambda r: f"sk-ant-admin01-{some(r, URL, 93)}AA",
    "Claude Code": lambda r: f"sk-ant-oat01-{some(r, URL, 93)}AA",
    "OpenAI": lambda r: f"sk-{some(r, WORD, 20)}T3BlbkFJ{some(r, WORD, 20)}",
    "OpenAI project": lambda r: f"sk-proj-{some(r, URL, 74)}T3BlbkFJ{some(r, URL, 74)}",
    "OpenAI service account": lambda r: f"sk-svcacct-{some(r, URL, 58)}T3BlbkFJ{some(r, URL, 58)}",
    "DeepSeek": lambda r: f"sk-{some(r, HEX, 32)}",
    "OpenRouter": lambda r: f"sk-or-v1-{some(r, HEX, 64)}",
    "Google": lambda r: f"AIza{some(r, URL, 35)}",
    "Groq": lambda r: f"gsk_{some(r, WORD, 52)}",
    "xAI": lambda r: f"xai-{some(r, WORD, 80)}",
    "Perplexity": lambda r: f"pplx-{some(r, WORD, 48)}",
    "Hugging Face": lambda r: f"hf_{some(r, string.ascii_letters, 34)}",
    "Replicate": lambda r: f"r8_{some(r, WORD, 37)}",
    "NVIDIA": lambda r: f"nvapi-{some(r, URL, 64)}",
    "Pinecone": lambda r: f"pcsk_{some(r, WORD, 6)}_{some(r, WORD, 63)}",
    "Azure DevOps": lambda r: f"{some(r, WORD, 76)}AZDO{some(r, WORD, 4)}",
    "Firebase": lambda r: f"{some(r, URL, 11)}:APA91b{some(r, URL, 134)}",
    "Cerebras": lambda r: f"csk-{some(r, LOWER, 48)}",
    "Tavily": lambda r: f"tvly-dev-{some(r, WORD, 32)}",
    "Firecrawl": lambda r: f"fc-{some(r, HEX, 32)}",
    "LangSmith": lambda r: f"lsv2_pt_{some(r, HEX, 32)}_{some(r, HEX, 10)}",
    "Langfuse": lambda r: f"sk-lf-{uuid(r)}",
    "ElevenLabs": lambda r: f"sk_{some(r, HEX, 48)}",
    "Cursor": lambda r: f"key_{some(r, HEX, 64)}",
    "AWS": lambda r: f"AKIA{some(r, string.ascii_uppercase + '234567', 16)}",
    "AWS for a session": lambda r: f"ASIA{some(r, string.ascii_uppercase + '234567', 16)}",
    "Bedrock": lambda r: f"ABSK{b64encode(r.randbytes(93)).decode()}",
    "Google OAuth": lambda r: f"ya29.{some(r, URL, 140)}",
    "Google client": lambda r: f"GOCSPX-{some(r, URL, 28)}",
    "Azure AD": lambda r: f"{some(r, WORD, 3)}8Q~{some(r, WORD + '_~.-', 34)}",
    "DigitalOcean": lambda r: f"dop_v1_{some(r, HEX, 64)}",
    "Heroku": lambda r: f"HRKU-AA{some(r, URL, 58)}",
    "Fly": lambda r: f"fm2_{b64encode(r.randbytes(180)).decode()}",
    "Alibaba": lambda r: f"LTAI{some(r, WORD, 20)}",
    "PlanetScale": lambda r: f"pscale_tkn_{some(r, URL, 43)}",
    "Supabase": lambda r: f"sbp_{some(r, HEX, 40)}",
    "Vercel": lambda r: f"vcp_{some(r, WORD, 56)}",
    "Netlify": lambda r: f"nfp_{some(r, WORD, 36)}",
    "Vault": lambda r: f"hvs.{some(r, URL, 95)}",
    "Terraform": lambda r: f"{some(r, WORD, 14)}.atlasv1.{some(r, URL, 67)}",
    "Doppler": lambda r: f"dp.pt.{some(r, WORD, 43)}",
    "Pulumi": lambda r: f"pul-{some(r, HEX, 40)}",
    "Databricks": lambda r: f"dapi{some(r, HEX, 32)}",
    "Grafana": lambda r: f"glsa_{some(r, WORD, 32)}_{some(r, HEX, 8)}",
    "Sentry": lambda r: f"sntryu_{some(r, HEX, 64)}",
    "New Relic": lambda r: f"NRAK-{some(r, UPPER, 27)}",
    "Tailscale": lambda r: f"tskey-auth-{some(r, WORD, 12)}CNTRL-{some(r, WORD, 32)}",
    "GitHub": lambda r: f"ghp_{some(r, WORD, 36)}",
    "GitHub OAuth": lambda r: f"gho_{some(r, WORD, 36)}",
    "GitHub app": lambda r: f"ghs_{some(r, WORD, 36)}",
    "GitHub fine-grained": lambda r: f"github_pat_{some(r, WORD, 22)}_{some(r, WORD, 59)}",
    "GitLab": lambda r: f"glpat-{some(r, URL, 20)}",
    "GitLab runner": lambda r: f"glrt-{some(r, URL, 20)}",
    "Atlassian": lambda r: f"ATATT3xFfGF0{some(r, URL, 171)}={some(r, UPPER, 8)}",
    "npm": lambda r: f"npm_{some(r, WORD, 36)}",
    "PyPI": lambda r: f"pypi-AgEIcHlwaS5vcmc{some(r, URL, 150)}",
    "RubyGems": lambda r: f"rubygems_{some(r, HEX, 48)}",
    "crates.io": lambda r: f"cio{some(r, WORD, 32)}",
    "NuGet": lambda r: f"oy2{some(r, LOWER, 43)}",
    "Docker": lambda r: f"dckr_pat_{some(r, URL, 27)}",
    "CircleCI": lambda r: f"CCIPAT_{some(r, WORD, 22)}_{some(r, HEX, 40)}",
    "SonarQube": lambda r: f"squ_{some(r, HEX, 40)}",
    "Postman": lambda r: f"PMAK-{some(r, HEX, 24)}-{some(r, HEX, 34)}",
    "Linear": lambda r: f"lin_api_{some(r, WORD, 40)}",
    "Notion": lambda r: f"ntn_{some(r, string.digits, 11)}{some(r, WORD, 35)}",
    "Airtable": lambda r: f"pat{some(r, WORD, 14)}.{some(r, HEX, 64)}",
    "Figma": lambda r: f"figd_{some(r, URL, 40)}",
    "HubSpot": lambda r: f"pat-na1-{uuid(r)}",
    "Slack bot": lambda r: f"xoxb-{some(r, string.digits, 12)}-{some(r, string.digits, 13)}-{some(r, WORD, 24)}",
    "Slack user": lambda r: f"xoxp-{'-'.join(some(r, string.digits, 12) for _ in range(3))}-{some(r, HEX, 32)}",
    "Slack app": lambda r: f"xapp-1-A{some(r, UPPER, 10)}-{some(r, string.digits, 13)}-{some(r, HEX, 64)}",
    "Slack webhook": lambda r: (
        f"hooks.slack.com/services/T{some(r, UPPER, 10)}/B{some(r, UPPER, 10)}/{some(r, WORD, 24)}"
    ),
    "Discord bot": lambda r: (
        f"{b64encode(some(r, '123456789', 18).encode()).decode()}.G{some(r, URL, 5)}.{some(r, URL, 38)}"
    ),
    "Discord webhook": lambda r: f"discord.com/api/webhooks/{some(r, '123456789', 19)}/{some(r, URL, 68)}",
    "Telegram": lambda r: f"{some(r, '123456789', 10)}:AA{some(r, URL, 33)}",
    "Twilio": lambda r: f"SK{some(r, HEX, 32)}",
    "SendGrid": lambda r: f"SG.{some(r, URL, 22)}.{some(r, URL, 43)}",
    "Mailgun": lambda r: f"key-{some(r, HEX, 32)}",
    "Mailchimp": lambda r: f"{some(r, HEX, 32)}-us14",
    "Resend": lambda r: f"re_{some(r, WORD, 8)}_{some(r, WORD, 24)}",
    "Brevo": lambda r: f"xkeysib-{some(r, HEX, 64)}-{some(r, WORD, 16)}",
    "Stripe": lambda r: f"sk_live_{some(r, WORD, 24)}",
    "Stripe, newer": lambda r: f"rk_live_51{some(r, WORD, 97)}",
    "Stripe webhook": lambda r: f"whsec_{some(r, WORD, 32)}",
    "Square": lambda r: f"sq0atp-{some(r, URL, 22)}",
    "Braintree": lambda r: f"access_token$production${some(r, LOWER, 16)}${some(r, HEX, 32)}",
    "Plaid": lambda r: f"access-production-{uuid(r)}",
    "Shopify": lambda r: f"shpat_{some(r, HEX, 32)}",
    "EasyPost": lambda r: f"EZAK{some(r, WORD, 54)}",
    "Facebook": lambda r: f"EAAC{some(r, WORD, 140)}",
    "Dropbox": lambda r: f"sl.{some(r, URL, 135)}",
    "age": lambda r: f"AGE-SECRET-KEY-1{some(r, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}",
    "1Password": lambda r: f"ops_eyJ{some(r, WORD, 260)}",
    "JWT": jwt,
}
# Where a key stands in a text.
PLACES: tuple[Callable[[str], str], ...] = (
    lambda key: key,
    lambda key: f"Use this key: {key}. It is for staging only.",
    lambda key: f"API_BASE=https://api.internal\nSERVICE_KEY={key}\nDEBUG=1\n",
    lambda key: f'export SERVICE_TOKEN="{key}"\npython run.py',
    lambda key: json.dumps({"mcpServers": {"a": {"env": {"KEY": key}, "args": ["--stdio"]}}}),
    lambda key: json.dumps({"command": f"curl -H 'X-Key: {key}' https://api.internal/v1"}),
    lambda key: json.dumps(json.dumps({"stdout": f"first\n{key}\nlast"})),
    lambda key: f"https://api.internal/v1/items?limit=3&key={key}&page=2",
    lambda key: f"client = Client(\n    api_key='{key}',\n)  # to be moved",
    lambda key: f"     3→  token: {key}\n     4→  region: eu-west-1",
    lambda key: f"\x1b[32m+key = {key}\x1b[0m",
    lambda key: f"| staging | `{key}` |",
    lambda key: f"curl -sS -H 'Authorization: Bearer {key}' https://api.internal",
    lambda key: f'<add key="Token" value="{key}" />',
    lambda key: f"Schlüssel für Grüße: «{key}»",
    lambda key: f"stdout:\\n{key}\\nexit 0",
    lambda key: f"redirect=https%3A%2F%2Fa.internal%2F%3Fkey%3D{key}",
)


def values(random: Random) -> Iterator[Positive]:
    """Yield secrets without a shape of their own, which their names, headers and addresses tell."""
    password, aws = some(random, WORD, 16) + "9aB", some(random, WORD + "+/", 40)
    mistral, hexadecimal = some(random, WORD, 32), some(random, HEX, 64)
    for text in (
        f"postgresql://app:{password}@db.internal:5432/app?sslmode=require",
        f"DATABASE_URL=mysql://root:{password}@127.0.0.1/app",
        f'"redis://:{password}@cache:6379/0"',
        f"mongodb+srv://app:{password}@cluster0.ab1cd.mongodb.net",
        f"amqps://guest2:{password}@rabbit.internal//",
        f"git clone https://oauth2:{password}@git.internal/team/app.git",
        f"HTTPS_PROXY=http://proxy-user:{password}@10.0.0.1:3128 pip install x",
        f'ADMIN_PASSWORD="{password}"',
        f'{{"user": "admin", "password": "{password}"}}',
    ):
        yield Positive("password", password, text)
    for text in (
        f"aws_secret_access_key = {aws}",
        f"AWS_SECRET_ACCESS_KEY={aws}\nAWS_REGION=eu-west-1",
        json.dumps({"SecretAccessKey": aws, "Expiration": "2026-01-01T00:00:00Z"}),
        f"new Client({{ secretAccessKey: '{aws}' }})",
    ):
        yield Positive("AWS secret", aws, text)
    for name in ("MISTRAL_API_KEY", "CO_API_KEY", "DEEPGRAM_API_KEY", "ALGOLIA_ADMIN_API_KEY", "CLIENT_SECRET"):
        yield Positive(name, mistral, f"{name}={mistral}")
        yield Positive(name, mistral, json.dumps({"env": {name: mistral}}))
    for text in (
        f"TWILIO_AUTH_TOKEN={hexadecimal[:32]}",
        f"export GITEA_TOKEN={hexadecimal[:32]}",
        f"auth_token: '{hexadecimal[:32]}'",
        f"DD_APP_KEY={hexadecimal[:32]}",
        f"curl -H 'Ocp-Apim-Subscription-Key: {hexadecimal[:32]}' https://a.internal",
    ):
        yield Positive("hexadecimal", hexadecimal[:32], text)
    for text in (
        f"tool --api-key {mistral} --verbose",
        f"docker login -u a --password {mistral}",
        json.dumps({"auths": {"registry.internal": {"auth": mistral}}}),
        f"DB_PASSWORD={mistral.lower()}",
    ):
        yield Positive("option", mistral.lower() if "DB" in text else mistral, text)
    yield Positive("Together", hexadecimal, f"export TOGETHER_API_KEY={hexadecimal}")
    yield Positive("header", hexadecimal, f"Authorization: Bearer {hexadecimal}")
    basic = b64encode(f"admin:{password}".encode()).decode()
    yield Positive("header", basic, json.dumps({"headers": {"Authorization": f"Basic {basic}"}}))
    yield Positive("npmrc", mistral, f"//registry.internal/:_authToken={mistral}")
    storage = b64encode(random.randbytes(64)).decode()
    yield Positive("Azure storage", storage, f"AccountName=a;AccountKey={storage};EndpointSuffix=core.windows.net")
    signature = b64encode(random.randbytes(33)).decode().replace("+", "%2B").replace("/", "%2F")
    yield Positive("Azure SAS", signature, f"https://a.blob.core.windows.net/c/b?sv=2022&se=2026&sig={signature}")
    for of in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        key = pem(random, of)
        yield Positive("private key", key, f"$ cat key.pem\n{key}\n$")
        quoted = json.dumps(key)[1:-1]
        yield Positive("private key", quoted, f'{{"private_key": "{quoted}", "client_id": "1"}}')


def positives(seed: int) -> list[Positive]:
    """Return texts with a secret each: of each service in four places, and of each context."""
    random = Random(seed)
    found = list(values(random))
    for number, (service, make) in enumerate(KEYS.items()):
        for place in range(4):
            key = make(random)
            found.append(Positive(service, key, PLACES[(number + place * 5) % len(PLACES)](key)))
    return found
