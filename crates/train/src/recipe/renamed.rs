//! Settings that used to have another name. Recipes and runs of that time still work.

/// Group, old name and new name of each.
const RENAMED: [(&str, &str, &str); 1] = [("model", "width", "size")];

/// Today's name of a setting such as `model.width`.
pub(crate) fn current_name(name: &str) -> String {
    for (group, old, new) in RENAMED {
        if name.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')) == Some(old) {
            return format!("{group}.{new}");
        }
    }
    name.to_owned()
}

/// Gives the settings of a recipe today's names.
pub(crate) fn rename(table: &mut toml::Table) {
    for (group, old, new) in RENAMED {
        if let Some(toml::Value::Table(group)) = table.get_mut(group)
            && let Some(value) = group.remove(old)
        {
            group.entry(new).or_insert(value);
        }
    }
}
