//! People: first names that are spelled the same in English, German and French.

/// A person of a story.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::practice) struct Person {
    pub name: &'static str,
    pub female: bool,
}

const fn she(name: &'static str) -> Person {
    Person { name, female: true }
}

const fn he(name: &'static str) -> Person {
    Person { name, female: false }
}

static WOMEN: [Person; 8] = [
    she("Anna"),
    she("Clara"),
    she("Emma"),
    she("Julia"),
    she("Laura"),
    she("Marie"),
    she("Nina"),
    she("Sarah"),
];

static MEN: [Person; 8] = [
    he("Daniel"),
    he("David"),
    he("Martin"),
    he("Oscar"),
    he("Paul"),
    he("Robert"),
    he("Simon"),
    he("Thomas"),
];

/// The women or the men.
pub(in crate::practice) fn people(female: bool) -> &'static [Person] {
    if female { &WOMEN } else { &MEN }
}
