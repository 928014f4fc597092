//! The embedded style sheet, script and icon, under names that carry their digest so that browsers may keep them for ever.

use crate::web::errors::Problem;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "static/"]
struct Files;

const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// `app.css` -> `static/app.0123456789abcdef.css`, relative to the root of the site. An unknown name stays as it is.
pub fn address(name: &str) -> String {
    let Some(file) = Files::get(name) else { return format!("static/{name}") };
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("static/{stem}.{}.{extension}", digest(&file)),
        None => format!("static/{name}"),
    }
}

fn digest(file: &EmbeddedFile) -> String {
    file.metadata.sha256_hash()[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// `app.<digest>.css` -> (`app.css`, digest).
fn split(name: &str) -> Option<(String, &str)> {
    let (rest, extension) = name.rsplit_once('.')?;
    let (stem, digest) = rest.rsplit_once('.')?;
    Some((format!("{stem}.{extension}"), digest))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// A name with the right digest is kept for ever; the plain name, or one from an older version, is revalidated.
pub async fn file(Path(name): Path<String>, request: HeaderMap) -> Result<Response, Problem> {
    let (plain, asked) = match split(&name) {
        Some((plain, asked)) if Files::get(&plain).is_some() => (plain, Some(asked)),
        _ => (name.clone(), None),
    };
    let file = Files::get(&plain).ok_or_else(|| Problem::not_found("There is no such file."))?;
    let digest = digest(&file);
    let cache = if asked == Some(digest.as_str()) { FOR_EVER } else { "no-cache" };
    let tag = format!("\"{digest}\"");
    let headers = [
        (header::CONTENT_TYPE, content_type(&plain).to_owned()),
        (header::CACHE_CONTROL, cache.to_owned()),
        (header::ETAG, tag.clone()),
    ];
    if super::headers::is_known(&request, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, file.data.into_owned()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_digest_in_the_name_is_kept_for_ever() {
        let address = address("app.css");
        let name = address.strip_prefix("static/").unwrap();
        let get = |name: &str| file(Path(name.to_owned()), HeaderMap::new());
        let cache = |r: &Response| r.headers()[header::CACHE_CONTROL].clone();
        assert_eq!(cache(&get(name).await.unwrap()), FOR_EVER);
        assert_eq!(cache(&get("app.css").await.unwrap()), "no-cache");
        assert_eq!(
            cache(&get("app.0000000000000000.css").await.unwrap()),
            "no-cache",
            "an old page still finds its style"
        );
        assert!(get("../Cargo.toml").await.is_err());
        assert!(get("nothing.css").await.is_err());
    }

    /// The later of two functions of one name takes the place of the first, and no browser complains; one that is called as a constant
    /// stops the whole script.
    #[test]
    fn no_two_things_of_the_script_have_one_name() {
        let script = include_str!("../../static/app.js");
        let named = script.split("function ").skip(1).filter_map(|rest| rest.split('(').next());
        let kept = script.lines().filter_map(|line| line.strip_prefix("  const ")?.split(' ').next());
        let mut names: Vec<&str> = named.chain(kept).collect();
        assert!(names.len() > 20, "{names:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
