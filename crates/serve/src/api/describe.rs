//! The description at `/openapi.json`.

use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{files, health, libre, sessions, translate};
use crate::error::{ApiError, Code, ErrorBody};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "abridge",
        description = "Translates documents, not sentences: each sentence with a memory of those before it."
    ),
    paths(
        translate::translate,
        sessions::create,
        sessions::show,
        sessions::delete,
        sessions::translate,
        files::translate,
        health::models,
        health::info,
        health::metrics,
        health::live,
        health::ready,
        libre::translate,
        libre::languages,
    ),
    components(schemas(ApiError, Code, ErrorBody, libre::LibreProblem))
)]
struct Description;

/// Errors that any address with a body, or of sessions, may answer with.
const ERRORS: &[(&str, &str)] = &[
    ("400", "The body cannot be read."),
    ("401", "A key is asked for."),
    ("403", "Another site's page, or a name that is not this server's."),
    ("404", "No such model."),
    ("408", "The body came too slowly."),
    ("409", "Another request moved the document on."),
    ("410", "The session has expired."),
    ("413", "Too large."),
    ("415", "Not the expected kind of body."),
    ("422", "A field is wrong."),
    ("429", "Too many requests; see Retry-After."),
    ("500", "Something went wrong here."),
    ("503", "No turn in time, or no room for a session; see Retry-After."),
    ("504", "The translation took too long."),
];

/// The description of all addresses, as OpenAPI 3.1.
pub fn description() -> Value {
    let mut description = serde_json::to_value(Description::openapi()).unwrap_or_default();
    let Some(paths) = description.get_mut("paths").and_then(Value::as_object_mut) else {
        return description;
    };
    for (path, item) in paths {
        let schema = if libre::is_libre(path) { "LibreProblem" } else { "ErrorBody" };
        for operation in item.as_object_mut().into_iter().flat_map(|item| item.values_mut()) {
            let has_body = operation.get("requestBody").is_some();
            let is_open = matches!(path.as_str(), "/livez" | "/readyz");
            if !is_open {
                operation["security"] = json!([{}, {"key": []}]);
            }
            let Some(responses) = operation["responses"].as_object_mut() else { continue };
            for (status, meaning) in ERRORS {
                let is_possible = has_body
                    || *status == "403"
                    || path.contains("{id}") && matches!(*status, "410" | "401" | "503")
                    || *status == "401" && !is_open
                    || path == "/languages" && *status == "422"
                    || path == "/metrics" && *status == "503";
                if is_possible {
                    responses.entry(*status).or_insert_with(|| {
                        let schema = format!("#/components/schemas/{schema}");
                        let content = json!({"application/json": {"schema": {"$ref": schema}}});
                        json!({"description": meaning, "content": content})
                    });
                }
            }
        }
    }
    description["components"]["securitySchemes"] =
        json!({"key": {"type": "http", "scheme": "bearer"}});
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_described_and_every_reference_leads_somewhere() {
        let description = description();
        let paths = description["paths"].as_object().unwrap();
        for path in ["/v1/translate", "/v1/sessions/{id}/translate", "/v1/files", "/languages"] {
            assert!(paths.contains_key(path), "{path}");
        }
        let text = description.to_string();
        let mut count = 0;
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(!description["components"]["schemas"][name].is_null(), "{name}");
            count += 1;
        }
        assert!(count > 20);
    }
}
