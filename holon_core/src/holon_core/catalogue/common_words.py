"""How common words are among tools in general: what a small catalogue cannot tell of itself.

A catalogue of ten tools would take "latest" for a rare and telling word; with this beside its
own counts it does not. The tiers were written from knowledge of the language and were not
counted in any set of tools or requests.
"""

from __future__ import annotations

from functools import cache

from holon_core.catalogue.stems import stem

_MOST = """
access all allow any based best create data day detail different enable find first get give
given good help include info information item know like list make more most multiple name need
new number offer one other provide result search set show specific support take time two type
use user value various want
"""
_MANY = """
able accurate across actual actually add advice ago almost alone already always amazing answer
anything app appear application apply appropriate area around ask aspect assist assistance
available away awesome back base basically become begin believe benefit better between big bit
bring build built bunch call capable case cause certain change check choice city come complete
completely comprehensive content context country couple creation current currently custom
customize date depend describe design detailed develop discover discuss document easily easy
effect effective effectively efficient efficiently else enough entire especially essential even
ever everyone exactly example excellent execute exist experience explain explore fact feature
feel few fewer file follow form free friend full fully fun future generally generate generated
go goal going great guidance guide half handle happen helpful high highly home hope hour idea
impact important insight instead interest interested interesting internet involve keep key kind
knowledge large last later latest lead learn least less let life link little location long look
lot low main major manage many matter mean minor minute month near necessary never next nice now
often online opportunity option over own page pair part particular past people perfect perform
person personal personalize piece place plan platform point popular possible potential present
previous process produce proper properly provided purpose put question quick quickly quite range
rather ready real really reason recent recently recommend recommendation relate related relevant
remain reply request require required response rest right role run say see seem send sense
service several share short significant simple site skill small someone something sometimes soon
sort special specifically specify start stay still stop suggest suggestion suitable system talk
text thing think tip today together tomorrow tonight tool top total totally truly try trying
turn understand unique update used useful using usually variety via view way web website week
whole wide wish within wonderful work world year yesterday yet
"""
_SOME = """
above account activity address advanced afternoon agency analysis analyze annual approach
arrange arrive article attach attend average basic beautiful beginner below beyond black blue
body book bottom brand browse building business buy calculate car card cheap child choose clean
client close code cold collect color column combine common community company compare compute
computer confirm connect consider considering consist contact contain convert copy cost count
course culture curious customer daily database decide default delete determine device die
difference digital distance double draw drink drive due eat economic economy edit education
email end english enjoy ensure entry episode error estimate evening event exact expert eye face
family famous fast favorite fetch field film filter final financial finish fix food fresh front
function game gather general global government green group hair hand hard head health hear heart
history holiday hot hotel house identify image improve increase industry initial inside
institution instruction international issue job join kid language leave legal length lesson
level listen live load local login lose love machine man market measure media medical meet
meeting member merge message method model modern money monitor monthly morning move movie music
nation national network news object obtain office ongoing open optional order organisation
organization organize original outside paint parent password pay performance phone photo
physical pick picture planning play political poor population post prefer preference price
primary private problem product professional profile program project property prove public
purchase quality query rare rate rating read recipe recognize record red reduce region remove
report research retrieve return review rich road room row safe sale same save schedule school
science score script season secondary secure select sentence separate series server shop side
similar sing single size skin sleep slow social society soft software solution solve song speak
speed split state step store story strategy street strong student study subject summarize
summary summer sure table tactic task teach team technical technique technology ticket topic
town track traditional training transform translate travel trend trending trick trip tutorial
typical ultimate unable under unsure upcoming vacation validate verify video virtual visit walk
watch water weak weekend weekly weight white win winter woman wonder wondering word write
"""

# The share of all tools that a word of a tier is taken to be found in; of any other word.
_TIERS = ((_MOST, 0.19), (_MANY, 0.065), (_SOME, 0.02))
UNLISTED = 0.0003
# Numbers are values of arguments, hardly ever what a tool is for.
NUMBER = 0.05


@cache
def _shares() -> tuple[dict[str, float], dict[str, float]]:
    words: dict[str, float] = {}
    stems: dict[str, float] = {}
    for text, share in _TIERS:
        for word in text.split():
            words.setdefault(word, share)
            stems[stem(word)] = max(share, stems.get(stem(word), 0))
    return words, stems


def share_of_word(word: str) -> float:
    """Return the share of tools in general that use a word."""
    return NUMBER if word.isdigit() else _shares()[0].get(word, UNLISTED)


def share_of_stem(word: str) -> float:
    """Return the share of tools in general that use any word of a stem."""
    return NUMBER if word.isdigit() else _shares()[1].get(word, UNLISTED)
