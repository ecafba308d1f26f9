//! Buildings and spots outdoors. Nearly all of them also serve as landmarks; a house does not,
//! because *à la maison* would mean at home.

use super::{Noun, das, der, die, noun, un, une};

pub(super) static NOUNS: &[Noun] = &[
    noun("park", "parks", der("Park", "Parks"), un("parc", "parcs")).landmark(),
    noun("garden", "gardens", der("Garten", "Gärten"), un("jardin", "jardins")).landmark(),
    noun("station", "stations", der("Bahnhof", "Bahnhöfe"), une("gare", "gares")).landmark(),
    noun("market", "markets", der("Markt", "Märkte"), un("marché", "marchés")).landmark(),
    noun("tower", "towers", der("Turm", "Türme"), une("tour", "tours")).backdrop(),
    noun("lake", "lakes", der("See", "Seen"), un("lac", "lacs")).landmark(),
    noun("forest", "forests", der("Wald", "Wälder"), une("forêt", "forêts")).backdrop(),
    noun("harbour", "harbours", der("Hafen", "Häfen"), un("port", "ports")).landmark(),
    noun("square", "squares", der("Platz", "Plätze"), une("place", "places")).backdrop(),
    noun("fountain", "fountains", der("Brunnen", "Brunnen"), une("fontaine", "fontaines"))
        .backdrop(),
    noun("palace", "palaces", der("Palast", "Paläste"), un("palais", "palais")).landmark(),
    noun("temple", "temples", der("Tempel", "Tempel"), un("temple", "temples")).landmark(),
    noun("cemetery", "cemeteries", der("Friedhof", "Friedhöfe"), un("cimetière", "cimetières"))
        .landmark(),
    noun("hill", "hills", der("Hügel", "Hügel"), une("colline", "collines")).backdrop(),
    noun("church", "churches", die("Kirche", "Kirchen"), une("église", "églises")).landmark(),
    noun("bridge", "bridges", die("Brücke", "Brücken"), un("pont", "ponts")).backdrop(),
    noun("school", "schools", die("Schule", "Schulen"), une("école", "écoles")).landmark(),
    noun(
        "library",
        "libraries",
        die("Bibliothek", "Bibliotheken"),
        une("bibliothèque", "bibliothèques"),
    )
    .landmark(),
    noun("factory", "factories", die("Fabrik", "Fabriken"), une("usine", "usines")).landmark(),
    noun("mill", "mills", die("Mühle", "Mühlen"), un("moulin", "moulins")).landmark(),
    noun("chapel", "chapels", die("Kapelle", "Kapellen"), une("chapelle", "chapelles")).landmark(),
    noun("bakery", "bakeries", die("Bäckerei", "Bäckereien"), une("boulangerie", "boulangeries"))
        .landmark(),
    noun("statue", "statues", die("Statue", "Statuen"), une("statue", "statues")).backdrop(),
    noun("cave", "caves", die("Höhle", "Höhlen"), une("grotte", "grottes")).landmark(),
    noun("villa", "villas", die("Villa", "Villen"), une("villa", "villas")).landmark(),
    noun("wall", "walls", die("Mauer", "Mauern"), un("mur", "murs")).backdrop(),
    noun("workshop", "workshops", die("Werkstatt", "Werkstätten"), un("atelier", "ateliers"))
        .landmark(),
    noun("hut", "huts", die("Hütte", "Hütten"), une("cabane", "cabanes")).landmark(),
    noun("castle", "castles", das("Schloss", "Schlösser"), un("château", "châteaux")).landmark(),
    noun("house", "houses", das("Haus", "Häuser"), une("maison", "maisons")),
    noun("hotel", "hotels", das("Hotel", "Hotels"), un("hôtel", "hôtels")).landmark(),
    noun("museum", "museums", das("Museum", "Museen"), un("musée", "musées")).landmark(),
    noun("theatre", "theatres", das("Theater", "Theater"), un("théâtre", "théâtres")).landmark(),
    noun(
        "restaurant",
        "restaurants",
        das("Restaurant", "Restaurants"),
        un("restaurant", "restaurants"),
    )
    .landmark(),
    noun("café", "cafés", das("Café", "Cafés"), un("café", "cafés")).landmark(),
    noun("village", "villages", das("Dorf", "Dörfer"), un("village", "villages")).landmark(),
    noun("monastery", "monasteries", das("Kloster", "Klöster"), un("monastère", "monastères"))
        .landmark(),
    noun("cinema", "cinemas", das("Kino", "Kinos"), un("cinéma", "cinémas")).landmark(),
    noun("stadium", "stadiums", das("Stadion", "Stadien"), un("stade", "stades")).landmark(),
    noun("hospital", "hospitals", das("Krankenhaus", "Krankenhäuser"), un("hôpital", "hôpitaux"))
        .landmark(),
    noun("pool", "pools", das("Schwimmbad", "Schwimmbäder"), une("piscine", "piscines")).landmark(),
    noun("monument", "monuments", das("Denkmal", "Denkmäler"), un("monument", "monuments"))
        .backdrop(),
];
