//! Prevents pages of other sites from using the server through a user's browser.
//!
//! There are two attacks. A page may send requests to this server's address; the browser then names
//! the page's site (`Origin`, `Sec-Fetch-Site`). Or a site points its own host name at this server
//! (DNS rebinding), so that the browser takes the server for that site; then only the name in
//! `Host` is wrong. Programs other than browsers send neither `Origin` nor foreign host names and
//! are not affected.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::api::{App, LibreError, is_libre};
use crate::error::{ApiError, Code};
use crate::keys::Keys;
use crate::settings::ServeSettings;
use crate::{Error, Result};

/// How long a browser may cache a preflight response.
const REMEMBERED: Duration = Duration::from_mins(10);

/// The host names and origins from which the server may be used.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Host names besides addresses and `localhost`; `None` accepts any.
    hosts: Option<Vec<String>>,
    origins: Origins,
}

/// Other sites whose pages may use the server.
#[derive(Debug)]
enum Origins {
    Any,
    These(Vec<HeaderValue>),
}

impl Guard {
    pub fn new(settings: &ServeSettings, keys: &Keys) -> Result<Self> {
        let is_any = |names: &[String]| names.iter().any(|name| name == "*");
        // A rebound page has no key, so with keys the host name does not matter.
        let every = is_any(&settings.hosts) || settings.hosts.is_empty() && !keys.is_empty();
        let hosts: Vec<String> = settings.hosts.iter().map(|host| plain(host)).collect();
        if hosts.iter().any(String::is_empty) {
            let problem = "--allow-host has an empty name; leave it out, or name a host";
            return Err(Error::Settings(problem.into()));
        }
        let origin = |text: &String| {
            let wrong = || {
                Error::Settings(format!(
                    "\"{text}\" is not an origin; write it as --allow-origin https://example.org"
                ))
            };
            let uri: Uri = text.parse().map_err(|_| wrong())?;
            let is_site = uri.scheme().is_some() && matches!(uri.path(), "" | "/");
            if !is_site || uri.query().is_some() || text.ends_with('/') {
                return Err(wrong());
            }
            HeaderValue::try_from(text.to_ascii_lowercase()).map_err(|_| wrong())
        };
        let origins = if is_any(&settings.origins) {
            Origins::Any
        } else {
            Origins::These(settings.origins.iter().map(origin).collect::<Result<_>>()?)
        };
        Ok(Self { hosts: (!every).then_some(hosts), origins })
    }

    /// Answers preflight requests; `None` if no other site is allowed.
    pub fn cors(&self) -> Option<CorsLayer> {
        let origins = match &self.origins {
            Origins::Any => AllowOrigin::any(),
            Origins::These(origins) if origins.is_empty() => return None,
            Origins::These(origins) => AllowOrigin::list(origins.iter().cloned()),
        };
        let own = HeaderName::from_static;
        let layer = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION, own("x-api-key")])
            .expose_headers([
                header::RETRY_AFTER,
                header::CONTENT_DISPOSITION,
                own("x-abridge-signature"),
            ])
            .max_age(REMEMBERED);
        Some(layer)
    }

    fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> std::result::Result<(), ApiError> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = uri.authority().map(Authority::as_str).or_else(|| text(header::HOST));
        if let Some(host) = host
            && !self.knows(host)
        {
            let name = plain(host);
            let problem = format!(
                "\"{name}\" is not a name of this server; its operator can allow it with \
                 --allow-host {name}"
            );
            return Err(ApiError::new(Code::Forbidden, problem));
        }
        // Reading changes nothing, and browsers hide the response from pages of other sites.
        let is_reading = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let origin = text(header::ORIGIN);
        let is_welcome = match text(HeaderName::from_static("sec-fetch-site")) {
            Some("same-origin" | "none") => true,
            Some(_) => origin.is_some_and(|origin| self.welcomes(origin)),
            None => origin.is_none_or(|origin| {
                let site = origin.split_once("://").map(|(_, site)| site);
                site.is_some() && site == host || self.welcomes(origin)
            }),
        };
        if is_reading || is_welcome {
            return Ok(());
        }
        let problem = "other sites' pages may not use this server; its operator can allow them \
                       with --allow-origin";
        Err(ApiError::new(Code::Forbidden, problem))
    }

    /// Whether this host name is accepted. IP addresses always are: they cannot be rebound.
    fn knows(&self, host: &str) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        let name = plain(host);
        let is_local = name == "localhost" || name.ends_with(".localhost");
        is_local || name.parse::<IpAddr>().is_ok() || hosts.contains(&name)
    }

    fn welcomes(&self, origin: &str) -> bool {
        match &self.origins {
            Origins::Any => true,
            Origins::These(origins) => origins.iter().any(|known| known == origin),
        }
    }
}

/// A host name in lower case, without port, brackets and trailing dot.
fn plain(host: &str) -> String {
    let authority = host.parse::<Authority>();
    let name = authority.as_ref().map_or(host, Authority::host);
    let name = name.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    name.to_ascii_lowercase()
}

/// Middleware that rejects requests that fail [`Guard::check`].
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match app.guard.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) if is_libre(request.uri().path()) => LibreError::from(error).into_response(),
        Err(error) => error.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(hosts: &[&str], origins: &[&str], keys: &str) -> Guard {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let settings =
            ServeSettings { hosts: own(hosts), origins: own(origins), ..ServeSettings::default() };
        Guard::new(&settings, &Keys::parse(keys).unwrap()).unwrap()
    }

    fn allows(guard: &Guard, method: Method, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::try_from(*value).unwrap())
        });
        guard.check(&method, &Uri::from_static("/v1/files"), &headers.collect()).is_ok()
    }

    #[test]
    fn unknown_host_names_are_refused() {
        let local = guard(&["Translate.Example"], &[], "");
        for host in ["localhost", "LOCALHOST:80", "a.localhost", "127.0.0.1:8080", "[::1]:8080"] {
            assert!(allows(&local, Method::GET, &[("host", host)]), "{host}");
        }
        for host in ["10.0.0.7", "translate.example:8080", "translate.example."] {
            assert!(allows(&local, Method::GET, &[("host", host)]), "{host}");
        }
        assert!(allows(&local, Method::GET, &[]), "HTTP/1.0 has no host header");
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "1.1", ""]
        {
            assert!(!allows(&local, Method::GET, &[("host", host)]), "{host}");
        }
        let any = [guard(&["*"], &[], ""), guard(&[], &[], "0123456789abcdef")];
        for any in any {
            assert!(allows(&any, Method::GET, &[("host", "evil.example")]));
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let own = ("host", "localhost:8080");
        let local = guard(&[], &["https://app.example"], "");
        let post =
            |more: &[(&'static str, &str)]| allows(&local, Method::POST, &[&[own], more].concat());
        assert!(post(&[]), "a program");
        assert!(post(&[("origin", "http://localhost:8080")]), "its own page");
        assert!(post(&[("origin", "https://app.example"), ("sec-fetch-site", "cross-site")]));
        // Behind a proxy that changes the host name, the browser still reports the same origin.
        assert!(post(&[("origin", "https://x.example"), ("sec-fetch-site", "same-origin")]));
        for origin in ["http://evil.example", "null", "http://localhost:3000", "http://localhost"] {
            assert!(!post(&[("origin", origin)]), "{origin}");
            let headers = [own, ("origin", origin)];
            assert!(!allows(&local, Method::DELETE, &headers), "{origin}");
            assert!(allows(&local, Method::GET, &headers), "{origin}");
        }
        assert!(!post(&[("sec-fetch-site", "cross-site")]), "a form without an origin");
        let any = guard(&[], &["*"], "");
        assert!(allows(&any, Method::POST, &[own, ("origin", "http://evil.example")]));
    }

    #[test]
    fn invalid_origins_and_hosts_are_explained() {
        for origin in ["example.org", "https://example.org/", "https://example.org/a", "a b"] {
            let origins = vec![origin.to_owned()];
            let settings = ServeSettings { origins, ..ServeSettings::default() };
            let error = Guard::new(&settings, &Keys::default()).unwrap_err().to_string();
            assert!(error.contains("--allow-origin https://"), "{error}");
        }
        let settings = ServeSettings { hosts: vec![String::new()], ..ServeSettings::default() };
        let error = Guard::new(&settings, &Keys::default()).unwrap_err().to_string();
        assert!(error.contains("--allow-host"), "{error}");
    }
}
