//! Words by which providers say "enough". Patterns over kinds of wording, not the literals of one provider (A15: a detector by
//! equality stops working when the provider re-words). Recipes add their own; these work without one. Must not know a status.

use super::waits::tongues;
use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// Texts are looked at up to here; a sentence that says "enough" says it soon. Bytes.
const LOOKED_AT: usize = 4096;

/// Of a page in a 2xx only the beginning speaks for the whole. Characters.
const SENTENCE: usize = 600;

/// A wording that can hardly mean anything but a limit: believed whatever the status (`VENDORS` section 1 has the forms).
const SURE: &str = r"(?x)
    rate[\s_-]*limit | throttl | quotas?(\b|_|exceed) 
  | too[\s_-]*many[\s_-]*(\w+[\s_-]+){0,2}(request|call|quer|attempt|connection|hit|poll|login)
  | (limit|allowance|allotment|usage|maximum)s?\b [^.\n]{0,60} \b(exceeded|reached|hit|exhausted|used\s+up)\b
  | \b(exceed(s|ed|ing)?|reach(ed|ing)?|hit(ting)?|exhausted|used\s+up|over|surpassed)\b [^.\n]{0,60}
      \b(limits?|quota|allowance|allotment|number\s+of\s+\w*\s?(requests|calls))\b
  | \b(requests|calls|queries)\b [^.\n]{0,40} \bexceeded\b
  | (exceeded|over|reached)[_-]+(\w+_)?limit | limit[_-]+(exceeded|reached)
  | (call|request|polling|query)[\s_-]*(frequency|volume|limit|rate)\b
  | \b(max(imum)?|only|at\s+most|more\s+than|up\s+to|limited\s+to)\.?\s+(of\s+)?\d+\s+(\w+\s+){0,2}(requests?|calls?|quer(y|ies)|polls?)\b
  | \bmax\w*\s+(allowed\s+)?(number\s+of\s+)?(requests|calls|queries)\b
  | \b\d+\s*(\w+\s+)?(requests?|calls?|queries|polls)\s*(are\s+allowed\s*)?(per|every|in|within|each|/)\s*(the\s+)?(last\s+)?(\d|sec|min|hour|day|month)
  | \b(no|zero|0)\s+(more\s+)?(requests|calls|credits|points)\s+(left|remaining)\b
  | too\s+(frequent|often|fast|quickly) | slow[\s_-]*down | temporar(y|il)\w*\s+(ban|block|lock|restrict)\w* | locked\s+out
  | \b(wait|retry|try\s+again)\b [^.\n]{0,40} \b(\d+[dhm])*\d+(\.\d+)?\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b
";

/// A wording that makes a 401 or 403 a question of how much instead of who (A5): never a reason to reject a credential.
const LIKELY: &str = r"\b(limit(s|ed|er|ing)?|quotas?|throttl\w*|too[\s_-]*many|exceed\w*|rate|usage|frequen\w*|volume|overage)\b|rate_?limit|quota";

/// A wording about money, points or a plan that ended: not a matter of waiting, also where it calls itself a limit.
const MONEY: &str = r"(?x)
    insufficient[\s_-]*(quota|credits?|points|funds|balance) | not\s+enough\s+(credits?|points|funds)
  | payment[\s_-]*(is\s+)?required | (\b|_)spend(ing)?[\s_-]*limit | \bout\s+of\s+(credits?|points|funds|money)\b | \btop\s+up\s+your\b
  | \b(credits?|points|balance|funds)\b [^.\n]{0,40} \b(exhausted|depleted|used\s+up|run\s+out|too\s+low)\b
  | \b(no|zero|0)\s+(more\s+)?(credits|points)\s+(left|remaining)\b
  | \b(subscription|plan|trial|licen[cs]e)\b [^.\n]{0,40} \b(expired|ended|lapsed|cancell?ed|unpaid|past\s+due|overdue)\b
";

/// Money is mentioned. That may be an empty purse ("billing limit exceeded"), or where a limit that passes by itself can be raised.
const BILLING: &str = r"(\b|_)billing(\b|_)";

/// A wording about how many fit into a time: that passes by itself.
const RATE: &str = r"(?x)
    rate[\s_-]*limit | throttl | too[\s_-]*many[\s_-]*(\w+[\s_-]+){0,2}(request|call|quer) | slow[\s_-]*down
  | \b(per|every|each|a)\s+(second|minute|hour|day)\b
";

/// A wording that makes a 401 or 403 a question of the plan, where nothing in it speaks of a limit.
const PLAN: &str = r"\b(plans?|subscri\w+|upgrade|tiers?|premium|pricing|purchase|paid)\b";

/// The compiled patterns. `None` is a pattern that does not compile, which a test forbids.
#[derive(Debug)]
pub(super) struct Words {
    sure: Option<Regex>,
    likely: Option<Regex>,
    money: Option<Regex>,
    billing: Option<Regex>,
    rate: Option<Regex>,
    plan: Option<Regex>,
    /// The same as `sure` and `money` in the other languages, of a text in lower case: these words are not ASCII.
    limits_abroad: Option<Regex>,
    purses_abroad: Option<Regex>,
    tags: Option<Regex>,
}

/// One for all connections, compiled when the first answer needs it: most answers never do. Over bytes, because the wording is
/// ASCII and Unicode's classes would make the patterns some megabytes large.
static WORDS: LazyLock<Words> = LazyLock::new(Words::compile);

impl Words {
    pub(super) fn known() -> &'static Words {
        &WORDS
    }

    fn compile() -> Words {
        let regex = |pattern: &str| RegexBuilder::new(pattern).case_insensitive(true).unicode(false).build().ok();
        Words {
            sure: regex(SURE),
            likely: regex(LIKELY),
            money: regex(MONEY),
            billing: regex(BILLING),
            rate: regex(RATE),
            plan: regex(PLAN),
            limits_abroad: regex(&tongues::limits()),
            purses_abroad: regex(&tongues::purses()),
            tags: regex(r"(?s)<!--.*?-->|<(script|style|svg)\b.*?</(script|style|svg)\s*>|<[^>]*>"),
        }
    }

    /// Reads like a limit, whatever the status.
    pub(super) fn surely_limit(&self, text: &str) -> bool {
        let text = cut(text, LOOKED_AT);
        matches(self.sure.as_ref(), text) || matches(self.limits_abroad.as_ref(), &text.to_lowercase())
    }

    /// Reads like a limit in the mouth of a 401 or 403.
    pub(super) fn likely_limit(&self, text: &str) -> bool {
        matches(self.likely.as_ref(), cut(text, LOOKED_AT)) || self.surely_limit(text)
    }

    /// One of the texts of an answer reads like an empty purse, whatever the status. A limit comes before money: who speaks of a rate and
    /// merely mentions billing speaks of the limit.
    pub(super) fn about_money(&self, texts: &[&str]) -> bool {
        let any = |pattern: Option<&Regex>| texts.iter().any(|text| matches(pattern, cut(text, LOOKED_AT)));
        let abroad = |text: &&str| matches(self.purses_abroad.as_ref(), &cut(text, LOOKED_AT).to_lowercase());
        any(self.money.as_ref()) || texts.iter().any(abroad) || any(self.billing.as_ref()) && !any(self.rate.as_ref())
    }

    /// Reads like a matter of the plan in the mouth of a 401 or 403.
    pub(super) fn about_the_plan(&self, text: &str) -> bool {
        matches(self.plan.as_ref(), cut(text, LOOKED_AT))
    }

    /// What a person would read of a body that is not JSON: without markup, from its beginning.
    pub(super) fn plain(&self, body: &str) -> String {
        let body = cut(body, 16 * LOOKED_AT);
        if !body.trim_start().starts_with('<') {
            return body.chars().take(SENTENCE).collect();
        }
        let text = self.tags.as_ref().map_or(body.as_bytes().into(), |tags| tags.replace_all(body.as_bytes(), b" "));
        String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SENTENCE).collect()
    }
}

fn matches(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text.as_bytes()))
}

/// At most `bytes` of a text, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        Words::compile()
    }

    #[test]
    fn every_pattern_compiles() {
        let Words { sure, likely, money, billing, rate, plan, limits_abroad, purses_abroad, tags } = words();
        let all = [sure, likely, money, billing, rate, plan, limits_abroad, purses_abroad, tags];
        assert!(all.iter().all(Option::is_some));
    }

    #[test]
    fn the_wordings_of_real_providers_read_like_limits() {
        let said = [
            "Too Many Requests",
            "too_many_requests",
            "You have exceeded the maximum number of requests in a 5 minute period.",
            "Only 5 requests are allowed every 5 minutes, please wait before you try again.",
            "API rate limit exceeded",
            "You have exceeded a secondary rate limit",
            "RATE_LIMIT_EXCEEDED",
            "rateLimitExceeded",
            "You are being rate limited.",
            "Max calls per sec rate limit reached (5/sec)",
            "Max rate limit reached",
            "Max daily rate limit reached. 100000 calls per day",
            "Requests reached the daily limit",
            "API token limit exceeded",
            "Limit Exceeded",
            "EXCEEDED_LIMIT",
            "OVER_QUERY_LIMIT",
            "OVER_DAILY_LIMIT",
            "TotalRequests Limit exceeded.",
            "Out of call volume quota. Quota will be replenished in 00:46:40.",
            "Thank you for using Alpha Vantage! Our standard API call frequency is 5 calls per minute and 500 calls per day.",
            "We have detected your API key and our standard API rate limit is 25 requests per day.",
            "Throttled",
            "insufficient_quota",
            "RESOURCE_EXHAUSTED: Quota exceeded for quota metric",
            "User usage reached",
            "Maximum api usage reached",
            "Max allowed requests per minute from each unique IP is 400",
            "3500 daily call limit",
            "Access denied because of exceeding access rate",
            "Retry in 37829 seconds",
            "Please try again in 6m0s.",
            "Please slow down",
            "Your account is temporarily blocked due to exceeding of requests limitation",
            "Number of allowed API requests per minute exceeded",
            "You have reached your pull rate limit.",
            "You have been locked out",
            "Requests are too frequent",
        ];
        let words = words();
        for text in said {
            assert!(words.likely_limit(text), "not even likely: {text}");
            assert!(words.surely_limit(text) || text.contains("access rate"), "{text}");
        }
    }

    #[test]
    fn limits_are_known_in_the_languages_of_providers() {
        let words = words();
        for text in [
            "Zu viele Anfragen",
            "ZU VIELE ZUGRIFFE IN KURZER ZEIT",
            "Ihr Tageslimit ist überschritten.",
            "Sie haben das Kontingent für heute AUSGESCHÖPFT",
            "Trop de requêtes",
            "Limite de requêtes dépassée",
            "Vous avez ATTEINT LA LIMITE quotidienne",
            "Demasiadas solicitudes",
            "Ha superado el límite de su plan",
            "Te veel verzoeken",
            "De daglimiet is overschreden",
        ] {
            assert!(words.surely_limit(text), "{text}");
            assert!(!words.about_money(&[text]), "{text}");
        }
        for text in [
            "Ihr Guthaben ist aufgebraucht",
            "Nicht genügend Guthaben",
            "Solde insuffisant",
            "Vos crédits sont épuisés",
            "Saldo insuficiente",
            "Onvoldoende saldo",
        ] {
            assert!(words.about_money(&[text]), "{text}");
        }
        for text in [
            "Zugriff verweigert",
            "Ungültiger API-Schlüssel",
            "Der Server wurde nicht erreicht",
            "Accès refusé",
            "Clave de API no válida",
            "Onbekend apparaat",
        ] {
            assert!(!words.likely_limit(text) && !words.about_money(&[text]), "{text}");
        }
    }

    #[test]
    fn other_troubles_do_not() {
        let said = [
            "API key not valid",
            "Invalid API key. Please see https://example.test/faq#error401 for more info.",
            "Unauthorized",
            "Access denied",
            "The parameter `limit` must be below 100",
            "Service temporarily unavailable, try again later",
            "Internal error, please retry",
            "No zone of that name",
            "Device is offline",
            "Maintenance from 10:00 to 12:00",
            "query timed out",
            "unlimited plan",
            "the zone hit the wall",
            "",
        ];
        let words = words();
        for text in said {
            assert!(!words.surely_limit(text), "{text}");
        }
        for text in &said[..4] {
            assert!(!words.likely_limit(text), "{text}");
        }
    }

    #[test]
    fn a_page_is_read_without_its_markup() {
        let page = "<!DOCTYPE html><html><head><title>Error 1015</title><style>.quota{}</style></head>\
            <body><!-- rate limit --><script>var throttle = 1;</script><h1>You are being\n held up</h1></body></html>";
        assert_eq!(words().plain(page), "Error 1015 You are being held up");
        assert!(!words().surely_limit(&words().plain(page)));
        assert_eq!(words().plain("plain & simple"), "plain & simple");
    }

    #[test]
    fn long_and_odd_texts_are_cut_between_characters() {
        let words = words();
        assert!(!words.surely_limit(&"ä".repeat(10_000)));
        assert_eq!(words.plain(&"ä".repeat(100_000)).chars().count(), SENTENCE);
        assert!(!words.plain(&format!("<{}", "<".repeat(100_000))).is_empty());
    }
}
