//! Topics of conversation: plans, problems, events.

use super::{Noun, das, der, die, noun, un, une};

pub(super) static NOUNS: &[Noun] = &[
    noun("plan", "plans", der("Plan", "Pläne"), un("plan", "plans")),
    noun("mistake", "mistakes", der("Fehler", "Fehler"), une("erreur", "erreurs")),
    noun("dream", "dreams", der("Traum", "Träume"), un("rêve", "rêves")),
    noun(
        "proposal",
        "proposals",
        der("Vorschlag", "Vorschläge"),
        une("proposition", "propositions"),
    ),
    noun("wish", "wishes", der("Wunsch", "Wünsche"), un("souhait", "souhaits")),
    noun("contract", "contracts", der("Vertrag", "Verträge"), un("contrat", "contrats")),
    noun("accident", "accidents", der("Unfall", "Unfälle"), un("accident", "accidents")).incident(),
    noun("contest", "contests", der("Wettbewerb", "Wettbewerbe"), un("concours", "concours"))
        .occasion(),
    noun("trick", "tricks", der("Trick", "Tricks"), une("ruse", "ruses")),
    noun("visit", "visits", der("Besuch", "Besuche"), une("visite", "visites")).occasion(),
    noun("attempt", "attempts", der("Versuch", "Versuche"), une("tentative", "tentatives"))
        .incident(),
    noun("excursion", "excursions", der("Ausflug", "Ausflüge"), une("excursion", "excursions"))
        .occasion(),
    noun("idea", "ideas", die("Idee", "Ideen"), une("idée", "idées")),
    noun("question", "questions", die("Frage", "Fragen"), une("question", "questions")),
    noun(
        "decision",
        "decisions",
        die("Entscheidung", "Entscheidungen"),
        une("décision", "décisions"),
    )
    .occasion(),
    noun("journey", "journeys", die("Reise", "Reisen"), un("voyage", "voyages")).occasion(),
    noun("task", "tasks", die("Aufgabe", "Aufgaben"), une("tâche", "tâches")),
    noun("solution", "solutions", die("Lösung", "Lösungen"), une("solution", "solutions")),
    noun(
        "discovery",
        "discoveries",
        die("Entdeckung", "Entdeckungen"),
        une("découverte", "découvertes"),
    )
    .incident(),
    noun("lie", "lies", die("Lüge", "Lügen"), un("mensonge", "mensonges")),
    noun("message", "messages", die("Nachricht", "Nachrichten"), un("message", "messages")),
    noun("change", "changes", die("Veränderung", "Veränderungen"), un("changement", "changements")),
    noun("exam", "exams", die("Prüfung", "Prüfungen"), un("examen", "examens")).occasion(),
    noun("meeting", "meetings", die("Sitzung", "Sitzungen"), une("réunion", "réunions")).occasion(),
    noun("problem", "problems", das("Problem", "Probleme"), un("problème", "problèmes")),
    noun("secret", "secrets", das("Geheimnis", "Geheimnisse"), un("secret", "secrets")),
    noun("promise", "promises", das("Versprechen", "Versprechen"), une("promesse", "promesses")),
    noun("offer", "offers", das("Angebot", "Angebote"), une("offre", "offres")),
    noun("project", "projects", das("Projekt", "Projekte"), un("projet", "projets")),
    noun("rumour", "rumours", das("Gerücht", "Gerüchte"), une("rumeur", "rumeurs")),
    noun("adventure", "adventures", das("Abenteuer", "Abenteuer"), une("aventure", "aventures"))
        .incident(),
    noun("riddle", "riddles", das("Rätsel", "Rätsel"), une("énigme", "énigmes")),
    noun("game", "games", das("Spiel", "Spiele"), un("jeu", "jeux")).occasion(),
    noun(
        "experiment",
        "experiments",
        das("Experiment", "Experimente"),
        une("expérience", "expériences"),
    )
    .occasion(),
    noun("event", "events", das("Ereignis", "Ereignisse"), un("événement", "événements"))
        .incident(),
    noun(
        "misunderstanding",
        "misunderstandings",
        das("Missverständnis", "Missverständnisse"),
        un("malentendu", "malentendus"),
    )
    .incident(),
];
