//! Every error sentence: file, line, key, and the nearest valid one.

use super::*;

/// Each `more` stands below a sound connection, from line 5 on.
fn table(cases: &[(&str, &str)]) {
    for (more, says) in cases {
        assert_eq!(wrong_below(more), *says, "\n--- for\n{more}");
    }
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let text = "[server]\nlisten = \"localhost\"\ncolour = \"red\"\n[[connection]]\nname = \"Yard\"\nbase_url = 5\n\
                [[conection]]\nname = \"x\"\n[[connection]]\nname = \"shed\"\nbase_url = \"shed.test\"\n";
    assert_eq!(
        wrong(text),
        "larder.toml:2: server.listen: must be an address and a port, such as \"127.0.0.1:8474\" or \"[::]:8474\"; \
         \"localhost\" is not\n\
         larder.toml:3: server.colour: unknown key; the nearest are: hosts, listen, data\n\
         larder.toml:4: connection[Yard]: declares no limit. Larder keeps a budget: say what the provider allows, as in \
         [[connection.limit]] with name = \"day\", requests = 1000, window = \"24h\", kind = \"rolling\"; where it names \
         none, what you are willing to send\n\
         larder.toml:5: connection[Yard].name: \"Yard\" is not a name; use a-z, 0-9, - and _, beginning with a letter or \
         a digit\n\
         larder.toml:6: connection[Yard].base_url: must be a text in quotes, not a number\n\
         larder.toml:7: conection: unknown key; did you mean `connection`?\n\
         larder.toml:9: connection[shed]: declares no limit. Larder keeps a budget: say what the provider allows, as in \
         [[connection.limit]] with name = \"day\", requests = 1000, window = \"24h\", kind = \"rolling\"; where it names \
         none, what you are willing to send\n\
         larder.toml:11: connection[shed].base_url: must begin with http:// or https://"
    );
}

#[test]
fn text_that_is_not_toml_is_told_by_line_without_quoting_it() {
    let said = wrong("[server]\nlisten = \"127.0.0.1:1\"\n[[connection]]\ncredential = hunter2-hunter2\n");
    assert!(said.starts_with("larder.toml:4: is not TOML: ") && !said.contains("hunter2"), "{said}");
    let said = wrong("[server]\nlisten = \"a\"\nlisten = \"b\"\n");
    assert!(said.starts_with("larder.toml:3: is not TOML: duplicate key"), "{said}");
}

#[test]
fn unknown_keys_name_the_nearest() {
    table(&[
        ("base_ur = \"x\"", "5: connection[yard].base_ur: unknown key; did you mean `base_url`?"),
        (
            "[connection.poll]\nintervall = \"5m\"",
            "6: connection[yard].poll.intervall: unknown key; did you mean `interval`?",
        ),
        ("[connection.history]\nkep = \"400d\"", "6: connection[yard].history.kep: unknown key; did you mean `keep`?"),
        (
            "[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\n[connection.target.fields]\nx = { pth = \"$\", path = \"$\" }",
            "11: connection[yard].target[t].fields.x.pth: unknown key; did you mean `path`?",
        ),
    ]);
}

#[test]
fn a_target_that_asks_nothing_needs_a_scan() {
    table(&[(
        "[[connection.target]]\nname = \"t\"\nitems = \"$[*]\"\nkey = \"$.id\"",
        "5: connection[yard].target[t].get: is missing: the path to ask; a target without one is fed by a \
         [[connection.scan]], and this connection has none, or by who pushes its answers (push = true)",
    )]);
}

#[test]
fn a_secret_in_the_file_is_refused_and_never_repeated() {
    for literal in [
        "credential = \"hunter2-hunter2\"",
        "credential = { value = \"hunter2-hunter2\", query = \"api_key\", env = \"X\" }",
        "credential = { secret = \"hunter2-hunter2\" }",
        "credential = { password = \"hunter2-hunter2\" }",
        "credential = [\"hunter2-hunter2\"]",
        "credential = { header = \"hunter2 hunter2\", env = \"X\" }",
        "credential = { env = \"$hunter2\", query = \"k\" }",
    ] {
        let said = wrong_below(literal);
        assert!(said.starts_with("5: connection[yard].credential"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert!(wrong_below("credential = \"hunter2\"").contains("must not hold the secret itself: put it into"));
}

#[test]
fn a_credential_says_where_it_lies_and_how_it_travels() {
    table(&[
        (
            "credential = { env = \"X\" }",
            "5: connection[yard].credential: does not say how the secret travels: add query = \"api_key\", or header = \
             \"Authorization\" with scheme = \"Bearer\", or basic = \"user\"",
        ),
        (
            "credential = { query = \"k\" }",
            "5: connection[yard].credential: does not say where the secret lies: add credential = { env = \"NAME\" } or { \
             file = \"PATH\" }",
        ),
        (
            "credential = { env = \"X\", file = \"y\", query = \"k\" }",
            "5: connection[yard].credential: has both `env` and `file`; the secret lies in one of them",
        ),
        (
            "credential = { env = \"X\", query = \"k\", header = \"h\" }",
            "5: connection[yard].credential: has more than one of `query`, `header` and `basic`; the secret travels in one of \
             them",
        ),
        (
            "credential = { env = \"X\", basic = false }",
            "5: connection[yard].credential.basic: must be the user name, or true where the secret itself is user:password",
        ),
        (
            "credential = { env = \"X\", basic = \"a:b\" }",
            "5: connection[yard].credential.basic: must be a user name without a colon and in ASCII; the password is the secret",
        ),
        (
            "credential = { env = \"X\", basic = \"a\", header = \"h\" }",
            "5: connection[yard].credential: has more than one of `query`, `header` and `basic`; the secret travels in one of \
             them",
        ),
        ("conditional = \"fre\"", "5: connection[yard].conditional: \"fre\" is unknown; did you mean `free`?"),
        (
            "credential = { env = \"X\", query = \"k\", scheme = \"Bearer\" }",
            "5: connection[yard].credential.scheme: belongs to `header`: it stands in front of the secret there",
        ),
        (
            "credential = { env = \"X\", query = \"k\" }\n[[connection.target]]\nname = \"t\"\nget = \"/t?a=1&k=hunter2\"\nitems = \"$\"\nkey = \"$\"",
            "6: connection[yard].target[t]: has k in its path; the credential is added when the request is sent, take it out",
        ),
    ]);
}

/// `more` keys of one rolling limit named `l`, at line 6 and following.
fn limit(more: &str) -> String {
    let text = format!(
        "[[connection]]\nname = \"yard\"\nbase_url = \"https://x.test\"\n[[connection.limit]]\nname = \"l\"\n{more}"
    );
    wrong(&text).replace("larder.toml:", "").replace("connection[yard].limit[l]", "L")
}

#[test]
fn limits_are_refused_in_words() {
    for (more, says) in [
        (
            "",
            "4: L.requests: is missing: how many requests the provider allows\n\
             4: L.kind: is missing: one of rolling, fixed, anchored, daily, weekly, monthly, pace, concurrent",
        ),
        (
            "requests = 5\nkind = \"rolling\"",
            "4: L.window: is missing: how long the amount is counted over, such as \"5m\"",
        ),
        (
            "requests = 5\nkind = \"roling\"\nwindow = \"5m\"",
            "7: L.kind: \"roling\" is unknown; did you mean `rolling`?",
        ),
        ("requests = 0\nkind = \"concurrent\"", "6: L.requests: must be at least 1, not 0"),
        (
            "requests = 99999999999999999999\nkind = \"concurrent\"",
            "6: L.requests: must be at most 9223372036854775807, not 99999999999999999999",
        ),
        ("requests = \"5\"\nkind = \"concurrent\"", "6: L.requests: must be a whole number, at least 1, not a text"),
        ("requests = 5\nkind = \"rolling\"\nwindow = \"0s\"", "8: L.window: must be longer than nothing"),
        (
            "requests = 5\nkind = \"rolling\"\nwindow = 300",
            "8: L.window: must be a duration in quotes with a unit, such as \"300s\"",
        ),
        (
            "requests = 5\nkind = \"rolling\"\nwindow = \"5 min\"",
            "8: L.window: \"5 min\" is not a duration; write a whole number and one of ms, s, m, h, d, such as \"75s\" or \
             \"5m\"",
        ),
        ("requests = 5\nkind = \"daily\"\nwindow = \"1d\"", "8: L.window: does not belong to kind \"daily\""),
        (
            "requests = 5\nkind = \"rolling\"\nwindow = \"1d\"\nresets_at = \"00:00\"\nday = 1",
            "9: L.resets_at: does not belong to kind \"rolling\"\n10: L.day: does not belong to kind \"rolling\"",
        ),
        (
            "requests = 5\nkind = \"daily\"\nresets_at = \"24:00\"",
            "8: L.resets_at: \"24:00\" is not a time of day; write it as \"00:00\" to \"23:59\"",
        ),
        (
            "requests = 5\nkind = \"daily\"\ntime_zone = \"Europe/Berln\"",
            "8: L.time_zone: \"Europe/Berln\" is not a time zone; did you mean \"Europe/Berlin\"?",
        ),
        ("requests = 5\nkind = \"monthly\"\nday = 32", "8: L.day: must be from 1 to 31, not 32"),
        (
            "requests = 5\nkind = \"weekly\"",
            "4: L.day: is missing: the day of the week on which it resets, such as \"monday\"",
        ),
        (
            "requests = 5\nkind = \"weekly\"\nday = \"Monday\"",
            "8: L.day: \"Monday\" is not a day of the week; did you mean `monday`?",
        ),
        (
            "requests = 5\nkind = \"anchored\"\nwindow = \"1d\"\nday = 1",
            "9: L.day: does not belong to kind \"anchored\"",
        ),
        (
            "requests = 5\nkind = \"pace\"\nwindow = \"1m\"\nkeep = { refresh = 1 }",
            "9: L.keep: means nothing for kind \"pace\": it lets one through, whoever asks first",
        ),
        (
            "requests = 5\nkind = \"concurrent\"\nscope = \"endpont\"",
            "8: L.scope: \"endpont\" is unknown; did you mean `endpoint`?",
        ),
        (
            "requests = 5\nkind = \"concurrent\"\nkeep = { refesh = 1 }",
            "8: L.keep.refesh: unknown key; did you mean `refresh`?",
        ),
        (
            "requests = 5\nkind = \"concurrent\"\nkeep = { refresh = 6 }",
            "8: L.keep.refresh: must be from 1 to 5, not 6",
        ),
        (
            "requests = 5\nkind = \"concurrent\"\nkeep = { refresh = 3, command = 3 }",
            "8: L.keep: keeps 6 of 5 requests; keep less than there is",
        ),
        (
            "requests = 5\nkind = \"rolling\"\nwindow = \"1s\"\ncap = { poller = 1 }",
            "9: L.cap: belongs to kind \"concurrent\" only: it bounds what is in flight",
        ),
        (
            "requests = 5000\nkind = \"pace\"\nwindow = \"1s\"",
            "8: L.window: is too short: more than one request per millisecond has no pace",
        ),
    ] {
        assert_eq!(limit(more), says, "\n--- for\n{more}");
    }
}

#[test]
fn a_limit_in_single_brackets_is_told_how_to_write_it() {
    let text = "[[connection]]\nname = \"yard\"\nbase_url = \"https://x.test\"\n[connection.limit]\nname = \"l\"\n";
    let said = wrong(text);
    assert!(
        said.contains(":4: connection[yard].limit: must be written [[connection.limit]], with two brackets"),
        "{said}"
    );
}

#[test]
fn what_can_never_be_sent_is_refused() {
    let target = "[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\ncost = 6\n";
    let says = "connection[yard].target[t]: can never be sent: a poll costs 6, and limit \"day\" leaves the poller 5 of 5 \
                at best; lower `cost` or `keep`";
    assert_eq!(wrong_below(target), format!("5: {says}"));
    sound(&yard(&format!("poll = {{ enabled = false }}\n{target}")));
    let command = "[[connection.command]]\nname = \"c\"\npost = \"/c\"\ncost = 6\n";
    assert_eq!(
        wrong_below(command),
        "5: connection[yard].command[c]: can never be sent: the command costs 6, and limit \"day\" leaves the command 5 of \
         5 at best; lower `cost` or `keep`"
    );
    let kept = "[[connection]]\nname = \"yard\"\nbase_url = \"https://x.test\"\n\
                limit = [{ name = \"l\", requests = 2, kind = \"concurrent\", keep = { refresh = 2 } }]\n\
                target = [{ name = \"t\", get = \"/t\", items = \"$\", key = \"$\" }]\n";
    let said = wrong(kept);
    assert!(said.contains("leaves the poller 0 of 2 at best"), "{said}");
}

#[test]
fn polls_targets_and_commands_are_refused_in_words() {
    table(&[
        (
            "poll = { interval = \"500ms\" }",
            "5: connection[yard].poll.interval: is shorter than one second; no provider is polled faster",
        ),
        ("poll = { enabled = \"yes\" }", "5: connection[yard].poll.enabled: must be true or false, not a text"),
        (
            "target = [{ name = \"t\", get = \"t#x\", items = \"\", key = \"$\" }]",
            "5: connection[yard].target[t].get: must begin with /; it is added to base_url\n\
             5: connection[yard].target[t].items: must not be empty",
        ),
        (
            "target = [{ name = \"t\", get = \"/t\", items = \"$\", key = \"$\", fresh_for = \"2m\", expires_after = \"1m\" }]",
            "5: connection[yard].target[t].expires_after: is shorter than fresh_for; an answer goes stale before it expires",
        ),
        (
            "target = [{ name = \"t\", get = \"/t\", items = \"$\", key = \"$\", fields = { x = { path = \"$\", as = \"seconds-lft\" } } }]",
            "5: connection[yard].target[t].fields.x.as: \"seconds-lft\" is not a kind of field; did you mean `seconds-left`?",
        ),
        (
            "command = [{ name = \"c\", get = \"/c/{item\" }]",
            "5: connection[yard].command[c].get: has a brace without its partner; parameters are written {like_this}",
        ),
        (
            "command = [{ name = \"c\", get = \"/c/{Item}\" }]",
            "5: connection[yard].command[c].get: {Item} is not a parameter's name; use a-z, 0-9 and _",
        ),
        (
            "command = [{ name = \"c\" }]",
            "5: connection[yard].command[c]: has neither `get` nor `post`: the path to ask, with parameters in braces",
        ),
        (
            "command = [{ name = \"c\", get = \"/c\", then_refresh = \"controler\" }]\n\
             target = [{ name = \"controller\", get = \"/t\", items = \"$\", key = \"$\" }]",
            "5: connection[yard].command[c].then_refresh: there is no target \"controler\"; did you mean `controller`?",
        ),
        (
            "command = [{ name = \"c\", get = \"/c\", retry = \"always\" }]",
            "5: connection[yard].command[c].retry: \"always\" is unknown; there is: never, idempotent",
        ),
    ]);
}

#[test]
fn the_limit_of_a_rule_is_one_that_is_declared() {
    let rule = |outcome: &str, of: &str| {
        format!("rule = [{{ name = \"r\", outcome = \"{outcome}\", status = 429, limit = \"{of}\" }}]")
    };
    table(&[
        (
            &rule("limited", "dya"),
            "5: connection[yard].rule[r].limit: there is no limit \"dya\" with a window; did you mean `day`?",
        ),
        (
            &rule("limited", "open"),
            "5: connection[yard].rule[r].limit: there is no limit \"open\" with a window; there is: day",
        ),
        (
            &rule("unpaid", "day"),
            "5: connection[yard].rule[r].limit: means nothing where the outcome is unpaid: it is for answers that are limited",
        ),
    ]);
}

#[test]
fn the_time_of_a_reading_is_refused_in_words() {
    let target =
        |more: &str| format!("[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\n{more}");
    table(&[
        (
            &target("observed_at = { as = \"epoch-s\" }"),
            "10: connection[yard].target[t].observed_at: needs exactly one of path (a JSONPath from the item, such as \
             \"$.measured_at\"), answer (one from the whole answer) and header",
        ),
        (
            &target("observed_at = { path = \"$.at\", as = \"hours\" }"),
            "10: connection[yard].target[t].observed_at.as: \"hours\" is not how a time of a reading is written; there is: \
             time, http-date, epoch-s, epoch-ms, epoch-us, epoch-ns, seconds-ago",
        ),
        (
            &target("observed_at = { path = \"$.at\", answer = \"$.at\" }"),
            "10: connection[yard].target[t].observed_at: needs exactly one of path (a JSONPath from the item, such as \
             \"$.measured_at\"), answer (one from the whole answer) and header",
        ),
        (
            &target("observed_at = { header = \"Age\", as = \"seconds-ago\", time_zone = \"UTC\" }"),
            "10: connection[yard].target[t].observed_at.time_zone: belongs to as = \"time\": nothing else can lack an offset",
        ),
        (
            &target("observed_at = { path = \"$.at\", time_zone = \"Europe/Berlim\" }"),
            "10: connection[yard].target[t].observed_at.time_zone: \"Europe/Berlim\" is not a time zone; did you mean \"Europe/Berlin\"?",
        ),
        (
            &target("observed_at = { path = \"$.at\", zone = \"UTC\" }"),
            "10: connection[yard].target[t].observed_at.zone: unknown key; there is: path, answer, header, as, time_zone",
        ),
        (&target("observed_at = \"$.at\""), "10: connection[yard].target[t].observed_at: must be a table, not a text"),
        (
            &target("observed_at = { path = \"at\" }"),
            "10: connection[yard].target[t].observed_at.path: `at` is not a JSONPath: at position 0, parser error",
        ),
        (
            &target("observed_at = { path = \"$.at\" }\nfields = { observed_at = { path = \"$.at\" } }"),
            "10: connection[yard].target[t].observed_at: is also the name of a field; it is shown with the fields, so give \
             the field another name",
        ),
    ]);
}

#[test]
fn states_and_rules_are_refused_in_words() {
    let target =
        |more: &str| format!("[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\n{more}");
    let fields = "fields = { left = { path = \"$\", as = \"seconds-left\" }, x = { path = \"$\" } }\n";
    table(&[
        (
            &target("state = [{ is = \"run\", until = \"left\" }]"),
            "10: connection[yard].target[t].state[run]: `until` (a countdown field) and `then` (the word when it ended) go \
             together",
        ),
        (
            &target(&format!("{fields}state = [{{ is = \"run\", until = \"x\", then = \"idle\" }}]")),
            "11: connection[yard].target[t].state[run].until: \"x\" is no field of kind seconds-left or seconds-until; \
             there is: left",
        ),
        (
            &target("state = [{ is = \"run\" }, { is = \"idle\" }]"),
            "10: connection[yard].target[t].state[run]: has no `when`, so it always holds and the states after it never do; \
             put it last",
        ),
        (
            "rule = [{ name = \"all\", outcome = \"data\" }]",
            "5: connection[yard].rule[all]: has no condition (status, header, body or json), so it would match every answer",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"limitd\", status = 200 }]",
            "5: connection[yard].rule[r].outcome: \"limitd\" is not an outcome; did you mean `limited`?",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"timed_out\", status = 200 }]",
            "5: connection[yard].rule[r].outcome: \"timed_out\" means that there was no answer; a rule can say data, \
             not_modified, limited, unpaid, credential_rejected, overloaded, not_ready, gone, unexpected",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"limited\", status = [200, 99] }]",
            "5: connection[yard].rule[r].status: must be whole numbers from 100 to 599",
        ),
        (
            "rule = [{ name = \"r\", outcome = \"limited\", header = { name = \"x\" } }]",
            "5: connection[yard].rule[r].header.matches: is missing: a regular expression",
        ),
        (
            "waits = { floor = \"2m\", default = \"1m\" }",
            "5: connection[yard].waits.default: must be in order: floor (2 min), default (60 s), ceiling (40 d)",
        ),
        ("waits = { floor = \"0s\" }", "5: connection[yard].waits.floor: must be longer than nothing"),
    ]);
}

#[test]
fn names_are_taken_once() {
    let twice = "[[connection.command]]\nname = \"c\"\nget = \"/c\"\n";
    assert_eq!(
        wrong_below(&format!("{twice}{twice}")),
        "8: connection[yard].command[c]: there is another one named \"c\""
    );
    let said = wrong(&format!("{}{}", yard(""), yard("")));
    assert_eq!(said, "larder.toml:5: connection[yard]: there is another connection named \"yard\"");
    sound(&format!("{}{}", yard(""), yard("organization = \"acme\"")));
}

#[test]
fn a_data_path_leaves_room_for_the_socket() {
    let said = wrong(&format!("[server]\ndata = \"{}\"", "x".repeat(100)));
    assert!(
        said.starts_with("larder.toml:2: server.data: is too long: the socket beside it would have 117 bytes"),
        "{said}"
    );
    let said = wrong("[server]\nhosts = [\"http://x\", \"ok.lan\"]");
    assert!(said.contains("server.hosts: \"http://x\" is not a host name"), "{said}");
    let said = wrong("[server]\nbase_path = \"larder/../x\"");
    assert!(said.contains("server.base_path: must be the path at which a proxy in front leaves the site"), "{said}");
}

#[test]
fn expressions_are_told_at_the_table_that_they_stand_in() {
    fn judge(spec: &ConnectionSpec) -> Vec<WrongExpression> {
        let wrong = |of, sentence: &str| WrongExpression { of, sentence: sentence.to_owned() };
        let target = ExpressionOf::Target(spec.targets[1].name.clone());
        vec![wrong(target, "items: no JSONPath"), wrong(ExpressionOf::Rules, "rule \"r\": no pattern")]
    }
    let target =
        |name: &str| format!("[[connection.target]]\nname = \"{name}\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\n");
    let rule =
        "[[connection.rule]]\nname = \"r\"\noutcome = \"limited\"\nbody = \"(\"\n[connection.poll]\nintervl = \"5m\"\n";
    let text = yard(&format!("{}{}{rule}", target("a"), target("b")));
    let (environment, recipes) = (Environment::default(), Recipes::default());
    let errors = read(&text, Path::new("larder.toml"), &environment, &recipes, judge).unwrap_err();
    assert_eq!(
        told(errors),
        "larder.toml:10: connection[yard].target[b]: items: no JSONPath\n\
         larder.toml:15: connection[yard].rule[r]: rule \"r\": no pattern\n\
         larder.toml:20: connection[yard].poll.intervl: unknown key; did you mean `interval`?"
    );
}

/// Each `more` is the rest of a target that begins in line 5.
fn target_table(cases: &[(&str, &str)]) {
    for (more, says) in cases {
        let text = format!("[[connection.target]]\nname = \"t\"\nitems = \"$[*]\"\nkey = \"$.id\"\n{more}");
        assert_eq!(wrong_below(&text), *says, "\n--- for\n{more}");
    }
}

#[test]
fn what_a_request_cannot_carry_is_told() {
    target_table(&[
        ("get = \"/t\"\npost = \"/t\"", "5: connection[yard].target[t]: has both `get` and `post`; it is one request"),
        ("get = \"/t\"\nbody = \"x\"", "10: connection[yard].target[t].body: belongs to `post`: a GET has no body"),
        (
            "get = \"/t/{tody}\"",
            "9: connection[yard].target[t].get: {tody} is none of {today}, {now} and {target}; written {{tody}} it is sent as it stands",
        ),
        (
            "get = \"/t/{today+1h}\"",
            "9: connection[yard].target[t].get: {today+1h} has no offset of days; write +1d, -2w, +1mo or -1y; written \
             {{today+1h}} it is sent as it stands",
        ),
        (
            "post = \"/t\"\nbody = '{\"a\":}'",
            "10: connection[yard].target[t].body: is not JSON (expected value at line 1 column 6); name another content_type, \
             or write a table",
        ),
        (
            "post = \"/t\"\nbody = { a = nan }",
            "10: connection[yard].target[t].body: has the number nan, which JSON cannot carry",
        ),
        ("post = \"/t\"\nbody = 5", "10: connection[yard].target[t].body: must be a text or a table, not a number"),
        (
            "post = \"/t\"\ncontent_type = \"json\"",
            "10: connection[yard].target[t].content_type: is no media type; write it as \"application/json\"",
        ),
        (
            "get = \"/t\"\nheaders = { Authorization = \"hunter2\" }",
            "10: connection[yard].target[t].headers.Authorization: carries a credential; secrets travel by `credential` alone, \
             which keeps them out of files and logs",
        ),
        (
            "get = \"/t\"\nheaders = { X-Api-Key = \"hunter2\" }",
            "10: connection[yard].target[t].headers.X-Api-Key: reads like a secret; let it travel by credential = { header = \
             \"X-Api-Key\", ... }",
        ),
        (
            "get = \"/t\"\nheaders = { Connection = \"close\" }",
            "10: connection[yard].target[t].headers.Connection: belongs to one hop of HTTP or to Larder's client; it is set for \
             every request",
        ),
        (
            "get = \"/t\"\nheaders = { accept = \"a\\nb\" }",
            "10: connection[yard].target[t].headers.accept: has characters that a header cannot carry",
        ),
    ]);
    table(&[
        (
            "time_zone = \"Europe/Berln\"",
            "5: connection[yard].time_zone: \"Europe/Berln\" is not a time zone; did you mean \"Europe/Berlin\"?",
        ),
        (
            "credential = { env = \"X\", header = \"X-Yard\" }\n[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$\"\nkey = \"$\"\nheaders = { x-yard = \"a\" }",
            "6: connection[yard].target[t]: sets X-Yard; the credential is added when the request is sent, take it out",
        ),
    ]);
}

#[test]
fn a_body_as_a_table_is_json_in_the_order_of_the_file() {
    let text = "[[connection.command]]\nname = \"c\"\npost = \"/c\"\nbody = { z = \"{item}\", n = \"{seconds:number}\", l = [1, 2.5, true], at = 2026-11-30 }";
    let command = sound(&yard(text)).connections.remove(0).commands.remove(0);
    assert_eq!(
        command.send.body.as_deref(),
        Some(r#"{"z":"{item}","n":{seconds},"l":[1,2.5,true],"at":"2026-11-30"}"#)
    );
    assert_eq!(command.send.content_type, "application/json");
}

#[test]
fn a_credential_that_renews_itself_says_where_and_as_whom() {
    let oauth = |keys: &str| format!("credential = {{ env = \"X\", oauth2 = {{ {keys} }} }}");
    for (keys, says) in [
        (
            "client_id = \"c\"",
            "5: connection[yard].credential.oauth2.token_url: is missing: where tokens are refreshed, such as \"https://auth.example.test/token\"",
        ),
        (
            "token_url = \"https://a.test/t\"",
            "5: connection[yard].credential.oauth2.client_id: is missing: what the provider calls this client",
        ),
        (
            "token_url = \"http://a.test/t\", client_id = \"c\"",
            "5: connection[yard].credential.oauth2.token_url: must begin with https://; a refresh token does not travel in the clear",
        ),
        (
            "token_url = \"https://a.test/t\", client_id = \"c\", client_secret = \"hunter2\"",
            "5: connection[yard].credential.oauth2.client_secret: must not hold the secret itself: write client_secret = { env = \"NAME\" } or { file = \"PATH\" }",
        ),
        (
            "token_url = \"https://a.test/t\", client_id = \"c\", auth = \"header\"",
            "5: connection[yard].credential.oauth2.auth: \"header\" is unknown; there is: basic, body",
        ),
        (
            "token_url = \"https://a.test/t\", client_id = \"c\", rotate = true",
            "5: connection[yard].credential.oauth2.rotate: unknown key; did you mean `rotates`?",
        ),
    ] {
        assert_eq!(wrong_below(&oauth(keys)), says, "{keys}");
    }
    assert_eq!(
        wrong_below("credential = { oauth2 = { token_url = \"https://a.test/t\", client_id = \"c\" } }"),
        "5: connection[yard].credential: does not say where the refresh token lies: add credential = { env = \"NAME\" } or { file = \"PATH\" }"
    );
}

#[test]
fn two_accounts_of_one_client_have_names() {
    let one = |name: &str, env: &str, account: &str| {
        let oauth = format!("oauth2 = {{ token_url = \"https://a.test/t\", client_id = \"c\"{account} }}");
        yard(&format!("credential = {{ env = \"{env}\", {oauth} }}\n")).replace("\"yard\"", &format!("\"{name}\""))
    };
    assert_eq!(sound(&[one("a", "X", ""), one("b", "X", "")].concat()).connections.len(), 2);
    assert_eq!(sound(&[one("a", "X", ""), one("b", "Y", ", account = \"second\"")].concat()).connections.len(), 2);
    let said = wrong(&[one("a", "X", ""), one("b", "Y", "")].concat());
    assert!(said.contains("connection[b]: has the client of connection \"a\" and another refresh token"), "{said}");
}

#[test]
fn an_oauth_credential_is_read_and_may_come_from_the_recipe() {
    use crate::domain::oauth::{ClientAuth, Counted, OAuthSpec, Rotation};
    use crate::domain::spec::{Carrier, SecretSource};
    let recipe = "base_url = \"https://api.test\"\nlimit = [{ name = \"d\", requests = 5, window = \"5m\", kind = \"rolling\" }]\n\
                  credential = { oauth2 = { token_url = \"https://a.test/t\", scope = \"read\", auth = \"body\", rotates = true, charged = false } }\n\
                  [[fact]]\ntext = \"t\"\nsource = \"s\"\ndate = \"2026-11-30\"\n";
    let text = "[[connection]]\nname = \"car\"\nrecipe = \"r\"\n\
                credential = { file = \"car.token\", oauth2 = { client_id = \"c\", client_secret = { env = \"CS\" } } }\n";
    let car = read_with(text, &[], &[("r", recipe)]).unwrap_or_else(|e| panic!("{}", told(e))).connections.remove(0);
    assert_eq!(car.secret, SecretSource::File("/etc/larder/car.token".into()));
    assert_eq!(car.carrier, Carrier::Header { name: "Authorization".to_owned(), scheme: Some("Bearer".to_owned()) });
    let expected = OAuthSpec {
        token_url: "https://a.test/t".to_owned(),
        client_id: "c".to_owned(),
        client_secret: SecretSource::Env("CS".to_owned()),
        scope: Some("read".to_owned()),
        auth: ClientAuth::Body,
        rotation: Rotation::Rotates,
        counted: Counted::Apart,
        account: String::new(),
    };
    assert_eq!(car.oauth, Some(expected));
}

#[test]
fn a_key_that_stands_beside_its_item_is_refused_in_words() {
    let target =
        |key: &str| format!("[[connection.target]]\nname = \"t\"\nget = \"/t\"\nitems = \"$.a.*\"\nkey = \"{key}\"\n");
    table(&[
        (&target("@nmae"), "9: connection[yard].target[t].key: \"@nmae\" is not a kind of key; did you mean `@name`?"),
        (&target("@id"), "9: connection[yard].target[t].key: \"@id\" is not a kind of key; there is: @name, @position"),
        (&target(""), "9: connection[yard].target[t].key: must not be empty"),
    ]);
}

#[test]
fn webhooks_are_named_and_go_somewhere_else_than_the_provider() {
    table(&[
        (
            "[[connection.webhook]]\nname = \"desk\"",
            "5: connection[yard].webhook[desk].url: is missing: where the events are posted to, such as \"http://127.0.0.1:9000/larder\"",
        ),
        (
            "[[connection.webhook]]\nname = \"desk\"\nurl = \"ftp://a.test/x\"\nevents = [\"target_change\"]",
            "7: connection[yard].webhook[desk].url: must begin with http:// or https://\n\
             8: connection[yard].webhook[desk].events: \"target_change\" is unknown; did you mean `target_changed`?",
        ),
        (
            "[[connection.webhook]]\nname = \"desk\"\nurl = \"http://a.test/x\"\nevents = [\"target_seen\"]\nsecret = \"hunter2\"",
            "8: connection[yard].webhook[desk].events: \"target_seen\" is not kept, or not of a connection, and so is sent nowhere\n\
             9: connection[yard].webhook[desk].secret: must not hold the secret itself: put it into an environment \
             variable or a file that only Larder can read, and name that here: { env = \"NAME\" } or { file = \"PATH\" }",
        ),
        (
            "[[connection.webhook]]\nname = \"desk\"\nkind = \"ntfy\"\nurl = \"https://a.test/\"\nsettle = \"2h\"",
            "8: connection[yard].webhook[desk].url: has no topic behind its host, as in \"https://ntfy.example.test/larder\"\n\
             9: connection[yard].webhook[desk].settle: must be at most 1 h",
        ),
        (
            "[[connection.webhook]]\nname = \"desk\"\nkind = \"mail\"\nurl = \"https://a.test/x\"\nclick = \"https://b.test\"",
            "7: connection[yard].webhook[desk].kind: \"mail\" is unknown; there is: ntfy, webhook\n\
             9: connection[yard].webhook[desk].click: means something with kind = \"ntfy\" alone; remove it, or say that kind",
        ),
    ]);
}
