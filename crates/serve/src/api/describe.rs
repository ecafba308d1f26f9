//! The description at `/openapi.json`.

use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{files, health, libre, sessions, translate};
use crate::error::{ApiError, Code, ErrorBody};
use crate::models::{Models, Served};
use crate::settings::Limits;

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

/// Errors of requests with a body and of sessions.
const ERRORS: &[(&str, &str)] = &[
    ("400", "The body cannot be parsed."),
    ("401", "A key is required."),
    ("403", "A page of another site, or an unknown host name."),
    ("404", "No such model."),
    ("408", "The body was sent too slowly."),
    ("409", "Another request advanced the document at the same time."),
    ("410", "The session has expired."),
    ("413", "Too large."),
    ("415", "Unexpected media type."),
    ("422", "A field is invalid."),
    ("429", "Too many requests; see Retry-After."),
    ("500", "Internal error."),
    ("503", "The server is too busy, or has no room for a session; see Retry-After."),
    ("504", "The translation took too long."),
];

/// The OpenAPI 3.1 description of all routes.
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
    let one_of = json!([{"required": ["sentences"]}, {"required": ["text"]}]);
    for schema in ["TranslateRequest", "NextRequest"] {
        description["components"]["schemas"][schema]["oneOf"] = one_of.clone();
    }
    description
}

/// The same with the models, languages and limits of this server, so that clients can offer them.
pub(crate) fn description_of(models: &Models, limits: &Limits) -> Value {
    let mut description = description();
    let all = |of: fn(&Served) -> Vec<&str>| -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for value in models.iter().flat_map(of).map(Value::from) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let names = all(|model| vec![&model.name]);
    let sources = all(|model| vec![model.languages().0]);
    let targets = all(Served::targets);
    let context = models.iter().map(Served::context_size).max();
    let or = |values: &[Value], more: Value| [values, &[more]].concat();

    let schemas = &mut description["components"]["schemas"];
    for schema in ["TranslateRequest", "SessionRequest"] {
        let fields = &mut schemas[schema]["properties"];
        for (field, values) in [("model", &names), ("source", &sources), ("target", &targets)] {
            fields[field]["enum"] = or(values, Value::Null).into();
        }
        fields["context"]["maximum"] = json!(context);
        fields["before"]["maxItems"] = json!(limits.segments);
    }
    for schema in ["TranslateRequest", "NextRequest"] {
        schemas[schema]["properties"]["sentences"]["maxItems"] = json!(limits.segments);
    }
    let options = &mut schemas["Options"]["properties"];
    options["beam"]["maximum"] = json!(limits.beam);
    options["max_length"]["maximum"] = json!(limits.tokens);
    let libre = &mut schemas["LibreRequest"]["properties"];
    libre["source"]["enum"] = or(&sources, "auto".into()).into();
    libre["target"]["enum"] = targets.clone().into();
    libre["format"]["enum"] = json!(["text", null]);

    let parameters = description.pointer_mut("/paths/~1v1~1files/post/parameters");
    for parameter in parameters.and_then(Value::as_array_mut).into_iter().flatten() {
        let (key, value) = match parameter["name"].as_str() {
            Some("model") => ("enum", json!(names)),
            Some("source") => ("enum", json!(sources)),
            Some("target") => ("enum", json!(targets)),
            Some("context") => ("maximum", json!(context)),
            Some("beam") => ("maximum", json!(limits.beam)),
            _ => continue,
        };
        parameter["schema"][key] = value;
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_every_reference_resolves() {
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
