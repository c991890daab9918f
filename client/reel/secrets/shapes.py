"""The shapes of the keys that providers, clouds, forges and other services give out.

A shape is how a key begins, and which characters follow. Each names where that is documented: the service's own page,
or the rules of gitleaks 8 (MIT), whose facts these are where a service says nothing.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Alphabets of bodies.
_WORD = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_URL = "[A-Za-z0-9_-]"
_BASE64 = "[A-Za-z0-9+/]"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# What may not follow a body of a fixed length.
_END = "(?![A-Za-z0-9])"


class Shape(NamedTuple):
    """How the keys of a service look.

    Args:
        kind: what it is, for people.
        starts: what such keys begin with.
        body: an expression for what follows, with a group if its beginning is no part of the key. It never tries
            another way (possessive), so that a text takes a time that grows with its length.
        source: where that is documented.
        before: how many characters of the key may stand before what is looked for, the likeliest number first. Then
            ``body`` is the expression of the whole key.
    """

    kind: str
    starts: tuple[str, ...]
    body: str
    source: str
    before: tuple[int, ...] = (0,)


def _run(alphabet: str, least: int) -> str:
    """Return the expression of a body of so many characters or more; what goes on is part of the key."""
    return f"{alphabet}{{{least},}}+"


def _dotted(least: int) -> str:
    """Return the expression of a body of several parts; a dot behind it ends a sentence."""
    return f"{_run(_URL, least)}(?:\\.{_run(_URL, 1)}|(?!))*+"


def _shapes(source: str, *rows: tuple[str, str, str]) -> Iterator[Shape]:
    for kind, starts, body in rows:
        yield Shape(kind, tuple(starts.split()), body, source)


_MODELS = (
    *_shapes(
        "platform.claude.com, API keys and Claude Code's tokens",
        ("anthropic-key", "sk-ant-", _run(_URL, 40)),
    ),
    *_shapes(
        "platform.openai.com, API keys",
        ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", _run(_URL, 40)),
        # Also DeepSeek, Moonshot, DashScope, Stability and others that took over the form.
        ("sk-key", "sk-", _run(_WORD, 20)),
    ),
    *_shapes("openrouter.ai/docs, authentication", ("openrouter-key", "sk-or-", f"(?:v1-)?{_run(_HEX, 40)}")),
    *_shapes(
        "ai.google.dev, API keys",
        ("google-key", "AIza", f"{_URL}{{35}}{_END}"),
        ("google-key", "AQ.Ab", _run(_URL, 36)),
    ),
    *_shapes("console.groq.com/docs", ("groq-key", "gsk_", _run(_WORD, 40))),
    *_shapes("docs.x.ai", ("xai-key", "xai-", _run(_WORD, 60))),
    *_shapes("docs.perplexity.ai", ("perplexity-key", "pplx-", _run(_WORD, 40))),
    *_shapes(
        "huggingface.co/docs/hub/security-tokens",
        ("huggingface-token", "hf_ api_org_", _run(_WORD, 30)),
    ),
    *_shapes("replicate.com/docs", ("replicate-token", "r8_", _run(_WORD, 36))),
    *_shapes("build.nvidia.com", ("nvidia-key", "nvapi-", _run(_URL, 60))),
    *_shapes("docs.fireworks.ai", ("fireworks-key", "fw_", _run(_WORD, 20))),
    *_shapes("inference-docs.cerebras.ai", ("cerebras-key", "csk-", _run(_WORD, 40))),
    *_shapes("docs.together.ai", ("together-key", "tgp_v1_", _run(_URL, 40))),
    *_shapes("docs.pinecone.io", ("pinecone-key", "pcsk_", _run("[A-Za-z0-9_]", 50))),
    *_shapes("docs.tavily.com", ("tavily-key", "tvly-", _run(_URL, 28))),
    *_shapes("docs.firecrawl.dev", ("firecrawl-key", "fc-", _run(_HEX, 32))),
    *_shapes("jina.ai", ("jina-key", "jina_", _run(_URL, 50))),
    *_shapes("docs.voyageai.com", ("voyage-key", "pa-", _run(_URL, 40))),
    *_shapes("docs.smith.langchain.com", ("langsmith-key", "lsv2_pt_ lsv2_sk_", f"{_HEX}{{32}}_{_HEX}{{10}}{_END}")),
    *_shapes("langfuse.com/docs", ("langfuse-key", "sk-lf-", f"{_UUID}{_END}")),
    *_shapes("elevenlabs.io/docs", ("elevenlabs-key", "sk_", _run(_HEX, 40))),
    *_shapes("cursor.com/docs, API keys", ("cursor-key", "key_ crsr_", _run(_HEX, 64))),
    *_shapes(
        "sourcegraph.com/docs", ("sourcegraph-token", "sgp_ sgamp_user_", f"(?:{_HEX}{{16}}_|local_)?{_run(_WORD, 32)}")
    ),
)
_CLOUDS = (
    *_shapes(
        "docs.aws.amazon.com, IAM identifiers: unique ID prefixes",
        ("aws-access-key", "AKIA ASIA ABIA ACCA", f"[A-Z0-9]{{16}}{_END}"),
    ),
    *_shapes(
        "docs.aws.amazon.com, Amazon Bedrock API keys",
        ("bedrock-key", "ABSK", f"{_BASE64}{{100,}}+={{0,2}}+"),
        ("bedrock-key", "bedrock-api-key-", _run("[A-Za-z0-9+/=_-]", 60)),
    ),
    *_shapes(
        "developers.google.com, OAuth 2.0",
        ("google-oauth-token", "ya29.", _dotted(30)),
        ("google-client-secret", "GOCSPX-", _run(_URL, 28)),
        ("google-refresh-token", "1//0", _run(_URL, 35)),
    ),
    *_shapes(
        "learn.microsoft.com, connection strings and shared access signatures",
        ("azure-key", "AccountKey= SharedAccessKey=", f"({_BASE64}{{40,}}+={{0,2}}+)"),
        ("azure-signature", "&sig= ?sig= &amp;sig=", f"({_run('[A-Za-z0-9%+/=]', 40)})"),
    ),
    *_shapes("docs.digitalocean.com", ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _run(_HEX, 64))),
    *_shapes("developers.cloudflare.com", ("cloudflare-key", "v1.0-", f"{_HEX}{{24}}-{_run(_HEX, 100)}")),
    *_shapes("devcenter.heroku.com", ("heroku-key", "HRKU-", _run(_URL, 36))),
    *_shapes("fly.io/docs", ("fly-token", "fo1_ fm1r_ fm1a_ fm2_", _run("[A-Za-z0-9+/_=-]", 40))),
    *_shapes("alibabacloud.com, AccessKey", ("alibaba-access-key", "LTAI", f"{_WORD}{{12,24}}+{_END}")),
    *_shapes("cloud.tencent.com", ("tencent-access-key", "AKID", f"{_WORD}{{32}}{_END}")),
    *_shapes("yandex.cloud/docs", ("yandex-key", "AQVN", f"{_URL}{{35,38}}+{_END}")),
    *_shapes(
        "planetscale.com/docs",
        ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", f"{_run(_URL, 30)}={{0,2}}+"),
    ),
    *_shapes(
        "supabase.com/docs", ("supabase-key", "sbp_", _run(_HEX, 40)), ("supabase-key", "sb_secret_", _run(_URL, 28))
    ),
    *_shapes("neon.com/docs", ("neon-key", "napi_", _run(_WORD, 40))),
    *_shapes("vercel.com/docs, tokens", ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", _run(_WORD, 24))),
    *_shapes("docs.netlify.com", ("netlify-token", "nfp_", _run(_WORD, 36))),
    *_shapes("render.com/docs", ("render-key", "rnd_", _run(_WORD, 28))),
    *_shapes("developer.hashicorp.com/vault", ("vault-token", "hvs. hvb. hvr.", _run(_URL, 24))),
    *_shapes(
        "docs.doppler.com",
        (
            "doppler-token",
            "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
            f"(?:[a-z0-9_-]{{2,35}}+\\.)?{_run(_WORD, 40)}",
        ),
    ),
    *_shapes("pulumi.com/docs", ("pulumi-token", "pul-", _run(_HEX, 40))),
    *_shapes("docs.databricks.com", ("databricks-token", "dapi", _run(_HEX, 32))),
    *_shapes(
        "grafana.com/docs",
        ("grafana-token", "glsa_", f"{_WORD}{{32}}_[0-9A-Fa-f]{{8}}{_END}"),
        ("grafana-token", "glc_", _run("[A-Za-z0-9+/=]", 32)),
    ),
    *_shapes(
        "docs.sentry.io",
        ("sentry-token", "sntrys_", _run("[A-Za-z0-9+/=_]", 60)),
        ("sentry-token", "sntryu_", _run(_HEX, 64)),
    ),
    *_shapes("docs.newrelic.com", ("newrelic-key", "NRAK- NRII- NRRA-", _run(_URL, 27))),
    *_shapes(
        "tailscale.com/kb",
        (
            "tailscale-key",
            "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-",
            f"{_WORD}{{8,}}+-{_run(_WORD, 20)}",
        ),
    ),
)
_FORGES = (
    *_shapes(
        "docs.github.com, GitHub's token formats",
        ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _run(_WORD, 36)),
        ("github-token", "github_pat_", _run("[A-Za-z0-9_]", 60)),
    ),
    *_shapes(
        "docs.gitlab.com, token prefixes",
        (
            "gitlab-token",
            "glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glcbt- glwt- GR1348941",
            _dotted(20),
        ),
    ),
    *_shapes(
        "support.atlassian.com",
        ("atlassian-token", "ATATT3 ATCTT3 ATSTT3", _run("[A-Za-z0-9_=-]", 60)),
        ("bitbucket-password", "ATBB", f"{_WORD}{{28,}}+{_END}"),
    ),
    *_shapes("docs.npmjs.com", ("npm-token", "npm_", _run(_WORD, 36))),
    *_shapes("pypi.org/help", ("pypi-token", "pypi-AgE", _run(_URL, 50))),
    *_shapes("guides.rubygems.org", ("rubygems-key", "rubygems_", _run(_HEX, 48))),
    *_shapes("doc.rust-lang.org/cargo", ("crates-token", "cio", f"{_WORD}{{32}}{_END}")),
    *_shapes("learn.microsoft.com/nuget", ("nuget-key", "oy2", f"[a-z0-9]{{43}}{_END}")),
    *_shapes("gitleaks, clojars-api-token", ("clojars-token", "CLOJARS_", _run("[0-9A-Fa-f]", 60))),
    *_shapes("docs.docker.com", ("docker-token", "dckr_pat_ dckr_oat_", _run(_URL, 27))),
    *_shapes("circleci.com/docs", ("circleci-token", "CCIPAT_ CCIPRJ_", f"{_WORD}{{20,}}+_{_run(_HEX, 40)}")),
    *_shapes("buildkite.com/docs", ("buildkite-token", "bkua_ bkat_", _run(_WORD, 40))),
    *_shapes("docs.sonarsource.com", ("sonar-token", "squ_ sqp_ sqa_", _run(_HEX, 40))),
    *_shapes(
        "gitleaks, artifactory-api-key",
        ("artifactory-key", "AKCp", f"{_WORD}{{69}}{_END}"),
        ("artifactory-token", "cmVmdGtuO", _run(_WORD, 50)),
    ),
    *_shapes("learning.postman.com", ("postman-key", "PMAK-", f"{_HEX}{{24}}-{_run(_HEX, 34)}")),
    *_shapes("linear.app/developers", ("linear-key", "lin_api_ lin_oauth_", _run(_WORD, 40))),
    *_shapes(
        "developers.notion.com",
        ("notion-token", "ntn_", _run(_WORD, 40)),
        ("notion-token", "secret_", f"{_WORD}{{43}}{_END}"),
    ),
    *_shapes("airtable.com/developers", ("airtable-token", "pat", f"{_WORD}{{14}}\\.{_run(_HEX, 64)}")),
    *_shapes("figma.com/developers", ("figma-token", "figd_ figo_ figu_ figr_", _run(_URL, 36))),
    *_shapes("developers.hubspot.com", ("hubspot-token", "pat-na1- pat-na2- pat-eu1-", f"{_UUID}{_END}")),
)
_CHATS = (
    *_shapes(
        "docs.slack.dev, tokens",
        (
            "slack-token",
            "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xoxp- xoxe.xoxb- xwfp-",
            _run("[A-Za-z0-9%-]", 20),
        ),
        ("slack-token", "xapp-", f"\\d-[A-Z0-9]{{8,}}+-\\d{{8,}}+-{_run(_WORD, 32)}"),
        (
            "slack-webhook",
            "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
            _run("[A-Za-z0-9/]", 36),
        ),
    ),
    *_shapes(
        "docs.discord.com",
        (
            "discord-webhook",
            "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
            f"\\d{{15,22}}+/{_run(_URL, 50)}",
        ),
    ),
    *_shapes(
        "learn.microsoft.com, Teams webhooks",
        ("teams-webhook", ".webhook.office.com/webhookb2/", _run("[A-Za-z0-9@/-]", 80)),
    ),
    *_shapes("twilio.com/docs", ("twilio-key", "SK", f"{_HEX}{{32}}{_END}")),
    *_shapes("docs.sendgrid.com", ("sendgrid-key", "SG.", f"{_URL}{{16,}}+\\.{_run(_URL, 32)}")),
    *_shapes("documentation.mailgun.com", ("mailgun-key", "key-", f"{_HEX}{{32}}{_END}")),
    *_shapes("resend.com/docs", ("resend-key", "re_", f"{_WORD}{{8}}_{_run(_WORD, 20)}")),
    *_shapes("developers.brevo.com", ("brevo-key", "xkeysib- xsmtpsib-", f"{_HEX}{{64}}-{_run(_WORD, 16)}")),
)
_PAYMENTS = (
    *_shapes(
        "docs.stripe.com/keys",
        ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_ sk_org_", _run(_WORD, 16)),
        ("webhook-secret", "whsec_", _run("[A-Za-z0-9+/=]", 32)),
    ),
    *_shapes(
        "developer.squareup.com",
        ("square-token", "sq0atp- sq0csp-", _run(_URL, 22)),
        ("square-token", "EAAAE EAAAl", _run(_URL, 55)),
    ),
    *_shapes(
        "developer.paypal.com, Braintree",
        ("braintree-token", "access_token$production$ access_token$sandbox$", f"{_WORD}{{16}}\\${_run(_HEX, 32)}"),
    ),
    *_shapes(
        "plaid.com/docs", ("plaid-token", "access-production- access-sandbox- access-development-", f"{_UUID}{_END}")
    ),
    *_shapes("shopify.dev", ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", _run("[0-9A-Fa-f]", 32))),
    *_shapes("docs.easypost.com", ("easypost-key", "EZAK EZTK", f"{_WORD}{{54}}{_END}")),
    *_shapes("docs.goshippo.com", ("shippo-token", "shippo_live_ shippo_test_", _run(_HEX, 40))),
    *_shapes("developer.flutterwave.com", ("flutterwave-key", "FLWSECK- FLWSECK_TEST-", _run("[A-Za-z0-9-]", 32))),
)
_OTHERS = (
    *_shapes("developers.facebook.com", ("facebook-token", "EAAC EAAG EAAB EAAM EAAD EAAJ", f"{_WORD}{{90,}}+{_END}")),
    *_shapes("dropbox.com/developers", ("dropbox-token", "sl.", f"(?:u\\.)?{_run(_URL, 100)}")),
    *_shapes("typeform.com/developers", ("typeform-token", "tfp_", _run(_URL, 40))),
    *_shapes("docs.mapbox.com", ("mapbox-token", "sk.eyJ", f"{_URL}{{20,}}+\\.{_run(_URL, 20)}")),
    *_shapes("docs.readme.com", ("readme-key", "rdme_", _run("[a-z0-9]", 60))),
    *_shapes("age-encryption.org", ("age-key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", _run("[A-Z0-9]", 50))),
    *_shapes(
        "developer.1password.com",
        ("1password-token", "ops_eyJ", _run("[A-Za-z0-9+/=_-]", 100)),
        ("1password-key", "A3-", "[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4}(?![A-Z0-9])"),
    ),
    # RFC 7519: the header is an object, so that its text begins with `{"`; JWE (RFC 7516) has five parts.
    *_shapes(
        "RFC 7519",
        ("jwt", "eyJ", f"{_URL}{{10,}}+\\.{_URL}{{10,}}+\\.{_URL}{{10,}}+(?:\\.{_URL}{{10,}}+|(?!)){{0,2}}+"),
    ),
)
# Keys that are told by what stands inside them.
_INSIDE = (
    Shape(
        "azure-secret",
        ("Q~",),
        f"[A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}}+{_END}",
        "gitleaks, azure-ad-client-secret",
        (4,),
    ),
    Shape(
        "azure-key",
        ("JQQJ99",),
        f"{_WORD}{{52}}JQQJ99{_WORD}{{26}}{_END}",
        "learn.microsoft.com, identifiable secrets",
        (52,),
    ),
    Shape("azure-token", ("AZDO",), f"{_WORD}{{76}}AZDO{_WORD}{{4}}{_END}", "learn.microsoft.com, Azure DevOps", (76,)),
    Shape("firebase-key", (":APA91b",), f"{_URL}{{11}}:APA91b{_run(_URL, 100)}", "firebase.google.com/docs", (11,)),
    Shape(
        "terraform-token",
        (".atlasv1.",),
        f"{_WORD}{{14}}\\.atlasv1\\.{_run(_URL, 60)}",
        "developer.hashicorp.com/terraform",
        (14,),
    ),
    Shape("mailchimp-key", ("-us",), f"{_HEX}{{32}}-us[0-9]{{1,2}}{_END}", "mailchimp.com/developer", (32,)),
    Shape("telegram-token", (":AA",), f"[0-9]{{8,10}}:AA{_URL}{{32,33}}+{_END}", "core.telegram.org/bots", (10, 9, 8)),
)
# The first part of a bot's token is the base64 of its id: these are the beginnings of all numbers.
_DISCORD = Shape(
    "discord-token",
    ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
    f"{_WORD}{{20,26}}+\\.{_URL}{{6}}\\.{_run(_URL, 27)}",
    "docs.discord.com",
)
SHAPES: tuple[Shape, ...] = (*_MODELS, *_CLOUDS, *_FORGES, *_CHATS, *_PAYMENTS, *_OTHERS, *_INSIDE, _DISCORD)
