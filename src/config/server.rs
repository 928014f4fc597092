//! `[server]`: where to listen, where the data lies, which hosts are ours, how large the shelf of the gateways is. `[polling]`: whether to ask, and how much at once.

use super::ServerSpec;
use super::environment::POLLING;
use super::place::Problems;
use super::section::Section;
use super::{door, gateway, words};
use crate::domain::backup::{BackupSpec, When};
use crate::domain::base_path::BasePath;
use crate::domain::gateway::ShelfSpec;
use crate::domain::mqtt::MqttSpec;
use crate::domain::polling::{MOST_WORKERS, PollingSpec};
use crate::domain::proxy::TrustedProxy;
use crate::domain::setting::{Setting, Source};
use crate::domain::spec::{ConnectionSpec, SecretSource};
use crate::domain::webhook::WebhookUrl;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

const PORT: u16 = 8474;
const DATA: &str = "larder.redb";
pub(super) const SERVER: [&str; 9] = [
    "listen",
    "data",
    "hosts",
    "base_path",
    "trusted_proxy",
    "frame_ancestors",
    "shelf_memory",
    "shelf_disk",
    "environment_file",
];

/// Linux cuts the path of a unix socket at 108 bytes with the closing zero (unix(7)).
const LONGEST_SOCKET_PATH: usize = 107;

/// `folder` is where a relative `data` begins.
pub(super) fn read(section: Option<&Section<'_>>, folder: &Path, p: &mut Problems) -> ServerSpec {
    let mut spec = spec_at(folder.join(DATA));
    let Some(section) = section else { return spec };
    section.only(&SERVER, &[], p);
    let data = section.parsed("data", p, |text| match text.is_empty() {
        true => Err("must be the path of the data file".to_owned()),
        false => Ok(folder.join(text)),
    });
    let data = data.checked(p, |path| {
        let length = socket_beside(path).as_os_str().len();
        (length > LONGEST_SOCKET_PATH).then(|| {
            format!(
                "is too long: the socket beside it would have {length} bytes, and {LONGEST_SOCKET_PATH} is the most"
            )
        })
    });
    if let Some(data) = data.value() {
        spec = spec_at(data);
    }
    spec.shelf = gateway::read_shelf(section, p);
    spec.listen = section.parsed("listen", p, listen).unwrap_or(spec.listen);
    spec.base_path = section.parsed("base_path", p, base_path).unwrap_or_default();
    let file = section.parsed("environment_file", p, |text| match text.is_empty() {
        true => Err("must be the path of a file of NAME=value lines".to_owned()),
        false => Ok(folder.join(text)),
    });
    spec.environment_file = file.value();
    spec.trusted_proxy = section.table("trusted_proxy", p).and_then(|table| door::trusted_proxy(&table, p));
    spec.frame_ancestors = door::frame_ancestors(section, p);
    let hosts = section.texts("hosts", p);
    let place = section.place_of("hosts");
    for host in hosts.unwrap_or_default() {
        match words::host(&host) {
            Ok(host) => spec.hosts.push(host),
            Err(sentence) => p.add(&place, sentence),
        }
    }
    spec
}

/// Each key with what is in force and who said it.
pub(super) fn shown(section: Option<&Section<'_>>, spec: &ServerSpec) -> Vec<Setting> {
    let bytes = |n: u64| match n {
        n if n > 0 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n => format!("{n} bytes"),
    };
    let file = |path: &Option<PathBuf>| path.as_ref().map_or_else(|| "none".to_owned(), |p| p.display().to_string());
    let hosts = if spec.hosts.is_empty() { "none beside the usual".to_owned() } else { spec.hosts.join(", ") };
    let framed_by = if spec.frame_ancestors.is_empty() { "'self'".to_owned() } else { spec.frame_ancestors.join(" ") };
    let values = [
        ("listen", spec.listen.to_string()),
        ("data", spec.data.display().to_string()),
        ("hosts", hosts),
        ("base_path", format!("{}/", spec.base_path.as_str())),
        ("trusted_proxy", spec.trusted_proxy.as_ref().map_or("none".to_owned(), TrustedProxy::to_string)),
        ("frame_ancestors", framed_by),
        ("shelf_memory", bytes(spec.shelf.memory)),
        ("shelf_disk", bytes(spec.shelf.disk)),
        ("environment_file", file(&spec.environment_file)),
    ];
    values.into_iter().map(|(key, value)| setting("server", section, key, value)).collect()
}

pub(super) fn shown_polling(section: Option<&Section<'_>>, spec: &PollingSpec) -> Vec<Setting> {
    let values = [("enabled", spec.enabled.to_string()), ("workers", spec.workers.to_string())];
    values.into_iter().map(|(key, value)| setting("polling", section, key, value)).collect()
}

/// Nothing where none is made.
pub(super) fn shown_backup(section: Option<&Section<'_>>, spec: Option<&BackupSpec>) -> Vec<Setting> {
    let Some(spec) = spec else { return Vec::new() };
    let (key, when) = match &spec.when {
        When::Every(span) => ("every", span.to_string()),
        When::Daily { at, time_zone } => ("at", format!("{:02}:{:02} {time_zone}", at.0 / 60, at.0 % 60)),
    };
    let values = [("folder", spec.folder.display().to_string()), (key, when), ("keep", spec.keep.to_string())];
    values.into_iter().map(|(key, value)| setting("backup", section, key, value)).collect()
}

/// A key with its value, and where it stands.
pub(super) fn setting(table: &str, section: Option<&Section<'_>>, key: &str, value: String) -> Setting {
    let place = section.filter(|section| section.has(key)).map(|section| section.place_of(key));
    let source = match place {
        None => Source::Usual,
        Some(place) if place.is_variable() => Source::Variable(place.key),
        Some(place) => Source::File { name: place.file.to_string(), line: place.line },
    };
    Setting { key: format!("{table}.{key}"), value, source }
}

/// `[polling]`: of the whole process.
pub(super) fn read_polling(section: Option<&Section<'_>>, p: &mut Problems) -> PollingSpec {
    let defaults = PollingSpec::default();
    let Some(section) = section else { return defaults };
    section.only(&POLLING, &[], p);
    PollingSpec {
        enabled: section.flag("enabled", p).unwrap_or(defaults.enabled),
        workers: section
            .whole("workers", (1, u64::from(MOST_WORKERS)), p)
            .value()
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(defaults.workers),
    }
}

/// What the connections read from variables is looked up in this file first: it can change while the process runs, its environment cannot.
pub(super) fn list_variables(file: &Path, connections: &mut [ConnectionSpec], mqtt: Option<&mut MqttSpec>) {
    let listed = |source: &mut SecretSource| {
        if let SecretSource::Env(name) = source {
            *source = SecretSource::Listed { file: file.to_owned(), name: std::mem::take(name) };
        }
    };
    mqtt.into_iter().for_each(|mqtt| listed(&mut mqtt.password));
    for spec in connections {
        listed(&mut spec.secret);
        spec.oauth.iter_mut().for_each(|oauth| listed(&mut oauth.client_secret));
        for hook in &mut spec.webhooks {
            listed(&mut hook.secret);
            if let WebhookUrl::Secret(source) = &mut hook.url {
                listed(source);
            }
        }
    }
}

fn spec_at(data: PathBuf) -> ServerSpec {
    let socket = socket_beside(&data);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    ServerSpec {
        listen,
        data,
        socket,
        hosts: Vec::new(),
        base_path: BasePath::default(),
        trusted_proxy: None,
        frame_ancestors: Vec::new(),
        shelf: ShelfSpec::default(),
        environment_file: None,
    }
}

fn base_path(text: &str) -> Result<BasePath, String> {
    BasePath::read(text).ok_or_else(|| {
        let plain = "letters, digits, -, ., _ and ~ between its slashes";
        format!("must be the path at which a proxy in front leaves the site, such as \"/larder\", with {plain}; {text:?} is not")
    })
}

fn socket_beside(data: &Path) -> PathBuf {
    let mut path = data.as_os_str().to_owned();
    path.push(".sock");
    PathBuf::from(path)
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let wrong = "must be an address and a port, such as \"127.0.0.1:8474\" or \"[::]:8474\"";
    text.parse().map_err(|_| format!("{wrong}; {text:?} is not"))
}
