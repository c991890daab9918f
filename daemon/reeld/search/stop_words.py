"""Words that say nothing of what is searched for: a query for the best hits leaves them out if it has others.

Only those are here that are nothing else in any of these languages, or in programs: ``bin`` is German for "am", ``pod``
Czech for "below", and ``mas`` Spanish for "more". They are folded, as all words of the index are.
"""
# ruff: noqa: RUF001 - Cyrillic letters that look like Latin ones

_LANGUAGES = {
    "English": """
        a about after again all am an and any are as at be because been before being both but by can could did do does
        doing during each few for from further had has have having he her here hers him his how i if in into is it its
        itself just me more most my myself no nor not now of off on once only or other our ours out over own same she
        should so some such than that the their theirs them then there these they this those through to too under until
        up us very was we were what when where which while who whom why will with would you your yours
    """,
    "German": """
        aber als auch auf dass dem den der ein eine einem einen einer fur hat ich ihr im ist nach nicht oder sich sind
        und uns vom von warum wenn wer wie wir wird wo wurde zu zum zur
    """,
    "French": """
        aux avec ces cette dans de du elle en et etre je le les leur mais nous pas pour qu que qui sur un une vous
    """,
    "Spanish": "como del el ella ellos esta este esto las los muy para pero por porque una y",
    "Portuguese": "ao aos da dos e ela ele em essa esse eu foi isso mais na nao os pela pelo quando sem seu sua voce",
    "Italian": "che chi cosa dei della delle di gli ho il lo nel perche piu quale quello sono",
    "Russian": """
        а без бы был была было были быть в вам вас вот все всех вы где да для до его ее если есть еще же за здесь и из
        или им их к как какие какои когда кто ли мне мы на над не него нее нет ни но о об он она они от по под при с со
        так такои там то только ты у уже чем что чтобы эта эти это этого этом этот я
    """,
    "Czech": """
        aby ale ani bez byl byla bylo coz jak jako je jeho jejich jen jsem jsme jsou kde kdy ktera ktere ktery kvuli
        nebo nejsou neni podle pri proc protoze se tak take tato tedy tento u uz v z za ze
    """,
    "Polish": "czy dla gdzie jest jeszcze juz kiedy ktora ktory lub oraz przez sie tylko",
    "Turkish": "bir biz cok daha gibi hangi icin ile ise mu nasil neden nerede olarak sonra vardi ve veya",
}
STOP_WORDS = frozenset(word for words in _LANGUAGES.values() for word in words.split())
