"""Names of columns: meaningless ones, and what people call things in five languages."""

from __future__ import annotations

import numpy as np

LANGUAGES = ("none", "none", "none", "en", "de", "fr", "es", "pl")
_WORDS = {
    "person": "person_id Personennummer id_personne id_persona id_osoby",
    "household": "household_no HaushaltNr no_menage id_hogar nr_gospodarstwa",
    "record": "record_id Satznummer no_dossier registro nr_rekordu",
    "line": "line Zeile ligne linea wiersz",
    "name": "full_name Name nom nombre nazwisko",
    "surname": "surname Nachname nom_famille apellido nazwisko2",
    "birth_month": "birth_month Geburtsmonat mois_naissance mes_nacimiento miesiac_urodzenia",
    "birth_day": "birth_day Geburtstag jour_naissance dia_nacimiento dzien_urodzenia",
    "doctor": "doctor Arzt medecin medico lekarz",
    "town": "town Ort ville ciudad miejscowosc",
    "email": "email E-Mail courriel correo mail",
    "phone": "phone Telefon telephone telefono telefon",
    "social": "ssn Sozialnummer no_secu nif pesel",
    "sex": "sex Geschlecht sexe sexo plec",
    "age": "age Alter age edad wiek",
    "birth": "birth_date Geburtsdatum date_naissance fecha_nacimiento data_urodzenia",
    "birth_year": "birth_year Geburtsjahr annee_naissance ano_nacimiento rok_urodzenia",
    "region": "region Bundesland region provincia wojewodztwo",
    "municipality": "municipality Gemeinde commune municipio gmina",
    "zip": "zip PLZ code_postal codigo_postal kod_pocztowy",
    "education": "education Bildung diplome estudios wyksztalcenie",
    "marital": "marital_status Familienstand situation_civile estado_civil stan_cywilny",
    "occupation": "occupation Beruf profession ocupacion zawod",
    "nationality": "nationality Staatsangehoerigkeit nationalite nacionalidad kraj",
    "income": "income Einkommen revenu ingresos dochod",
    "cost": "cost Kosten cout costo koszt",
    "weight": "weight Gewicht poids peso waga",
    "stratum": "stratum Schicht strate estrato warstwa",
    "cluster": "psu Klumpen grappe upm segment",
    "size": "household_size HaushaltGroesse taille_menage miembros liczba_osob",
    "tenure": "tenure Wohnform logement vivienda mieszkanie",
    "opinion": "satisfaction Zufriedenheit avis opinion zadowolenie",
    "hours": "hours Stunden heures horas godziny",
    "children": "children Kinder enfants hijos dzieci",
    "visit": "visit_date Besuchsdatum date_visite fecha_visita data_wizyty",
    "diagnosis": "diagnosis Diagnose diagnostic diagnostico choroba",
    "ward": "ward Station service planta oddzial",
    "lab": "haemoglobin Haemoglobin hemoglobine hemoglobina hemoglobina",
    "notes": "notes Bemerkungen remarques observaciones uwagi",
    "x": "lon Rechtswert x longitud dlugosc",
    "y": "lat Hochwert y latitud szerokosc",
    "district": "district Bezirk arrondissement distrito powiat",
    "year": "year Jahr annee ano rok",
    "wave": "wave Welle vague ola fala",
    "health": "self_rated Befinden etat estado_general samopoczucie",
    "constant": "source Quelle origine origen zrodlo",
    "flag": "active Aktiv actif activo aktywny",
}


def namer(rng: np.random.Generator, language: str):
    """Return a function that names a thing; a thing named twice gets a number."""
    given: set[str] = set()
    style = rng.integers(4)

    def name(thing: str) -> str:
        if language == "none":
            made = _meaningless(rng, int(style))
            while made in given:
                made = _meaningless(rng, int(style))
        else:
            place = ("en", "de", "fr", "es", "pl").index(language)
            stem = thing.rstrip("0123456789")
            made = _WORDS[stem].split()[place] + thing[len(stem) :]
        given.add(made)
        return made

    return name


def _meaningless(rng: np.random.Generator, style: int) -> str:
    number, letters = int(rng.integers(1, 400)), "".join(rng.choice(list("bcdfgjkmqvz"), 3))
    return (f"v{number:03}", f"{letters}{number}", f"Q{number % 40}_{number // 40}", letters * 2)[
        style
    ]
