### What the pages say, in English. Every other language is a file beside this one, named by its tag (`de.ftl`), with the same keys; a text
### that it lacks is said in English.
###
### `{ $name }` is put in as it stands. Marks stand for elements: <b>, <code>, <bdi>, <muted> (less important), <a> (a link; where a text has
### two, the second is <a2>). No other mark, no quotation mark but “ ” ’ and no ampersand may stand here.

## Said in several places

any-24-h-ago = 24 h ago
any-a-day = A day
any-activity = Activity
any-as-a-table = As a table
any-as-it-is = As it is
any-at = At
any-at-2 = { $by } at { $at }
any-back = Back
any-back-to = { $label }: back to { $configured }
any-by-others = { $foreign } by others
any-call = Call
any-change-it = Change it
any-configured = Configured
any-connection = Connection
any-connections = Connections
any-control = Control
any-credential = Credential
any-declared = , { $declared } declared
any-every = Every
any-from = From
any-is = { $name } is { $state }
any-item = Item
any-kept = { $kept } kept
any-left = left
any-look-at = Look at
any-metrics = Metrics
any-name = Name
any-new-password = New password
any-newer = Newer
any-no-answer-yet = no answer yet
any-nobody = nobody
any-none = none
any-none-yet = none yet
any-not-planned = not planned
any-now = now { $e }
any-now-2 = Now
any-now-3 = now
any-of-left = { $left } of { $requests } left
any-off = off
any-old = { $age } old
any-older = Older
any-on = On
any-operators = Operators
any-overview = Overview
any-password = Password
any-paused = paused
any-phase = Phase
any-planned = planned
any-polling = Polling
any-polling-of-the-whole = Polling of the whole appliance
any-scrolls-sideways = Scrolls sideways
any-set-by = Set by
any-setup = { $name }: setup
any-setup-2 = Setup
any-show = Show
any-sign-in = Sign in
any-state = State
any-take-away = Take { $name } away
any-take-it-away = Take it away…
any-targets = Targets
any-targets-it-can-carry = Targets it can carry
any-the-provider = the provider
any-the-values-are-older = The values are older than they should be.
any-time = Time
any-tokens = Tokens
any-units = Units
any-what = What
any-where-you-are = Where you are
any-words = Words

## activities.html

activities-changes-holds-commands-and = Changes, holds, commands and what operators did, newest first.
activities-kind = Kind
activities-nothing-of-that-is = Nothing of that is known.
activities-pages-of-the-activity = Pages of the activity
activities-what-happened = What happened

## activity.html

activity-its-requests = its requests

## banner.html

banner-costs = costs { $cost }
banner-since = Since { $since }, { $since-rel }.
banner-that-is = That is { $at-rel }.

## burn.html

burn-at-this-pace = at this pace
burn-budget-over-time = Budget over time
burn-left = Left
burn-other-limits = Other limits:
burn-planned = Planned
burn-the-step-before-now = The step before now is what others have taken by the provider’s count: when they did is not known.

## claim.html

claim-at-least-10-characters = At least 10 characters; a few words do well.
claim-become-an-operator = Become an operator
claim-claim = Claim
claim-claim-this-appliance = Claim this appliance
claim-code = Code
claim-no-code-is-good = No code is good at the moment. On the machine, <code>larder operator reset</code> prints one.
claim-set-the-password = Set the password
claim-the-appliance-printed-a = The appliance printed a one-time code when it started; it is in its log too. It is good for half an hour. After that, <code>larder operator reset</code> on the machine prints another one.
claim-with-a-code-from = With a code from another operator, or from <code>larder operator reset</code> on the machine, choose a password. Where the name is known already, this sets a new one and ends every session of that name.
claim-your-name = Your name

## code.html

code-a-code-for = A code for { $name }
code-code-for = Code for { $name }
code-hand-it-over-it = Hand it over. It is shown this once, good until { $until }, and for { $name } alone, who chooses a password with it at <a>/claim</a>.

## connection.html

connection-1-request-sent-when = 1 request, sent when the budget lets it.
connection-a-bar = { $slice } a bar
connection-all-targets-and-put = All targets ({ $all-targets }), and put one
connection-alone-on-hold = <code>{ $e }</code> alone on hold
connection-alone-was-on-hold = <code>{ $e }</code> alone was on hold
connection-became = Became
connection-breaker = Breaker: { $b }.
connection-budget = Budget
connection-by = by { $by }
connection-by-2 = By
connection-by-rule = by rule: { $rule }
connection-change-how-it-polls = Change how it polls, or probe
connection-commands = Commands
connection-configured = (configured: { $configured }).
connection-first-request-at = First request at { $next } ({ $next-rel }).
connection-from-until-because-of = ({ $reason }) from { $since } until { $until }, because of { $source }; recognised by rule “{ $rule }”.
connection-how-it-polls = How it polls
connection-it-may-or-may = it may or may not have reached the provider, and is not sent again
connection-job = job { $id }
connection-jobs = Jobs
connection-last = Last
connection-last-requests = Last requests
connection-never-sent-twice-if = Never sent twice: if its fate is not known, that is said.
connection-next = Next
connection-no-command-was-given = No command was given yet.
connection-no-limit-is-declared = No limit is declared for this connection.
connection-no-target-is-configured = No target is configured, so nothing is polled. Add a <code>[[connection.target]]</code>.
connection-nobody-has-asked-anything = Nobody has asked anything since { $from }.
connection-not-counted = not counted
connection-not-yet = not yet
connection-nothing-has-been-sent = Nothing has been sent yet.
connection-nothing-has-happened-yet = Nothing has happened yet.
connection-nothing-is-requested-while = Nothing is requested while paused; the shelf keeps what it has, and its age shows.
connection-on-hold = On hold
connection-pause = Pause
connection-pause-polling = Pause polling
connection-polling-goes-on-where = Polling goes on where the budget lets it; nothing is caught up.
connection-refused-times-in-a = Refused { $strikes } times in a row, so longer than the last time.
connection-resume = Resume
connection-resume-polling = Resume polling
connection-set-by = { $label }: { $in-force }, set by { $by }
connection-since-nothing-is-asked = ({ $reason }) since { $since }; nothing is asked before { $until } ({ $until-rel }). That long because of { $source }; recognised by rule “{ $rule }”.
connection-the-last-24-hours = The last 24 hours
connection-the-next-request-for = The next request for it finds out whether that is over.
connection-the-provider-at = the provider, at { $since }
connection-the-whole-appliance = The whole appliance
connection-then = Then { $r-0 }: { $r-1 }
connection-this-connection-has-no = This connection has no commands.
connection-together = together <b>{ $total }</b>
connection-until = until { $u }
connection-was-on-hold = Was on hold
connection-webhooks = Webhooks
connection-what-if = What if?
connection-who-spent-it = Who spent it
connection-worth-knowing = Worth knowing

## controls.html

controls-3h-blank-until-cleared = 3h; blank: until cleared
controls-48h-or-never = 48h or never
controls-60s-5m-or-auto = 60s, 5m or auto
controls-asks-the-provider-about = Asks the provider about { $target } (<code>{ $endpoint }</code>) once, now: { $cost }. What it says is told under Activity; the shelf and the poll clock stay as they are.
controls-change-it-so = Change it so
controls-clear-what-is-set = Clear what is set…
controls-for = for
controls-how-it-polls = { $name }: how it polls
controls-how-polls = How { $name } polls
controls-not-now = Not now: { $why }.
controls-poll-every = Poll every
controls-probe = Probe
controls-probe-2 = Probe…
controls-probe-3 = Probe { $name }
controls-show-the-effect = Show the effect
controls-stop-completed-targets-after = Stop completed targets after
controls-stop-targets-without-a = Stop targets without a change for
controls-until = , until { $u } ({ $u-rel })
controls-what-is-blank-stays = What is blank stays. The effect is shown here before anything is changed.
controls-what-is-set-here = What is set here wins over the configuration until it is cleared or its time is over.

## credential.html

credential-and-the-clients-secret = And the client’s secret
credential-blank-as-it-is = blank: as it is
credential-budget-items-and-history = Budget, items and history stay: the account is the same.
credential-by-at-it-counts = by { $set-0 } at { $set-1 }; it counts until it is cleared
credential-clear-it-back-to = Clear it: back to the configured one
credential-credential = { $name }: credential
credential-credential-2 = credential
credential-it-is-kept-sealed = It is kept sealed and never shown again. What is under way ends with the old one.
credential-it-is-taken-for = It is taken for another key of the same account: what was spent counts on.
credential-it-spends-from-a = It spends from a budget of its own. Where it is another key of the same account, write same_account = true beside the configured one first.
credential-its-requests-count-for = { $since } its requests count for the account of now
credential-new = New
credential-nothing-as-configured = nothing: as configured
credential-refresh-token = refresh token
credential-replace = Replace…
credential-set = Set
credential-since = Since
credential-the-credential-of = The credential of { $name }
credential-use-it = Use it

## error.html

error-not-before = Not before { $at } ({ $at-rel }).
error-request = Request { $request }
error-try-again-in-s = Try again in { $seconds } s.

## findings.html

findings-seen-times-last-at = ; seen { $times } times, last at { $last }
findings-since = Since { $since }

## gauge.html

gauge-at-most = at most { $caps }
gauge-by-plan = { $planned } by plan
gauge-next-slot-at = next slot at { $next } ({ $next-rel })
gauge-resets = resets { $at } ({ $at-rel })
gauge-used = { $used } used

## hidden.html

hidden-from-larder-token-create = from larder token create
hidden-or-sign-in = or sign in
hidden-token = Token

## history.html

history-all-items = All items
history-all-of-it = All of it:
history-as-a-plot = As a plot
history-content-last-changed-at = Content last changed at { $changed }
history-history = History
history-json-lines = JSON lines
history-last-asked-at = ; last asked at { $tried }
history-no-item-has-been = No item has been seen yet. What appears, changes and goes will be listed here.
history-nothing-is-here = Nothing is here.
history-of = of { $item-0 }
history-pages-of-the-history = Pages of the history

## item.html

item-assumed-last-seen-until = assumed: last seen { $a-0 }, until { $a-1 }
item-changed = changed { $changed }
item-first-seen = first seen { $first-seen }
item-last-seen = last seen { $last-seen }
item-measured-at = measured { $at-rel }, at { $at }
item-removed = removed { $at }

## layout.html

layout-it-comes-back-by = ; it comes back by itself.
layout-larder-was-updated = Larder was updated. Load this page again.
layout-larder-is-the-only = Larder is the only caller. Looking at this page asks nobody.
layout-live-link-lost-this = Live link lost. This page is from
layout-page-from = page from { $made-at } { $zone }
layout-pages = Pages
layout-skip-to-the-content = Skip to the content
layout-what-was-written-down = What was written down tells the appliance’s own time, where it is { $time }.

## left.html

left-next-slot = next slot { $next }, { $next-rel }
left-resets = resets { $at }, { $at-rel }

## operators.html

operators-add = Add
operators-add-an-operator = Add an operator
operators-added = Added
operators-at-least-10-characters = At least 10 characters. Your other browsers are signed out by it.
operators-browsers-of = Browsers of { $name }
operators-by = { $added }, by { $added-by }
operators-change = Change…
operators-change-the-password = Change the password
operators-last-seen = Last seen
operators-password-of-now = Password of now
operators-remove = Remove { $name }
operators-sign-out = Sign out
operators-sign-out-everywhere = Sign { $name } out everywhere
operators-signed-in = Signed in
operators-signed-in-nowhere = Signed in nowhere.
operators-since = since { $at }
operators-this-browser = This browser
operators-who-is-removed-is = Who is removed is signed out everywhere and comes in no more. Tokens stay.
operators-who-may-see-and = Who may see and change everything, and the browsers in which they are signed in. Programs have <a>tokens</a>.
operators-you-get-a-code = You get a code for that person, good for half an hour, who chooses a password with it.
operators-your-password = Your password

## overview.html

overview-add-a-connection-to = Add a <code>[[connection]]</code> to <code>larder.toml</code> and start again. <code>larder check</code> shows what it will spend before anything is sent.
overview-by-plan-used-at = ; by plan { $planned } used, at the mark
overview-first-request = First request
overview-for = For <b>{ $lasts }</b>.
overview-kept = , { $kept } kept
overview-left = { $left } left
overview-more = More
overview-more-limits = { $more ->
    [one] { $more } more limit on its page
   *[other] { $more } more limits on its page
}
overview-next-poll = ; next poll { $next-rel }
overview-next-poll-2 = Next poll
overview-next-polls = Next polls
overview-no-connection-yet = No connection yet
overview-nothing-has-happened-yet = Nothing has happened yet. Changes, holds and commands will be listed here, newest first.
overview-oldest-answer = Oldest answer
overview-other-organizations = Other organizations
overview-pause-all-polling = Pause all polling
overview-since = since { $changed }
overview-the-oldest-answer-is = ; the oldest answer is { $age } old
overview-usage-of-this-organization = Usage of this organization
overview-what-else-needs-a = What else needs a look

## plan.html

plan-a-look-at-all = A look at all targets
plan-a-round = A round
plan-a-round-every = A round every
plan-among-its-requests-are = Among its requests are { $renewals } renewals of its token a day.
plan-as-configured = as configured
plan-as-it-is-60s = as it is: 60s, 5m, auto
plan-as-many-as-now = as many as now
plan-as-on-the-shelf = as on the shelf
plan-at-the-pace-of = at the pace of lately
plan-auto = (auto)
plan-change-that = Change that
plan-costs-less = costs less
plan-kept-for-people = kept for people
plan-more-each-on-its = { $more-ahead } more, each on its own page.
plan-next-poll = Next poll { $next } ({ $next-rel }),
plan-no-connection-is-configured = No connection is configured.
plan-nothing-is-saved-and = Nothing is saved, and nobody is asked.
plan-of = of { $ceiling }
plan-of-all-connections-together = Of all connections together, at most { $workers } polls are under way at once.
plan-percent-of-what-polls = Percent of what polls may have of each limit at the interval that is wished for, everybody with the same credential together; what is kept for refreshes and commands is left alone. <a>As JSON</a>
plan-plan = Plan
plan-polling-is-off = polling is off
plan-polling-is-off-for = Polling is off for the whole appliance.
plan-reckon = Reckon
plan-requests-a-day = Requests a day
plan-rows-of-a-page = Rows of a page
plan-rows-of-a-target = Rows of a target
plan-set-this-interval = Set this interval…
plan-set-until-requests-in = Set until { $until-0 } ({ $until-0-rel }): { $until-1 } requests in that time. Then its usual interval is back by itself.
plan-shortest-interval = Shortest interval
plan-stretched-to = stretched to { $e }
plan-takes = Takes
plan-that-cannot-be-reckoned = That cannot be reckoned
plan-the-effect-is-shown = the effect is shown once more before anything is changed
plan-wanted-a-day = Wanted a day
plan-what-comes = What comes
plan-what-if = What if

## polling.html

polling-1-to-blank-as = 1 to { $most-workers }; blank: as now
polling-change-the-workers = Change the workers
polling-it-is = It is
polling-more-of-them-make = More of them make no more requests a day: what is due at once is asked sooner. What is set here holds for every organization, and wins over the configuration until it is cleared.
polling-off-nothing-is-asked = off: nothing is asked but what people ask for
polling-on = on
polling-polling-and-workers = Polling and workers
polling-switch-polling = Switch polling
polling-switched-off-the-requests = Switched off, the <b>{ $a-day }</b> requests a day that are planned now are not made, but for what people ask for; the shelf keeps what it has, and its age shows.
polling-switched-on-requests-a = Switched on, <b>{ $a-day }</b> requests a day are planned; nothing is caught up.
polling-workers = Workers
polling-workers-are-the-requests = Workers are the requests of polls that may be under way at once, of all connections together; what a provider allows in flight holds besides.

## recipe.html

recipe-account = Account
recipe-add-a-connection-to = Add a connection to { $provider }
recipe-add-it-on-trial = Add it on trial
recipe-address-of-the-provider = Address of the provider
recipe-as-the-recipe-says = as the recipe says
recipe-ask-every = Ask every
recipe-asks = Asks
recipe-blank-for-a-public = blank for a public client
recipe-client-id = Client id
recipe-client-secret = Client secret
recipe-comes = Comes
recipe-from-your-own-folder = from your own folder recipes
recipe-in-any = in any
recipe-it-is-kept-sealed = It is kept sealed in the data file and never shown again.
recipe-its-access-tokens-renew = Its access tokens renew themselves (OAuth 2.0). Register a client with the provider, have it grant access to your account, and paste here what that gave you: Larder never asks for the password of the account.
recipe-limits = Limits
recipe-none-that-is-known = none that is known
recipe-nothing-by-itself-targets = nothing by itself: targets are put by what they are like
recipe-nothing-was-added = Nothing was added: { $w }
recipe-only-where-the-client = only where the client has several
recipe-patterns = Patterns
recipe-refresh-token = Refresh token
recipe-requests-that-may-be = Requests that may be sent
recipe-secret-and-token-are = Secret and token are kept sealed in the data file and never shown again. From the first renewal on the token belongs to Larder: do not use it elsewhere.
recipe-sends-nothing = Sends nothing.
recipe-such-as = such as { $name }
recipe-such-as-5m-or = Such as 5m, or auto: the shortest that the limits can keep up for ever. What that comes to in a day is shown before anything is saved.
recipe-the-provider-names-no = The provider names no limit that is known here: say what it allows, or what you are willing to send.
recipe-what-it-needs = What it needs
recipe-what-the-recipe-knows = What the recipe knows
recipe-where-that-was-read = Where that was read
recipe-with-larder = with Larder

## reference.html

reference-for-programs-openapi-json = For programs: <a>openapi.json</a> (OpenAPI 3.1). Errors are <code>application/problem+json</code> (<a2>Problem</a2>).
reference-how-to-call-it = How to call it
reference-lists-are-paged-by = Lists are paged by the last number seen: give <code>next</code> as <code>after</code>. What is read has an <code>ETag</code>; with <code>If-None-Match</code> it is sent only if it is another.
reference-what-it-does = What it does

## reference_operation.html

reference-operation-an-answer-that-was = An answer that was given <muted>{ $status }</muted>
reference-operation-an-answer-that-was-given = An answer that was given
reference-operation-answers = Answers
reference-operation-body = Body
reference-operation-parameters = Parameters
reference-operation-status = Status
reference-operation-when = When

## reference_rows.html

reference-rows-in-the = in the { $place }
reference-rows-meaning = Meaning
reference-rows-optional = optional

## reference_type.html

reference-type-members = Members
reference-type-shape = Shape

## rewrite.html

rewrite-as-in-a-connection = As in a <code>[[connection.target]]</code> of the file
rewrite-costs-nothing = Costs nothing.
rewrite-nothing-was-changed = Nothing was changed: { $w }
rewrite-save-them = Save them
rewrite-the-next-poll-asks = The next poll asks with them.
rewrite-the-words-of = The words of { $target }
rewrite-they-stand-in-larder = They stand in <code>larder.toml</code> or its recipe, and are changed there; here others can be tried.
rewrite-try-them-on-the = Try them on the answer that is kept
rewrite-what-is-asked-and = What is asked, and what is read in the answer. A round takes { $units } of the limits’ units.
rewrite-what-they-make-of = What they make of it
rewrite-words = { $target }: words

## scans.html

scans-as-of = As of
scans-every = , every { $i }
scans-feeds = feeds { $targets }
scans-last-reading = Last reading
scans-nothing-published-yet = nothing published yet
scans-now = Now: { $t }
scans-reading-since = Reading since { $b-1 }: { $b-0 }.
scans-scan = Scan
scans-scans = Scans

## series.html

series-earlier-lines-are-not = { $more } earlier lines are not shown.
series-field = Field
series-history-of = History of { $name }
series-no-answer-was-young = no answer was young enough to say
series-no-answer-young-enough = no answer young enough until { $until }
series-no-item-has-been = No item has been seen yet.
series-nothing = nothing
series-this-item-has-no = This item has no field that could be drawn: what counts down by itself has no history.

## settings.html

settings-a-backup-is-one = A backup is one file. Keep a copy on another machine; with the key file beside the data file (<code>larder.key</code>) its sealed secrets open too.
settings-as-the-appliance = , as the appliance
settings-back-up-now = Back up now
settings-backup = Backup
settings-changed-in-the-file = Changed in the file or the environment: what is under <code>polling</code>, <code>backup</code> and <code>mqtt</code> is in force once the file is read anew (SIGHUP), the rest from the next start. What operators set here wins until it is cleared. A request may call this appliance by { $own-names }, and by what <code>server.hosts</code> says.
settings-clock = Clock
settings-configuration = Configuration
settings-connected-since = connected since { $since }
settings-copies-the-data-file = Copies the data file while it is in use, and reads the copy from end to end before it gets its name. Costs no request.
settings-folder = Folder
settings-for-the-appliance = , { $time } for the appliance
settings-health = Health
settings-hours = { $c-0 } hours
settings-how-you-read-times = How you read times and numbers
settings-in-the-folder = In the folder
settings-is-well = is well
settings-keep-it = Keep it
settings-kept-by-this-browser = Kept by this browser alone. Values keep the unit that their provider sends them in; point at a number for what is stored. It is { $made-at } { $zone } for you now
settings-key = Key
settings-made-by-in-whole = Made { $at } by { $by }: { $size } in { $took }, whole, at <code>{ $path }</code>.
settings-more-of-the-installation = More of the installation
settings-needs-a-look = needs a look
settings-newest = Newest
settings-not-connected = not connected
settings-numbers = Numbers
settings-set-by = set by { $set-1 }
settings-settings = Settings
settings-started = Started
settings-the-appliance = the appliance
settings-time-zone = Time zone
settings-usage = Usage
settings-value = Value
settings-who-may-come-in = Who may come in

## setup.html

setup-a-new-connection-on = a new connection, on trial
setup-a-recipe-is-what = A recipe is what is known about a provider. Adding a connection costs no request.
setup-add-one-from-a = Add one from a recipe
setup-becomes = Becomes
setup-change-or-take-away = change or take away { $name }
setup-here-by-at = here, by { $s-0 } at { $s-1 }
setup-in-larder-toml-which = in <code>larder.toml</code>, which is changed there
setup-is-not-taken-in = <code>[{ $l }]</code> is not taken in: it belongs into the file of this appliance.
setup-its-connections-come-here = Its connections come here; credentials do not come along, and what stands in the file of this appliance stays as it is. No request is sent.
setup-none-yet-begin-with = None yet: begin with a recipe below.
setup-nothing-it-cannot-be = nothing: it cannot be taken in
setup-nothing-it-stands-in = nothing: it stands in larder.toml already
setup-of-the-environment-wins = ; <code>{ $v }</code> of the environment wins over it
setup-on-trial-try-and = on trial: try { $name } and save it
setup-recipe = Recipe
setup-see-what-it-would = See what it would do
setup-take-it-in = Take it in
setup-take-it-out-as = Take it out as larder.toml
setup-take-one-in = Take one in…
setup-taken-in-what-is = Taken in. What is new is on trial: set its credential, try it, and save it.
setup-the-configuration-as-one = The configuration as one text
setup-the-text-of-a = The text of a <code>larder.toml</code>
setup-this-is-what-taking = This is what taking it in would do. Nothing has changed.
setup-what-replaces-the-one = what replaces the one written here
setup-where-each-connection-is = Where each connection is written, and how another one is added.
setup-with-what-is-written = with what is written here behind what the file says. No secret is in it.
setup-written = Written

## shares.html

shares-its-own = , { $own } % its own
shares-of = of { $available }

## sign_in.html

sign-in-forgotten-on-the-machine = Forgotten? On the machine, <code>larder operator reset</code> prints a code that sets a new one. Programs do not sign in: they show a token.
sign-in-this-appliance-has-no = This appliance has no operator yet. It prints a one-time code when it starts: <a>claim it</a>.

## snippets.html

snippets-for-other-programs = For other programs
snippets-from-prometheus = From Prometheus:
snippets-into-configuration-yaml-what = Into <code>configuration.yaml</code>. What is too old to be used is unavailable there too. With <code>[mqtt]</code> in larder.toml nothing is written by hand.
snippets-put-a-token-of = Put a token of your own where LARDER_TOKEN stands: <code>larder token create --name NAME --role reader</code> prints one.
snippets-the-items-with-the = The items, with the data source Infinity (a query as JSON):

## spend.html

spend-a-bar = { $bar } a bar
spend-bars-by = Bars by
spend-by = By { $by }
spend-counted-in-memory-since = Counted in memory since the start of this process, { $since }; a restart begins anew. What was spent, above, is kept in the file.
spend-more-all-of-them = { $more } more, all of them as JSON.
spend-nothing-was-asked-in = Nothing was asked in this time.
spend-nothing-was-spent-in = Nothing was spent in this time.
spend-or-from-the-day = Or from the day
spend-put-together-by = Put together by
spend-readers-were-answered = Readers were answered
spend-requests = Requests
spend-saved-by-the-shelf = Saved by the shelf
spend-share = Share
spend-times = Times
spend-units-are-what-the = Units are what the provider may have counted, those of requests that wait for their answer too. A request that provably never reached it has none. <a>As JSON</a>
spend-units-by-caller = Units by caller
spend-up-to-the-day = Up to the day
spend-who-spent-what = Who spent what

## stood-table.html

stood-table-earlier-changes-are-not = { $more } earlier changes are not shown.
stood-table-for = For
stood-table-not-running = not running
stood-table-until = Until

## target.html

target-answered-at = answered at { $as-of }
target-ask-the-provider-now = Ask the provider now <muted>({ $cost })</muted>
target-asked-only-if-the = Asked only if the answer is old enough and the budget funds it; otherwise you are told from when.
target-by = , by { $by }
target-by-the-providers-clock = by the provider’s clock
target-change-its-phase = Change its phase…
target-fed-by-the-scan = Fed by the scan <b>{ $fed-0 }</b>
target-first = First
target-fresh-for = fresh for { $fresh-for }
target-from-the-key = From the key
target-is = { $name } is <b>{ $phase }</b>
target-items = Items <muted>{ $count }</muted>
target-its-items-and-its = Its items and its history stay in the file; who puts a target of this name again finds them.
target-last-read-from-on = , last read from { $at } on
target-nothing-on-the-shelf = Nothing on the shelf yet: first request at { $next } ({ $next-rel }).
target-nothing-on-the-shelf-yet = Nothing on the shelf yet, and no request is planned.
target-old = <b>{ $age }</b> old
target-pages-of-items = Pages of items
target-pushed-by = Pushed by <b>{ $by }</b>; it came at { $at }.
target-refresh = Refresh
target-refresh-2 = Refresh { $name }
target-removed = { $removed } removed
target-since = , since { $since }
target-since-2 = since { $since }
target-the-last-good-answer = The last good answer had no items.
target-the-next-poll-comes = The next poll comes at { $next } by itself.
target-the-provider-said = ; the provider said: “<bdi>{ $said }</bdi>”
target-unavailable-the-last = Unavailable: the last answer is too old to be used.
target-unavailable-the-last-answer = Unavailable: the last answer is too old to be used. What it said stands in the history below.
target-was-last-seen-at = <bdi>{ $title }</bdi> was last seen <b>{ $state }</b> at { $at }; this reading is { $age } old

## targets.html

targets-a-target-is-put = A target is put here by what it is like: write a <code>[[connection.pattern]]</code> first. The API takes whole targets.
targets-active-changes-are-told = active: changes are told
targets-age = Age
targets-all-targets = All targets
targets-items = Items
targets-like = Like
targets-no-request-is-sent = No request is sent for it before its poll is due. One of this name that was put before gets the new question.
targets-none-yet = None yet.
targets-pages-of-targets = Pages of targets
targets-pending-fills-the-cache = pending: fills the cache only
targets-put-a-target = Put a target
targets-put-a-target-2 = Put a target…
targets-put-the-target = Put the target
targets-targets-of = Targets of { $connection }

## token.html

token-copy-it-now-it = Copy it now: it is shown this once, and only its digest is kept. It is a { $role } of { $organization }.
token-programs-send-it-as = Programs send it as <code>Authorization: Bearer …</code>, or as the password of Basic.
token-the-token-of = The token of { $name }
token-token = Token { $name }

## tokens.html

tokens-90d-blank-until-it = 90d; blank: until it is revoked
tokens-a-reader-reads-its = A reader reads its organization, an owner changes it too, an admin reads and changes everything, an agent hands in observations and reads nothing.
tokens-create = Create
tokens-create-a-token = Create a token
tokens-created = Created
tokens-expired = expired
tokens-expires = Expires
tokens-in-force = in force
tokens-last-used = Last used
tokens-lasts = Lasts
tokens-never = never
tokens-organization = Organization
tokens-revoke = Revoke { $name }
tokens-revoked = revoked { $at }
tokens-role = Role
tokens-there-are-none = There are none.
tokens-tokens-those-in-force = Tokens, those in force first
tokens-what-it-is-for = What it is for
tokens-what-programs-show-instead = What programs show instead of a password. People are <a>operators</a>.

## trial.html

trial-and-see-what-they = and see what they make of this answer; that costs nothing.
trial-ask-once-and-see = Ask once, and see what is read
trial-change-the-words-of = Change the words of { $name }
trial-it-asks-nothing-by = It asks nothing by itself until it is saved.
trial-it-has-no-credential = It has no credential yet, so nothing can be asked: <a>set it</a>.
trial-it-has-no-target = It has no target yet: <a>put one</a>.
trial-it-is = It is { $written }.
trial-not-now = Not now: { $cost }
trial-nothing-of-it-is = Nothing of it is asked any more, and its credential is forgotten. What is known of it stays in the data file.
trial-save-it-or-throw = Save it, or throw it away
trial-save-poll-it-from = Save { $name }: poll it from now on
trial-setup-of = Setup of { $name }
trial-take-it-away = Take it away
trial-test = Test { $name }
trial-try = Try { $name }

## tried.html

tried-by-rule = , by rule: { $rule }
tried-fields = Fields
tried-no-answer-is-kept = No answer is kept yet to try words on.
tried-the-answer-itself = The answer itself
tried-the-answer-of-is = The answer of { $at } ({ $at-rel }) is

## usage.html

usage-24-hours = 24 hours
usage-30-days = 30 days
usage-by-caller-in-the = By caller in the last 24 hours; units are what the provider may have counted. <a>Any other stretch of time</a>
usage-no-limit-is-declared = No limit is declared.
usage-usage-of = Usage of { $organization }
usage-what-is-left = What is left
usage-what-was-spent = What was spent

## webhooks.html

webhooks-and-older-ones = And { $more } older ones.
webhooks-being-sent-again = being sent again
webhooks-given-up = Given up
webhooks-goes-to-the-webhook = Goes to the webhook alone: it costs no request of the provider.
webhooks-send-a-test-message = Send a test message…
webhooks-send-them-again = Send them again
webhooks-send-to = Send to { $name }
webhooks-to = to { $to }{ $form }
webhooks-told-of = Told of: { $events }.
webhooks-why = Why

## In sentences of ahead

ahead-then-every-a-day = then every { $interval }, { $cost } a day

## In sentences of banner

banner-1-request = 1 request
banner-about-requests = about { $n } requests
banner-no-request = no request

## In sentences of burn

burn-at-the-pace-of = At the pace of the last { $span }
burn-at-units-come-back = { $pace } { $nothing } at { $at }; units come back one by one.
burn-from-it-resets-at = { $pace } { $nothing } from { $at }; it resets at { $resets }.
burn-it-lasts-never-fewer = { $pace } it lasts: never fewer than { $spare } to spare.
burn-it-lasts-to-spare = { $pace } it lasts: { $spare } to spare when it resets at { $resets }.
burn-nothing-but-the-kept = nothing but the { $kept } kept is left
burn-nothing-is-left = nothing is left
burn-now-it-resets-at = Now { $nothing }; it resets at { $resets }.
burn-now-units-come-back = Now { $nothing }; units come back one by one.

## In sentences of connection

connection-any-number = any number
connection-item = item { $value } ({ $title })

## In sentences of controls

controls-a-completed-target-is = A completed target is asked for { $length } more, and then not any more.
controls-a-round-every-makes = A round every { $every } makes { $per-day } requests a day; now it is { $before }.
controls-a-target-whose-content = A target whose content does not change for { $length } is not asked any more.
controls-auto = auto
controls-completed-targets-are-asked = Completed targets are asked for ever.
controls-in-that-is-then = In { $span } that is { $meanwhile }; then the interval of before is back by itself.
controls-never = never
controls-targets-are-asked-however = Targets are asked however long their content stays as it is.

## In sentences of headline

headline-connections = { $n } connections
headline-everything-on-the-shelf = Everything on the shelf is fresh.
headline-more-connections-need-a = { $others } more connections need a look: { $counted }.
headline-nothing-needs-a-look = Nothing needs a look.
headline-one-connection = One connection
headline-one-more-connection-needs = One more connection needs a look: { $name } is { $state }.
headline-the-shelf-is-empty = The shelf is empty.

## In sentences of lately

lately-1-request-in-this = 1 request in this time.
lately-no-request-in-this = No request in this time.
lately-requests-all-in-one = { $sum } requests, all in one hour.
lately-requests-in-the-busiest = { $sum } requests, { $most } in the busiest hour.

## In sentences of overview

overview-a-day = { $requests } a day{ $from }
overview-a-month = { $requests } a month{ $from }
overview-a-week = { $requests } a week{ $from }
overview-at-once = { $requests } at once
overview-in-any = { $requests } in any { $window }
overview-in-each-of-the = { $requests } in each { $window } of the clock
overview-in-evenly = { $requests } in { $window }, evenly
overview-in-from-the-first = { $requests } in { $window } from the first request on

## In sentences of plan

plan-a-request-for-the = A request for the target
plan-any-number = any number
plan-each-of-targets-by = Each of { $n } targets by itself
plan-never = never
plan-nothing-is-polled = Nothing is polled.
plan-requests-a-day-and = { $requests } requests a day, and every interval can be kept up.
plan-requests-a-day-intervals = { $requests } requests a day; { $n } intervals cannot be kept up.
plan-requests-a-day-one = { $requests } requests a day; one interval cannot be kept up.

## In sentences of saved

saved-clients-of-the-gateway = Clients of the gateway asked { $refused }, and were refused.
saved-clients-of-the-gateway-were = Clients of the gateway were answered { $answered }, { $free } of them ({ $percent } %) without a request to the provider.
saved-no-client-has-asked = No client has asked a gateway yet.
saved-pages-and-json-were = { $clients } Pages and JSON were read { $n }, and that never costs one.

## In sentences of scans

scans-complete-on-changed = Complete: { $rows } on { $pages }; { $changed } changed.
scans-names = { $key } names { $name }
scans-names-nobody = { $key } names nobody
scans-of-pages = { $pages } of { $count } pages
scans-so-far = { $pages }, { $rows } so far

## In sentences of series

series-as-far-as-it = As far as it was seen: { $told }.
series-between-and = Between { $low } and { $high }, { $last }.
series-changes-are-kept-for = Changes are kept for { $kept }.
series-changes-are-kept-for-ever = Changes are kept for ever.
series-it-did-not-move = It did not move: { $last }.
series-it-had-no-value = It had no value in this time.
series-last-seen = last seen { $value }
series-now = now { $value }
series-now-nothing = now nothing
series-there-are-more-changes = There are more changes than are drawn: the plot begins at { $at }. The files have them all.
series-whether-it-was-renewed = Whether it was renewed in time is known from { $at } on.

## In sentences of settings

settings-a-day = { $all }, { $a-day } a day
settings-as-usual = as usual
settings-line = { $name }, line { $line }
settings-since-the-start = { $bytes } since the start
settings-takes-writes = takes writes
settings-the-variable = the variable { $name }

## In sentences of spend

spend-from-to = from { $since } to { $to }
spend-most-by = most by { $name } ({ $units })
spend-nobody-has-asked-anything = Nobody has asked anything since { $since }.
spend-of-units-together = { $n } of { $units } units together { $until }, { $most }.

## In sentences of stood

stood-how-it-stood-is = How it stood is seen from now on.
stood-last-24-h = Last 24 h
stood-no-trouble = { $time }: no trouble.
stood-not-polled-yet = not polled yet
stood-since = Since { $from }

## In sentences of target

target-1-request = 1 request
target-1-request-of-units = 1 request of { $units } units
target-about-requests-one-for = about { $requests } requests, one for each page
target-about-requests-one-for-each = about { $requests } requests, one for each page; { $all } units
target-incomplete-of-pages-because = Incomplete: { $pages } of { $of } pages, because { $why }. What was seen is shown; nothing was removed.
target-none-is-left-now = { $asked }; none is left now
target-of = { $shown } of { $all }
target-of-left = { $asked } of { $free } left
target-of-the-kept = { $asked } of the { $kept } kept
target-read-completely = Read completely: { $pages }.

## In sentences of targets

targets-one-more-that-is = One more that is polled: { $after } requests a day, now { $before }, at a round every { $every }.
targets-targets-of-them-active = { $targets } targets, { $active } of them active.

## In sentences of usage

usage-in-the-last-24 = { $requests } in the last 24 hours, most by { $name }; { $month } in 30 days.
usage-nothing-was-asked-in = Nothing was asked in the last 24 hours; { $month } in 30 days.

## In sentences of any

any-ago = { $span } ago
any-beyond-all-calendars = beyond all calendars
any-in = in { $span }
any-overdue-by = overdue by { $span }
any-unknown = unknown

## In sentences of trial

trial-once-it-is-saved = Once it is saved it asks every { $every }: { $day } requests a day.
trial-written-here-by = written here by { $by }, { $at }
trial-written-in-larder-toml = written in larder.toml

## In sentences of tried

tried-of-that-are-left = { $units } of { $left } that are left of { $limit }, { $all }
tried-unknown = unknown
tried-uses = Uses { $requests }.
tried-uses-2 = Uses { $limits }.

## In sentences of claim

claim-this-code-is-not = This code is not good, or not any more. A code is good once and for half an hour.

## In sentences of sign_in

sign-in-the-name-or-the = The name or the password is not right.

## Counted

counted-requests = { $n ->
    [one] { $count } request
   *[other] { $count } requests
}
counted-units = { $n ->
    [one] { $count } unit
   *[other] { $count } units
}
counted-times = { $n ->
    [one] { $count } time
   *[other] { $count } times
}
counted-rows = { $n ->
    [one] { $count } row
   *[other] { $count } rows
}
counted-pages = { $n ->
    [one] { $count } page
   *[other] { $count } pages
}
counted-targets = { $n ->
    [one] { $count } target
   *[other] { $count } targets
}
counted-items = { $n ->
    [one] { $count } item
   *[other] { $count } items
}
any-yes = yes
any-no = no

## Navigation

site-overview = Overview
site-plan = Plan
site-spending = Spending
site-activity = Activity
site-settings = Settings
site-setup = Setup

## Controls

controls-every = Every
controls-stop-without-a-change = Stop without a change for
controls-stop-after-completion = Stop after completion
polling-polling = Polling
polling-workers-at-once = Workers
polling-is-on = on
polling-is-off = off

## Sentences of plan

plan-can-be-kept-up = can be kept up
plan-cannot-be-kept-up = cannot be kept up
plan-one-scan = One scan for all of them

## Sentences of saved

saved-from-the-shelf = from the shelf
saved-together = together with another who asked the same
saved-older = with an older answer, as nobody could be asked
saved-by-the-provider = by the provider
saved-refused = not: the budget or a hold said no
saved-pages = pages and JSON, from the shelf

## Sentences of scans

scans-given-up-after-of = Given up after { $pages } of { $of }, because { $reason }. Nothing of it was published.
scans-given-up-after = Given up after { $pages }, because { $reason }. Nothing of it was published.
scans-such-as = , such as: { $rows }
scans-belong-to-no-target = { $n ->
    [one] { $rows } belongs to no target{ $such }.
   *[other] { $rows } belong to no target{ $such }.
}

## Stretches of time

spend-last-24h = last 24 hours
spend-last-7d = last 7 days
spend-last-30d = last 30 days
spend-last-90d = last 90 days
spend-last-400d = last 400 days
series-last-1h = last hour
series-last-6h = last 6 hours
any-all = all
any-one = one
spend-as-it-fits = as it fits

## Sentences of settings

settings-own-names = every IP address, localhost, *.localhost, *.local, *.home.arpa
settings-takes-no-writes = The data file takes no writes, so nothing is asked.
settings-nothing-is-polled = Nothing is polled: the poller does not tick.
settings-the-clock-is-not-believed = The clock is not believed, so nothing is asked that depends on it.
settings-all-is-well = The data file takes writes, the poller ticks, the clock is believed.
settings-clock-believed = the system’s, believed
settings-clock-not-believed = the system’s, not believed: it is behind the data file
settings-data-file = Data file
settings-its-size = Its size
settings-written-to-it = Written to it
settings-poller = Poller
settings-ticks = ticks
settings-does-not-tick = does not tick
settings-path-of-the-site = Path of the site
settings-version = Version

## Sentences of target

target-to-active = active: asked at once, changes are told
target-to-pending = pending: fills the cache only
target-to-completed = completed: watched for its grace, then left alone
target-to-stopped = stopped: not asked about
target-of-in-order = { $shown } of { $all } in the order of their keys: { $first } to { $last }

## Sentences of overview

overview-from = , from { $begins }

## Sentences of tried

tried-of-that-are-left-in = { $units } of { $left } that are left of { $limit }, { $all } in { $window }

## Sentences of webhooks

webhooks-as-notifications = , as notifications of ntfy
webhooks-not-signed = , not signed

## In sentences of latency

latency-the-answer-took = The answer took { $most }.
latency-each = { $n } answers took { $most } each.
latency-from-to = { $n } answers took { $least } to { $most }.
