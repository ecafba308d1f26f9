//! Several target languages in one directory.

use super::*;

#[test]
fn each_source_sentence_names_the_language_of_its_corpus() {
    let corpus = corpus();
    let data = corpus.path();
    let one = recipe();
    let corpus = |name: &str, target: &str| CorpusRecipe {
        name: name.into(),
        target: Some(target.into()),
        train: one.train.clone(),
        valid: one.valid.clone(),
        ..Default::default()
    };
    let several = Recipe {
        train: vec![],
        valid: vec![],
        test: vec![],
        corpora: vec![corpus("talks", "de"), corpus("films", "nl"), corpus("news", "de")],
        ..one.clone()
    };
    run(data, &several, 2).unwrap();
    let prepared = PreparedDirectory::open(&data.join("prepared")).unwrap();
    let source = prepared.tokenizer(Side::Source).unwrap();
    assert_eq!(source.languages().codes().collect::<Vec<_>>(), ["de", "nl"]);
    assert!(prepared.tokenizer(Side::Target).unwrap().languages().is_empty());
    for (split, first) in [("talks/train", 5), ("films/valid", 6), ("news/train", 5)] {
        let store = prepared.split(split).unwrap();
        for sentence in 0..store.sentences() {
            let mut tokens = Vec::new();
            store.append(Side::Source, sentence, &mut tokens);
            assert_eq!(tokens[0], first, "{split}");
            assert!(source.decode(&tokens).starts_with("The "), "{split}");
        }
    }
}
