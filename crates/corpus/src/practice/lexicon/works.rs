//! Things written, painted or performed.

use super::{Noun, das, der, die, noun, un, une};

pub(super) static NOUNS: &[Noun] = &[
    noun("novel", "novels", der("Roman", "Romane"), un("roman", "romans")),
    noun("film", "films", der("Film", "Filme"), un("film", "films")).occasion(),
    noun("dance", "dances", der("Tanz", "Tänze"), une("danse", "danses")).occasion(),
    noun("letter", "letters", der("Brief", "Briefe"), une("lettre", "lettres")),
    noun("article", "articles", der("Artikel", "Artikel"), un("article", "articles")),
    noun("text", "texts", der("Text", "Texte"), un("texte", "textes")),
    noun("waltz", "waltzes", der("Walzer", "Walzer"), une("valse", "valses")).occasion(),
    noun("report", "reports", der("Bericht", "Berichte"), un("rapport", "rapports")),
    noun("lecture", "lectures", der("Vortrag", "Vorträge"), une("conférence", "conférences"))
        .occasion(),
    noun("essay", "essays", der("Aufsatz", "Aufsätze"), un("essai", "essais")),
    noun("catalogue", "catalogues", der("Katalog", "Kataloge"), un("catalogue", "catalogues")),
    noun("story", "stories", die("Geschichte", "Geschichten"), une("histoire", "histoires")),
    noun("opera", "operas", die("Oper", "Opern"), un("opéra", "opéras")).occasion(),
    noun("melody", "melodies", die("Melodie", "Melodien"), une("mélodie", "mélodies")),
    noun("symphony", "symphonies", die("Sinfonie", "Sinfonien"), une("symphonie", "symphonies"))
        .occasion(),
    noun("drawing", "drawings", die("Zeichnung", "Zeichnungen"), un("dessin", "dessins")),
    noun("speech", "speeches", die("Rede", "Reden"), un("discours", "discours")).occasion(),
    noun("comedy", "comedies", die("Komödie", "Komödien"), une("comédie", "comédies")).occasion(),
    noun(
        "biography",
        "biographies",
        die("Biografie", "Biografien"),
        une("biographie", "biographies"),
    ),
    noun("magazine", "magazines", die("Zeitschrift", "Zeitschriften"), un("magazine", "magazines")),
    noun("newspaper", "newspapers", die("Zeitung", "Zeitungen"), un("journal", "journaux")),
    noun(
        "exhibition",
        "exhibitions",
        die("Ausstellung", "Ausstellungen"),
        une("exposition", "expositions"),
    )
    .occasion(),
    noun("book", "books", das("Buch", "Bücher"), un("livre", "livres")),
    noun("poem", "poems", das("Gedicht", "Gedichte"), un("poème", "poèmes")),
    noun("song", "songs", das("Lied", "Lieder"), une("chanson", "chansons")).occasion(),
    noun("painting", "paintings", das("Gemälde", "Gemälde"), un("tableau", "tableaux")),
    noun("picture", "pictures", das("Bild", "Bilder"), une("image", "images")),
    noun("play", "plays", das("Theaterstück", "Theaterstücke"), une("pièce", "pièces")).occasion(),
    noun("photo", "photos", das("Foto", "Fotos"), une("photo", "photos")),
    noun("concert", "concerts", das("Konzert", "Konzerte"), un("concert", "concerts")).occasion(),
    noun("ballet", "ballets", das("Ballett", "Ballette"), un("ballet", "ballets")).occasion(),
    noun("poster", "posters", das("Plakat", "Plakate"), une("affiche", "affiches")),
    noun(
        "manuscript",
        "manuscripts",
        das("Manuskript", "Manuskripte"),
        un("manuscrit", "manuscrits"),
    ),
];
