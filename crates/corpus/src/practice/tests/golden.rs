//! Documents that must not change: a seed gives the same text in every version.

use super::super::{PracticeConfig, PracticeLanguage, generate};

fn first_document(language: PracticeLanguage) -> String {
    let config = PracticeConfig {
        seed: 7,
        train_documents: 1,
        valid_documents: 0,
        test_documents: 0,
        contrastive_groups: 0,
        ..PracticeConfig::new(language)
    };
    let practice = generate(&config).unwrap();
    let segments = &practice.train[0].segments;
    let lines = segments
        .iter()
        .map(|segment| format!("{}\n  {}\n", segment.source, segment.target.as_deref().unwrap()));
    lines.collect()
}

#[test]
fn german() {
    let expected = "\
Last week, Robert came back from the mill with Julia.
  Letzte Woche kam Robert mit Julia von der Mühle zurück.
Robert described an old factory to Julia near the market.
  Robert beschrieb Julia beim Markt eine alte Fabrik.
Robert went to the pool.
  Robert ging zum Schwimmbad.
He called Julia after the visit.
  Er rief Julia nach dem Besuch an.
Later, he stayed at home with Julia.
  Später blieb er mit Julia zu Hause.
Julia had to leave after the play.
  Julia musste nach dem Theaterstück gehen.
Julia knew it already.
  Julia kannte sie schon.
";
    assert_eq!(first_document(PracticeLanguage::German), expected);
}

#[test]
fn french() {
    let expected = "\
Last week, Robert came back from the factory with Julia.
  La semaine dernière, Robert est revenu de l'usine avec Julia.
Robert described an old bridge to Julia near the palace.
  Robert a décrit un vieux pont à Julia près du palais.
Robert went to the pool.
  Robert est allé à la piscine.
He called Julia after the exam.
  Il a appelé Julia après l'examen.
Later, he stayed at home with Julia.
  Plus tard, il est resté à la maison avec Julia.
Julia had to leave after the lecture.
  Julia a dû partir après la conférence.
Julia knew it already.
  Julia le connaissait déjà.
";
    assert_eq!(first_document(PracticeLanguage::French), expected);
}
