//! The page at `/`: static files in the binary, with no external resources.

use axum::http::header;
use axum::response::{Html, IntoResponse};

pub(crate) async fn index() -> Html<&'static str> {
    Html(include_str!("index.html"))
}

pub(crate) async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css"))
}

pub(crate) async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("script.js"))
}
