"""The published formats of credentials, one rule each."""

from __future__ import annotations

from weft.secrets.rule import rule

_SERVICES = """
ably abuseipdb adafruit airbrake airtable akamai algolia alchemy alibaba amplitude anthropic app
application appsync artifactory asana assemblyai atlassian auth0 aws azure binance bing bitbucket
bittrex braintree brevo bugsnag censys circleci clearbit cloudflare cloudinary codeclimate codecov
cohere coinbase confluence consumer contentful coveralls datadog deepgram deepl deepseek deploy
digitalocean discord docker dropbox elastic elevenlabs etherscan facebook fastly fb figma finnhub
firebase fireworks gcp gemini giphy git(?:hub|lab) google grafana groq heroku hetzner hmac
hockeyapp honeycomb hubspot huggingface infura intercom ipinfo ipstack jenkins jfrog jira jwt
klaviyo kraken kimsufi kolide kucoin launchdarkly licen[cs]e linear linkedin linode logdna loggly
mailchimp mailersend mailgun mailjet mandrill mapbox mapquest mistral mixpanel moralis nasa netlify
newrelic newsapi nexmo notion npm nuget okta omdb openai openweather(?:map)? opsgenie ovh pagerduty
paypal perplexity pinecone plaid plivo postmark posthog pubnub pusher quicknode rapidapi recaptcha
reddit render rollbar rubygems salesforce sauce scaleway segment sendgrid sendinblue sentry serpapi
shippo shodan shopify slack snyk sonar sparkpost splunk spotify square stability steam stripe
supabase tavily telegram tmdb together travis trello twilio twitch twitter typeform unsplash vercel
virustotal vonage vultr weatherapi webhook yelp youtube zapier zendesk zoom
"""
SERVICES = f"(?:{'|'.join(_SERVICES.split())})"
"""Services whose keys are credentials. The key of any other one may as well identify a row or an
object."""
_B64 = "[A-Za-z0-9+/]"
_WORD = "[A-Za-z0-9_-]"
NO_BASE64 = r"(?:^|[^A-Za-z0-9+/_-]|\\u[0-9A-Fa-f]{4}|\\[bfnrt])"
"""The text that may precede a prefix which is short enough to occur in the base64 of a file."""

RULES = (
    rule(
        "aws_access_key",
        "akia asia abia acca a3t",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",
    ),
    rule(
        "aws_secret_key",
        "secret",
        rf"(?i)(?:aws.{{0,20}}?secret|secret_?access).{{0,20}}?[\"'\s]*[:=|][\"'\s]*({_B64}{{40}})"
        r"(?:[^A-Za-z0-9+/=]|\z)",
        1,
    ),
    rule(
        "aws_secret_key",
        "akia asia",
        # beside the key's id, as in a table or in two columns
        rf"\b(?:AKIA|ASIA)[A-Z0-9]{{16}}(?:[^\nA-Za-z0-9+/][^\n]{{0,60}})?[\s,|\"':=]({_B64}{{40}})"
        r"(?:[^A-Za-z0-9+/=]|\z)",
        1,
        check="key",
    ),
    rule("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}"),
    rule("github_pat", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,255}"),
    rule(
        "gitlab_token",
        "glpat- gldt- glptt- glrt- glcbt- glft- glsoat- glagent- glimt- gloas-",
        r"\bgl(?:pat|dt|ptt|rt|cbt|ft|soat|agent|imt|oas)-[A-Za-z0-9_.-]{20,200}",
    ),
    rule(
        "slack_token",
        "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-",
        r"\b(?:xox[abceoprsd]|xoxe\.xox[bp]|xapp)-[A-Za-z0-9%/+-]{10,400}",
    ),
    rule(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,200})",
        1,
    ),
    rule(
        "discord_webhook",
        "/api/webhooks/",
        rf"discord(?:app)?\.com/api/webhooks/([0-9]{{15,22}}/{_WORD}{{40,120}})",
        1,
    ),
    rule(
        "stripe_key",
        "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_",
        r"\b[rs]k_(?:live|test|prod)_\w{10,250}",
    ),
    rule("webhook_secret", "whsec_", rf"\bwhsec_{_B64}{{20,100}}=*"),
    rule("google_api_key", "aiza", rf"\bAIza{_WORD}{{35}}"),
    rule("google_oauth", "ya29.", rf"\bya29\.{_WORD}{{20,1000}}"),
    rule("google_client_secret", "gocspx-", rf"\bGOCSPX-{_WORD}{{28}}"),
    rule("anthropic_key", "sk-ant-", rf"\bsk-ant-[a-z0-9]{{3,10}}-{_WORD}{{20,200}}"),
    rule(
        "openai_key",
        "sk-",
        rf"\bsk-(?:(?:proj|svcacct|admin|or-v[0-9]|lf)-{_WORD}{{20,250}}|[A-Za-z0-9]{{32,64}}\b)",
    ),
    rule("jwt", "eyj", rf"\beyJ{_WORD}{{8,}}\.eyJ{_WORD}{{8,}}(?:\.{_WORD}*)?"),
    rule(
        # encrypted: a header and four other parts
        "jwt",
        "eyj",
        rf"\beyJ{_WORD}{{16,}}\.{_WORD}{{0,800}}\.{_WORD}{{16,24}}\.{_WORD}{{8,}}\.{_WORD}{{22,}}",
    ),
    rule(
        # without its first line: how PKCS #8, PKCS #1, SEC 1 and OpenSSH begin
        "private_key",
        "ibadanbgkqhkig9w0baqefaasc aibaakc mhccaqeei mihcageb mighageambmgbyqgsm49"
        " mc4caqawbqydk2vwbciei b3blbnnzac1rzxktdje",
        rf"{NO_BASE64}((?:MII[A-Z][A-Za-z0-9+/]{{2}}IBA(?:DANBgkqhkiG9w0BAQEFAASC|AKC)|MHcCAQEEI|MIHcAgEB"
        r"|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2VwBCIEI|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/]{20,}={0,2}(?:\s{1,4}[A-Za-z0-9+/]{40,}={0,2})*"
        r"(?:\s{1,4}[A-Za-z0-9+/]{1,70}={0,2}(?:\s|\z))?)",
        1,
    ),
    rule(
        "private_key",
        "private-lines:",
        r"(?i)Private-Lines: ?[0-9]{1,3}\s{1,4}([A-Za-z0-9+/=\s]{20,}?)"
        r"(?:\sPrivate-|[^A-Za-z0-9+/=\s]|\z)",
        1,
    ),
    rule("age_key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    rule("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    rule("pypi_token", "pypi-", rf"\bpypi-{_WORD}{{50,250}}"),
    rule("rubygems_key", "rubygems_", r"\brubygems_[a-f0-9]{48}"),
    rule("docker_token", "dckr_pat_", rf"\bdckr_pat_{_WORD}{{27}}"),
    rule("sendgrid_key", "sg.", rf"\bSG\.{_WORD}{{16,32}}\.{_WORD}{{16,64}}"),
    rule(
        "secret_key",
        "sk_",
        r"\bsk_(?:[a-z]{3,10}_)?(?:[A-Za-z0-9]{24,64}\b"
        r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        doubtful=True,
    ),
    rule("mailchimp_key", "-us", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    rule("twilio_key", "sk", r"\bSK[0-9a-fA-F]{32}\b"),
    rule("digitalocean_token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}"),
    rule("telegram_token", ":aa", rf"\b(?:bot)?([0-9]{{8,10}}:AA{_WORD}{{33}})", 1),
    rule("discord_token", ".", rf"\b[MNO][A-Za-z0-9]{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,40}}"),
    rule("huggingface_token", "hf_ api_org_", r"\b(?:hf|api_org)_[A-Za-z]{34}"),
    rule("databricks_token", "dapi", r"\bdapi[0-9a-f]{32}(?:-[0-9])?\b"),
    rule("shopify_token", "shpat_ shpca_ shppa_ shpss_", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    rule("square_token", "sq0", rf"\bsq0(?:atp|csp|idp)-{_WORD}{{22,43}}"),
    rule("facebook_token", "eaa", rf"{NO_BASE64}(EAA[A-Za-z0-9]{{60,250}})", 1),
    rule("linear_key", "lin_api_", r"\blin_api_[A-Za-z0-9]{40}"),
    rule("notion_token", "ntn_ secret_", r"\b(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})\b"),
    rule("vault_token", "hvs. hvb.", rf"\bhv[sb]\.{_WORD}{{24,200}}"),
    rule("terraform_token", ".atlasv1.", rf"\b[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,70}}"),
    rule("doppler_token", "dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,64}"),
    rule("grafana_token", "glsa_ glc_", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}"),
    rule("sentry_token", "sntrys_ sntryu_", r"\bsntry[su]_[A-Za-z0-9+/=_]{40,400}"),
    rule("postman_key", "pmak-", r"\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    rule("planetscale_token", "pscale_", r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}"),
    rule("figma_token", "figd_", rf"\bfigd_{_WORD}{{38,60}}"),
    rule("airtable_token", "pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    rule("dropbox_token", "sl.", rf"\bsl\.(?:u\.)?{_WORD}{{100,1000}}"),
    rule("supabase_token", "sbp_", r"\bsbp_[0-9a-z_-]{40}"),
    rule("groq_key", "gsk_", r"\bgsk_[A-Za-z0-9]{40,60}"),
    rule("perplexity_key", "pplx-", r"\bpplx-[A-Za-z0-9]{40,60}"),
    rule("xai_key", "xai-", rf"\bxai-{_WORD}{{70,120}}"),
    rule("replicate_token", "r8_", r"\br8_[A-Za-z0-9]{37}"),
    rule("azure_client_secret", "q~", r"\b[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}"),
    rule(
        "azure_key",
        "accountkey= sharedaccesskey= sig=",
        rf"(?i)(?:AccountKey|SharedAccessKey)=({_B64}{{40,100}}={{0,2}})",
        1,
    ),
    rule("sas_signature", "sig=", r"[?&]sig=([A-Za-z0-9%+/]{40,90})", 1),
    rule(
        "url_signature",
        "signature=",
        r"(?i)[?&]X-(?:Amz|Goog)-Signature=([0-9a-f]{64,600})",
        1,
    ),
    rule(
        "url_password",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s:/?#\"'<>\\]{0,100}:([^\s/@\"'<>\\]{1,200}"
        r"(?:@[^\s/@\"'<>\\?#,&=]{1,100}){0,3})@[\w.\[-]",
        1,
        check="shown",
    ),
    rule(
        "url_password",
        ":@ :x-oauth-basic@ @git @www.git @gist.git @api.git @bitbucket @dev.azure @codeberg"
        " @huggingface",
        # a token in place of a user's name
        r"\bhttps://([A-Za-z0-9_.-]{20,255})(?::(?:x-oauth-basic)?@"
        r"|@(?:(?:www|gist|api)\.)?(?:git|bitbucket|dev\.azure|codeberg|huggingface))",
        1,
        doubtful=True,
    ),
    rule(
        "basic_auth",
        "basic",
        r"(?i)authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?basic\s+([A-Za-z0-9+/]{8,600}={0,2})",
        1,
    ),
    rule(
        "basic_auth",
        "basic",
        r"(?i)\bbasic\s+([A-Za-z0-9+/]{12,300}={0,2})(?:[^A-Za-z0-9+/=]|\z)",
        1,
        True,
    ),
    rule(
        "bearer_token",
        "bearer",
        r"(?i)authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?:bearer|token)\s+([A-Za-z0-9._~+/-]{12,1000}=*)",
        1,
        check="password",
    ),
    rule(
        "authorization",
        "authorization",
        r"(?i)authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?[a-z][\w-]{1,24}\s+([A-Za-z0-9._~+/-]{16,1000}=*)",
        1,
        True,
        check="key",
    ),
    rule("bearer_token", "bearer", r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,1000}=*)", 1, True),
)
