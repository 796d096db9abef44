"""What the words of a column's name may mean, in several languages.

A hint breaks ties and raises confidence; it never decides without the content of the column.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# General words (English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish);
# a star stands for more letters.
_WORDS = {
    "identifier": """id ids ident* uuid guid key name names nom nombre apellido* surname lastname
        firstname forename vorname nachname familienname prenom cognome naam nazwisko imie namn
        email mail courriel correo phone tel telefon* telephone telefono mobile handy ssn passport
        passeport iban account konto uid address adresse* direccion indirizzo adres street strasse
        rue calle nummer numer numero number nr no num matricule matricola kennung kenn* pesel nif
        dni bsn nhs mrn""",
    "person": """person* patient* paciente* paziente* pat pid subject respondent* befragte*
        participant* individu* member client* customer* kunde* insured versicherte* osoba osoby
        pacjent* personne resident* employee* student* probe proband*""",
    "household": """household* hh hhid haushalt* menage* hogar* famiglia familia famille family
        familie gospodarst* huishouden hushall dwelling foyer agregado""",
    "weight": """*weight* wgt wt *gewicht* poids peso pesos ponder* pond waga wagi vikt expansion
        factor factors facteur* fattore fator coef calage redressement hochrechnung* faktor fexp
        *wgt* *wght*""",
    "strata": """strat* schicht* estrato* strate* warstwa* stratum""",
    "cluster": """cluster* psu ea enumeration klumpen conglomera* grappe* upm primary sampling
        segment wijk""",
    "x": """lon long lng longitude laengengrad langengrad easting rechtswert east x xcoord coordx
        coord_x dlugosc longitud""",
    "y": """lat latitude breitengrad northing hochwert north y ycoord coordy coord_y szerokosc
        latitud""",
    "age": """age ages agegr* agecat* alter edad eta idade leeftijd wiek alder""",
    "birth": """birth* born dob geburt* geb geboorte* naissance naiss nacimiento nasc* nascita
        urodz* fodel* jahrgang yob""",
    "quasi": """sex gender geschlecht sexe sexo sesso geslacht plec kon race ethnic* ethnie
        etnia marital* marriage familienstand civil* stan matrimonial nationality nationalit*
        nacionalidad citizenship staatsang* country land pays pais paese kraj region*
        county kanton canton province provinz provincia provincie city town stadt ville
        ciudad citta gemeinde commune municip* comune gmina district bezirk kreis distrito
        departement powiat wojew* zip* postcode plz postal* cap cep state bundesland
        urban* rural edu educ* schulbildung bildung* diplome estudios istruzione opleiding
        wykszt* utbild* school* occupation* occup* beruf* profession* profesion ocupacion
        beroep zawod job yrke language* sprache langue idioma lingua religion* konfession
        height size groesse taille altura household_size hhsize children kinder enfants
        hijos figli dzieci place""",
    "sensitive": """income* salary wage* earning* wealth einkommen* gehalt lohn revenu* salaire*
        ingreso* salario reddito stipendio inkomen dochod* zarob* inkomst amount betrag montant
        cost* kosten cout costo koszt expend* ausgaben debt* schuld* tax steuer* impot* diagnos*
        disease* illness krankheit* maladie* enfermedad* malattia choroba icd hiv crime drug*
        treatment* therap* behandlung depress* health* gesundheit sante salud zdrow*
        union price preis charge* claim* balance rent miete loyer asset*""",
}


def _marked(word: str) -> str:
    """Return a word as it stands in a name with an underscore before and behind."""
    before, after = ("" if star else "_" for star in (word.startswith("*"), word.endswith("*")))
    return f"{before}{word.strip('*')}{after}"


_MARKED = {meaning: tuple(map(_marked, words.split())) for meaning, words in _WORDS.items()}


@lru_cache(maxsize=4096)
def hints_of(name: str) -> frozenset[str]:
    """Return what the words of a name may mean.

    Examples
    --------
    >>> sorted(hints_of("Geburtsjahr")), sorted(hints_of("v17"))
    (['birth'], [])
    """
    name = f"_{snake(name)}_"
    return frozenset(
        meaning for meaning, words in _MARKED.items() if any(word in name for word in words)
    )


def snake(name: str) -> str:
    """Return a name in lower case without accents, its words apart by underscores.

    Examples
    --------
    >>> snake("ÂgeClient 2")
    'age_client_2'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])", "_", plain).lower()
    return re.sub(r"[^a-z0-9]+", "_", apart).strip("_")
