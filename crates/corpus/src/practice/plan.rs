//! Plans the kinds of sentences, and with them the distances between pronouns and antecedents.

use abridge_base::random::Random;

use super::sentence::Sentence;
use super::story::Story;
use super::{Case, LONGEST_DISTANCE, Number, PracticeConfig, PracticeLanguage};

/// A document for training, validation or testing, with pronouns at all distances.
///
/// `None` if a choice leads to a dead end; the caller retries with other random numbers.
pub(super) fn document(config: &PracticeConfig, random: Random) -> Option<Vec<Sentence>> {
    let mut story = Story::new(config.language, random)?;
    let spread = config.longest_document - config.shortest_document + 1;
    let length = config.shortest_document + story.random().below(spread);
    if story.random().percent(50) {
        story.opening()?;
    }
    let mut state = introduce(&mut story, config)?;
    while story.len() < length {
        let left = length - story.len();
        let distance = story.len() - state.mentioned;
        if distance > LONGEST_DISTANCE {
            if left >= 2 && story.random().percent(50) {
                state = introduce(&mut story, config)?;
            } else {
                state.mentioned = story.len();
                story.reminder()?;
            }
            continue;
        }
        let must_refer = left == 1 || (!state.referred && distance == LONGEST_DISTANCE);
        let choice = if must_refer { 0 } else { story.random().below(100) };
        match choice {
            0..50 => {
                let case = any_case(story.random());
                story.pronoun(case)?;
                state.referred = true;
            }
            50..85 => story.filler()?,
            85..90 => {
                state.mentioned = story.len();
                story.reminder()?;
            }
            _ if left >= 2 && state.referred => state = introduce(&mut story, config)?,
            _ => story.filler()?,
        }
    }
    Some(story.sentences().to_vec())
}

/// Where the current topic was last named, and whether a pronoun has referred to it.
struct TopicState {
    mentioned: usize,
    referred: bool,
}

fn introduce(story: &mut Story, config: &PracticeConfig) -> Option<TopicState> {
    let mentioned = story.len();
    let number = if story.random().percent(config.plural_percent()) {
        Number::Plural
    } else {
        Number::Singular
    };
    let referred = story.random().percent(30);
    if referred {
        let case = any_case(story.random());
        story.same_sentence(number, case)?;
    } else {
        story.introduction(number)?;
    }
    Some(TopicState { mentioned, referred })
}

fn any_case(random: &mut Random) -> Case {
    if random.percent(50) { Case::Subject } else { Case::Object }
}

/// What a contrastive item asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub case: Case,
    pub number: Number,
    pub distance: usize,
}

/// A story whose last sentence holds the pronoun, and in which nothing between the antecedent
/// and that sentence mentions the topic.
pub(super) fn contrastive(
    language: PracticeLanguage,
    random: Random,
    asked: Asked,
) -> Option<Story> {
    let Asked { case, number, distance } = asked;
    let mut story = Story::new(language, random)?;
    // What comes before: nothing, a scene, or an earlier topic.
    let before = story.random().below(4);
    if before == 1 || before == 3 || (before == 0 && distance == 0) {
        story.opening()?;
    }
    if before >= 2 {
        story.introduction(Number::Singular)?;
        let case = any_case(story.random());
        story.pronoun(case)?;
    }
    if distance == 0 {
        story.same_sentence(number, case)?;
        return Some(story);
    }
    story.introduction(number)?;
    for _ in 1..distance {
        story.filler()?;
    }
    story.pronoun(case)?;
    Some(story)
}
