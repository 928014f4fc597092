//! How refusals are spoken of in the languages of providers, as data: what stands before the length of a wait, what stands behind one, what
//! the units are called; and how an amount is called that is used up. A recipe's own `[[wait]]` with `text`, and its rules, speak any other
//! language.

/// One language. Words are written in lower case; where one is the beginning of another, the longer comes first.
pub(super) struct Tongue {
    /// Words after which a length is a wait.
    before: &'static [&'static str],
    /// Words that make one of a length right before them.
    behind: &'static [&'static str],
    /// Seconds, minutes, hours, days.
    units: [&'static [&'static str]; 4],
    and: &'static str,
    /// Wordings that can hardly mean anything but a limit.
    enough: &'static [&'static str],
    /// What is limited, what is paid with, and what stands near either when nothing is left of it; beginnings or ends of words too.
    amounts: &'static [&'static str],
    purses: &'static [&'static str],
    spent: &'static [&'static str],
}

/// What the units are called in the form that is read.
const SHORT: [&str; 4] = ["s", "m", "h", "d"];

#[rustfmt::skip]
const TONGUES: [Tongue; 5] = [
    // English: the form that is read has the units by itself, and refusals have patterns of their own.
    Tongue {
        before: &[
            "retrying", "retry", "trying", "try", "again", "wait", "replenished", "resets", "reset", "renewed", "refreshed", "available",
            "unblocked", "lifted", "blocked", "banned", "locked", "suspended", "back",
        ],
        behind: &[],
        units: [
            &["seconds", "second", "secs", "sec", "s"], &["minutes", "minute", "mins", "min", "m"],
            &["hours", "hour", "hrs", "hr", "h"], &["days", "day", "d"],
        ],
        and: "and",
        enough: &[],
        amounts: &[],
        purses: &[],
        spent: &[],
    },
    // German.
    Tongue {
        before: &[
            "warten", "warte", "wartezeit", "versuchen", "versuche", "versuch", "erneut", "wieder", "gesperrt", "blockiert", "verfügbar",
            "zurückgesetzt",
        ],
        behind: &["warten", "erneut", "wieder", "gesperrt", "blockiert", "lang gesperrt"],
        units: [
            &["sekunden", "sekunde", "sek"], &["minuten", "minute"], &["stunden", "stunde", "std"], &["tagen", "tage", "tag"],
        ],
        and: "und",
        enough: &[
            "zu viele anfragen", "zu viele api-anfragen", "zu viele abfragen", "zu viele aufrufe", "zu viele zugriffe",
            "zu viele versuche", "zu viele verbindungen", "zu häufige", "ratenbegrenzung", "anfragelimit", "abfragelimit",
        ],
        amounts: &["limit", "kontingent", "obergrenze", "höchstzahl", "anzahl der anfragen", "anzahl der abfragen"],
        purses: &["guthaben"],
        spent: &[
            "überschritten", "erreicht", "ausgeschöpft", "aufgebraucht", "erschöpft", "verbraucht", "ueberschritten", "erschoepft",
            "nicht genügend", "nicht ausreichend", "zu niedrig",
        ],
    },
    // French.
    Tongue {
        before: &[
            "réessayez", "réessayer", "patientez", "patienter", "attendez", "attendre", "nouveau", "bloqué", "suspendu", "disponible",
            "réinitialisé",
        ],
        behind: &["avant de réessayer", "d'attente"],
        units: [&["secondes", "seconde"], &["minutes", "minute"], &["heures", "heure"], &["jours", "jour"]],
        and: "et",
        enough: &[
            "trop de requêtes", "trop de requetes", "trop de demandes", "trop d'appels", "trop de tentatives", "trop de connexions",
        ],
        amounts: &["limite", "plafond", "nombre de requêtes", "nombre d'appels", "nombre maximal", "nombre maximum"],
        purses: &["crédit", "credit", "solde"],
        spent: &["dépassé", "depasse", "atteint", "épuisé", "epuise", "insuffisant"],
    },
    // Spanish.
    Tongue {
        before: &[
            "reinténtelo", "reintentar", "reintente", "inténtelo", "inténtalo", "intentar", "intente", "espere", "esperar", "espera", "nuevo",
            "bloqueado", "bloqueada", "disponible",
        ],
        behind: &["antes de reintentar", "de espera"],
        units: [&["segundos", "segundo", "seg"], &["minutos", "minuto"], &["horas", "hora"], &["días", "día", "dias", "dia"]],
        and: "y",
        enough: &[
            "demasiadas solicitudes", "demasiadas peticiones", "demasiadas llamadas", "demasiadas consultas", "demasiadas conexiones",
            "demasiados intentos",
        ],
        amounts: &["límite", "limite", "cuota", "cupo", "número máximo"],
        purses: &["saldo", "crédito"],
        spent: &["excedid", "superad", "sobrepasad", "alcanzad", "agotad", "insuficiente"],
    },
    // Dutch.
    Tongue {
        before: &["wachten", "wacht", "wachttijd", "probeer", "opnieuw", "weer", "geblokkeerd", "beschikbaar"],
        behind: &["wachten", "opnieuw", "geblokkeerd"],
        units: [&["seconden", "seconde"], &["minuten", "minuut"], &["uren", "uur"], &["dagen", "dag"]],
        and: "en",
        enough: &["te veel verzoeken", "te veel aanvragen", "te veel aanroepen", "te veel pogingen", "te veel verbindingen"],
        amounts: &["limiet", "quotum", "maximum aantal"],
        purses: &["tegoed", "saldo"],
        spent: &["overschreden", "bereikt", "verbruikt", "opgebruikt", "onvoldoende"],
    },
];

/// An alternation over words, for a pattern over bytes.
fn any<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let escaped = |word: &str| -> String {
        let byte = |b: u8| if b.is_ascii() { char::from(b).to_string() } else { format!("\\x{b:02X}") };
        word.bytes().map(byte).collect()
    };
    words.map(escaped).collect::<Vec<_>>().join("|")
}

pub(super) fn before() -> String {
    any(TONGUES.iter().flat_map(|tongue| tongue.before.iter().copied()))
}

pub(super) fn behind() -> String {
    any(TONGUES.iter().flat_map(|tongue| tongue.behind.iter().copied()))
}

pub(super) fn units() -> String {
    any(TONGUES.iter().flat_map(|tongue| tongue.units.iter().flat_map(|unit| unit.iter().copied())))
}

pub(super) fn ands() -> String {
    any(TONGUES.iter().map(|tongue| tongue.and))
}

/// Wordings of a limit in the languages other than English, whichever of the amount and what became of it comes first. Of lower case.
pub(in crate::rules::classify) fn limits() -> String {
    let enough = any(TONGUES.iter().flat_map(|tongue| tongue.enough.iter().copied()));
    format!("{enough}|{}", used_up(|tongue| tongue.amounts))
}

/// The same of a purse.
pub(in crate::rules::classify) fn purses() -> String {
    used_up(|tongue| tongue.purses)
}

/// Within one sentence; an amount of one language is not used up in another.
fn used_up(of: impl Fn(&Tongue) -> &'static [&'static str]) -> String {
    let pairs = TONGUES.iter().filter(|tongue| !of(tongue).is_empty()).map(|tongue| {
        let (what, spent) = (any(of(tongue).iter().copied()), any(tongue.spent.iter().copied()));
        format!(r"(?:{what})[^.\n]{{0,60}}(?:{spent})|(?:{spent})[^.\n]{{0,60}}(?:{what})")
    });
    pairs.collect::<Vec<_>>().join("|")
}

/// A length in the units that every form has: `1 Stunde und 20 Minuten` is `1 h 20 m`.
pub(super) fn plain(length: &str) -> String {
    let lower = length.to_lowercase();
    let mut plain = String::with_capacity(lower.len());
    let mut rest = lower.as_str();
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphabetic();
        let end = rest.find(|c: char| c.is_alphabetic() != is_word).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        rest = behind;
        plain.push_str(&if is_word { short(run, &plain).to_owned() } else { run.replace(',', " ") });
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands for a word behind `before`.
fn short<'w>(word: &'w str, before: &str) -> &'w str {
    let unit = |tongue: &Tongue| tongue.units.iter().position(|unit| unit.contains(&word));
    match TONGUES.iter().find_map(unit).and_then(|at| SHORT.get(at)) {
        Some(short) => short,
        None if before.ends_with(' ') && TONGUES.iter().any(|tongue| tongue.and == word) => "",
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_one_spelling() {
        for (length, expected) in [
            ("1 Stunde und 20 Minuten", "1 h 20 m"),
            ("2 heures et 5 secondes", "2 h 5 s"),
            ("3 días", "3 d"),
            ("1 UUR", "1 h"),
            ("1 hour, 2 minutes", "1 h 2 m"),
            ("6m0s", "6m0s"),
            ("20ms", "20ms"),
            ("PT15M", "pt15m"),
            ("5 apples", "5 apples"),
        ] {
            assert_eq!(plain(length), expected);
        }
    }
}
