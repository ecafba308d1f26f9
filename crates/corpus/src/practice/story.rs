//! Writes a story sentence by sentence, keeping track of who and what has been mentioned.

use abridge_base::random::Random;

use super::adverbials::{
    ASIDE_SLOTS, Adverbial, AsideSlot, BEGINNINGS, CONTINUATIONS, COUNTRIES, Time,
};
use super::lexicon::{Adjective, Class, Gender, Noun, attributive, people, predicative};
use super::sentence::{Cast, Mention, Sentence, Topic};
use super::templates::{
    FILLERS, INTRODUCTIONS, OBJECTS, OPENINGS, REMINDERS, SAME_SENTENCE, SUBJECTS, Template,
};
use super::{Case, Number, PracticeLanguage};

/// A story that is being written.
pub(super) struct Story {
    language: PracticeLanguage,
    random: Random,
    cast: Cast,
    sentences: Vec<Sentence>,
    topic: Option<Topic>,
    /// Nouns are not used twice in a document, so none can be both a topic and a distractor.
    nouns: Vec<&'static Noun>,
    templates: Vec<&'static Template>,
    times: Vec<&'static Time>,
    adjectives: Vec<&'static Adjective>,
    /// What has been done with the topic, so that it is not told twice.
    actions: Vec<&'static str>,
    countries: bool,
    protagonist_named: bool,
    last_aside: Option<Gender>,
}

impl Story {
    pub fn new(language: PracticeLanguage, mut random: Random) -> Option<Self> {
        let female = random.percent(50);
        let cast = Cast {
            protagonist: random.choose(people(female))?,
            friend: random.choose(people(!female))?,
        };
        Some(Self {
            language,
            random,
            cast,
            sentences: Vec::new(),
            topic: None,
            nouns: Vec::new(),
            templates: Vec::new(),
            times: Vec::new(),
            adjectives: Vec::new(),
            actions: Vec::new(),
            countries: false,
            protagonist_named: false,
            last_aside: None,
        })
    }

    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The number of sentences so far.
    pub fn len(&self) -> usize {
        self.sentences.len()
    }

    /// The sentences so far, from first to last.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// Nouns that have been used.
    pub fn nouns(&self) -> &[&'static Noun] {
        &self.nouns
    }

    /// A first sentence that sets the scene and introduces no topic.
    pub fn opening(&mut self) -> Option<()> {
        self.write(OPENINGS, Mention::None, |_| true)
    }

    /// A sentence that does not mention the topic.
    pub fn filler(&mut self) -> Option<()> {
        self.write(FILLERS, Mention::None, |_| true)
    }

    /// A sentence that introduces a new topic.
    pub fn introduction(&mut self, number: Number) -> Option<()> {
        self.new_topic(number)?;
        self.write(INTRODUCTIONS, Mention::Noun, |_| true)
    }

    /// A sentence that introduces a new topic and refers to it with a pronoun.
    pub fn same_sentence(&mut self, number: Number, case: Case) -> Option<()> {
        self.new_topic(number)?;
        let object = case == Case::Object;
        self.write(SAME_SENTENCE, Mention::Both(case), |template| {
            template.german.contains("{it.acc}") == object
        })
    }

    /// A sentence that names the topic again.
    pub fn reminder(&mut self) -> Option<()> {
        self.write(REMINDERS, Mention::Noun, |_| true)
    }

    /// A sentence with a pronoun for the topic.
    pub fn pronoun(&mut self, case: Case) -> Option<()> {
        let templates = match case {
            Case::Subject => SUBJECTS,
            Case::Object => OBJECTS,
        };
        self.write(templates, Mention::Pronoun(case), |_| true)
    }

    /// Chooses a class, then a gender, then a noun: the gender is independent of the class.
    fn new_topic(&mut self, number: Number) -> Option<()> {
        let classes: Vec<Class> = Class::ALL
            .into_iter()
            .filter(|class| number == Number::Singular || class.has_plural_topics())
            .flat_map(|class| std::iter::repeat_n(class, class.nouns().len()))
            .collect();
        let class = *self.random.choose(&classes)?;
        let gender = *self.random.choose(self.language.genders())?;
        let noun = unused_noun(self.language, &mut self.random, &self.nouns, class, gender)?;
        let adjective = if self.random.percent(70) {
            self.random.choose(attributive(class)).copied()
        } else {
            None
        };
        self.nouns.push(noun);
        self.adjectives.clear();
        self.actions.clear();
        self.topic = Some(Topic { noun, class, number, adjective });
        Some(())
    }

    fn write(
        &mut self,
        templates: &'static [Template],
        mention: Mention,
        suitable: impl Fn(&Template) -> bool,
    ) -> Option<()> {
        let topic = if mention == Mention::None { None } else { Some(self.topic?) };
        let candidates: Vec<&'static Template> = templates
            .iter()
            .filter(|template| suitable(template))
            .filter(|template| topic.is_none_or(|topic| template.classes.contains(&topic.class)))
            .filter(|template| !self.templates.iter().any(|used| std::ptr::eq(*used, *template)))
            .filter(|template| !(self.countries && mentions_country(template)))
            .filter(|template| {
                topic.is_none() || !actions(template).any(|a| self.actions.contains(&a))
            })
            .collect();
        let template = *self.random.choose(&candidates)?;
        self.templates.push(template);
        self.actions.extend(actions(template));
        self.countries |= mentions_country(template);

        let mut asides = Vec::new();
        for slot in &ASIDE_SLOTS {
            if template.english.contains(&format!("{{{}}}", slot.name)) {
                asides.push((slot.name, self.aside(slot)?));
            }
        }
        let adjective = if template.english.contains("{adj}") {
            Some(self.predicate(topic?.class)?)
        } else {
            None
        };
        let country =
            if mentions_country(template) { self.random.choose(&COUNTRIES) } else { None };
        // A second time in the same sentence would clash with the first.
        let timeless = template.english.contains("{when}") && !self.sentences.is_empty();
        let time = if template.event && !timeless { self.time() } else { None };
        let by_pronoun = self.random.percent(70);
        let protagonist_as_pronoun = by_pronoun && self.protagonist_named;
        self.protagonist_named |=
            template.english.contains("{p}") || template.english.contains("{P}");
        self.sentences.push(Sentence {
            template,
            mention,
            cast: self.cast,
            protagonist_as_pronoun,
            time,
            topic,
            adjective,
            country,
            asides,
        });
        Some(())
    }

    /// A noun that is not the topic. Two in a row differ in gender, and neither depends on the
    /// gender of the topic: so one of them differs from it, and together they reveal nothing.
    fn aside(&mut self, slot: &AsideSlot) -> Option<Adverbial> {
        let genders: Vec<Gender> = self
            .language
            .genders()
            .iter()
            .copied()
            .filter(|gender| Some(*gender) != self.last_aside)
            .collect();
        let gender = *self.random.choose(&genders)?;
        let nouns: Vec<&'static Noun> = Class::ALL
            .into_iter()
            .flat_map(Class::nouns)
            .filter(|noun| slot.takes(noun) && noun.gender(self.language) == gender)
            .filter(|noun| !self.nouns.contains(noun))
            .collect();
        let noun = *self.random.choose(&nouns)?;
        self.nouns.push(noun);
        self.last_aside = Some(gender);
        Some(Adverbial { preposition: self.random.choose(slot.prepositions(noun))?, noun })
    }

    /// An adjective that has not been used for the topic.
    fn predicate(&mut self, class: Class) -> Option<&'static Adjective> {
        let fresh: Vec<&'static Adjective> = predicative(class)
            .iter()
            .copied()
            .filter(|adjective| !self.adjectives.contains(adjective))
            .collect();
        let adjective = *self.random.choose(&fresh)?;
        self.adjectives.push(adjective);
        Some(adjective)
    }

    /// A time for the start of the sentence, in a third of all cases; always for an opening.
    fn time(&mut self) -> Option<&'static Time> {
        if self.sentences.is_empty() {
            return self.random.choose(&BEGINNINGS);
        }
        if !self.random.percent(30) {
            return None;
        }
        let fresh: Vec<&'static Time> = CONTINUATIONS
            .iter()
            .filter(|time| !self.times.iter().any(|used| std::ptr::eq(*used, *time)))
            .collect();
        let time = *self.random.choose(&fresh)?;
        self.times.push(time);
        Some(time)
    }
}

/// The verbs of a template that would sound odd if used twice for the same topic.
fn actions(template: &'static Template) -> impl Iterator<Item = &'static str> {
    const VERBS: [&str; 10] = [
        "describe",
        "photograph",
        "understand",
        "knew",
        "show",
        "recommend",
        "feed",
        "sleeping",
        "draw",
        "drew",
    ];
    let said = VERBS.into_iter().filter(|verb| template.english.contains(verb));
    said.map(|verb| if verb == "drew" { "draw" } else { verb })
}

fn mentions_country(template: &Template) -> bool {
    template.english.contains("{country}") || template.english.contains("{land}")
}

/// A noun of the class and gender that is not among `used`.
pub(super) fn unused_noun(
    language: PracticeLanguage,
    random: &mut Random,
    used: &[&'static Noun],
    class: Class,
    gender: Gender,
) -> Option<&'static Noun> {
    let nouns: Vec<&'static Noun> = class
        .nouns()
        .iter()
        .filter(|noun| noun.gender(language) == gender && !used.contains(noun))
        .collect();
    random.choose(&nouns).copied()
}
