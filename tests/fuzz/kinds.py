"""The kinds of input, one entry each: seeds, ways to damage them, and the commands that read them.

In a command line `@` is the input; words that are names of `seeds.support` are valid files that are
put beside it; what a command writes is called `out…`. A new kind is a new entry.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.fuzz import mutators as m
from tests.fuzz import names, seeds


@dataclass(frozen=True)
class Kind:
    """How inputs of a kind are made, and who reads them."""

    name: str
    file: str
    """What the input is called; "" where it is an option or in the environment."""
    seeds: Callable[[], Sequence[bytes]]
    mutators: Sequence[m.Mutator]
    commands: Sequence[str]
    tokens: Sequence[bytes] = ()
    piped: bool = False
    """Whether it may come on standard input."""
    parts: int = 0
    """A folder of so many files."""
    same_in_python: bool = False
    """Whether the kernel in Python is to say the same as the compiled one."""


_TABLE = (
    "profile @ -f json", "profile @ -f text", "chowliu @ -f json", "chowliu @ --prune bic --undirected",
    "pc @ -o out.json", "pc @ --test-log out.jsonl --sepsets out.csv -f text", "indtest @ a b", "indtest @ a b -z c -f json",
    "indtest @ --all-pairs -f csv", "indtest @ --implied graph.dot", "hc @ -f json", "ges @ -f text", "exact @ -f json",
    "imap @ --order a,b,c -f json", "count @ --pairs -o out.parquet", "count @ --graph graph.dot -o out.parquet",
    "score @ graph.dot -f json", "score @ graph.dot --folds 3", "fit-params @ graph.dot -o out.json", "mrf @ -o out.json", "mixture @ --components 2 --em-restarts 2 -f json",
    "mrf @ graph.dot --method pl --l2 1 -f text",
    "crf @ --target c -o out.json", "crf @ graph.dot --target a,c --folds 2 -f text", "crf @ --target b --sequence a -f text",
    "fit-params @ graph.dot --cpt-dir out_tables -o out.bif", "check @ model.json -f json", "check @ model.json -f github",
    "average @ --by hc --bootstrap 3 -f json", "average @ --by exact", "average @ --by mrf --bootstrap 3 -f text", "draw --kind matrix @ -o out.svg",
    "draw --kind losses @ graph.dot --folds 3", "draw --kind trace @", "chowliu @ -f html",
    "draw graph.dot --weight mi --data @",
    "plan pc @ -f json", "plan -f json count @ --pairs -o out.parquet", "score @ graph.dot --dry-run",
    "report @ model.json -o out.html", "rake @ --targets targets.csv -o out.csv", "rake @ --targets targets.csv --missing drop --bounds 0.2,4 --report out.json",
)  # fmt: skip
_BATCH = (
    "impute @ model.json -o out.csv", "query model.json --batch @ --target c", "query model.json --batch @ --predict b -o out.csv",
    "score data.csv graph.dot --holdout @", "query field.json --batch @ --predict c", "query field.json --batch @ --mpe --ignore-unknown",
    "query chain.json --batch @ --mpe -o out.csv", "query chain.json --batch @ --predict c --ignore-unknown", "crf data.csv --target c --holdout @",
)  # fmt: skip
_NUMERIC = (
    "fit-params @ ngraph.dot --gaussian -o out.json", "pc @ --test fisher-z -f json", "score @ ngraph.dot --score bge",
    "check @ gaussian.json -f json", "query gaussian.json --batch @ --target q", "glasso @ -f json", "glasso @ --folds 2 --transform rank -f text",
    "glasso @ --l1 0.1 --missing drop -o out.svg", "notears @ -f json", "notears @ --raw --missing drop --max-seconds 5 -f text",
)  # fmt: skip
_GRAPHS = (
    "convert @ out.json", "convert @ out.dot", "convert @ out.graphml", "convert @ out.txt", "compare @ graph.dot -f json",
    "compare graph.dot @ @ -f text", "report data.csv model.json --strengths @ -o out.html", "score data.csv @", "fit-params data.csv @ -o out.json", "mrf data.csv @ -o out.json", "indtest data.csv --implied @",
    "hc data.csv --start @", "exact data.csv --against @", "count data.csv --graph @ -o out.parquet",
    "count data.csv --implied @ -o out.parquet", "score data.csv graph.dot --compare-to @", "verify @ -f json",
    "draw @ -o out.svg", "draw graph.dot --against @ -f html", "draw @ -f text", "convert @ out.svg",
    "draw --kind strengths @",
)  # fmt: skip
_MODELS = (
    "convert @ out.json", "convert @ out.bif", "convert @ out.xmlbif", "convert @ out.net", "convert @ out.dot",
    "convert @ out.txt", "query @", "query @ --mpe -f json", "query @ --target c --evidence a=yes -f json",
    "query @ --do a=yes --target b,c -f csv", "query @ --batch data.csv --target c", "sample @ -n 20",
    "sample @ -n 5 --evidence a=yes -o out.csv", "compare @ model.json -f json", "check data.csv @ -f json", "report data.csv @ -o out.html",
    "check data.csv @ -f sarif", "fit-params data.csv @ -f text", "score data.csv @ --per-node", "verify @",
    "draw @ -o out.svg", "draw @ --evidence a=yes -f html", "draw @ --kind cpt --node c",
)  # fmt: skip
_UNDIRECTED = (
    "convert @ out.json", "convert @ out.uai", "convert @ out.bif", "convert @ out.json --to dag", "convert @ out.dot", "query @",
    "query @ --mpe -f json", "query @ --target c --evidence a=yes -f json", "query @ --batch data.csv --target c", "query @ --do a=yes",
    "compare @ model.json -f json", "compare @ @", "check data.csv @ -f json", "verify @", "draw @ -o out.svg",
)  # fmt: skip
_FIELDS = (
    "query @ --evidence a=yes,b=1 -f json", "query @ --mpe --evidence a=yes,b=1", "query @ --batch data.csv --predict c -o out.csv", "query @ --batch data.csv --mpe",
    "query @ --batch data.csv --target c --ignore-unknown", "draw @ -o out.svg", "draw @ --evidence a=yes,b=1 -f html", "crf data.csv @ --target c -f text",
    "verify @", "sample @ -n 3", "convert @ out.json", "check data.csv @",
)  # fmt: skip
_UAI = (
    "convert @ out.json", "convert @ out.uai", "convert @ out.net", "convert @ out.json --to undirected", "convert @ out.json --to dag",
    "query @ -f json", "query @ --mpe", "query @ --target x1 --evidence x0=1", "compare @ @ -f json", "draw @ -f text",
)  # fmt: skip
_GAUSSIAN = (
    "convert @ out.json", "convert @ out.txt", "convert @ out.dot", "query @ -f json", "query @ --target q --evidence p=1.5 -f json",
    "query @ --batch numbers.csv --target r", "sample @ -n 20 --evidence r=0.5", "sample @ -n 5 --do p=1", "check numbers.csv @ -f json",
    "compare @ gaussian.json", "score numbers.csv @ --score bic-g", "verify @", "draw @ --evidence p=1.5 -o out.svg",
)  # fmt: skip
_CONDITIONAL = (
    "convert @ out.json", "convert @ out.txt", "convert @ out.dot", "convert @ out.bif", "sample @ -n 20", "sample @ -n 5 --do a=yes,d=1",
    "sample @ -n 5 --weighted --evidence d=0.5", "fit-params mixed.csv @ -f text", "compare @ conditional.json", "verify @",
    "draw @ --kind cpt --node d -o out.svg", "check mixed.csv @",
)  # fmt: skip
_JSON = (*m.TEXT, *(m.change_json,) * 14)
_XML = (*m.TEXT, *(m.change_xml,) * 14)
_CSV_TOKENS = (
    b",", b"\n", b'"', b'""', b'","', b"\r\n", b";", b"\t", b"NA", b"a", b"no", b"yes", b"[0,1)", b"1", b"a,b\n", b"\n\n",
    b'"\n"', b"PAR1", b"\x1f\x8b", b"BZh", b"PK\x03\x04", b"{", b"<", b"#", b"nan", b"-inf", b"1e5", b"w", b"weight",
)  # fmt: skip
_JSON_TOKENS = (
    b"{", b"}", b"[", b"]", b":", b",", b"null", b"true", b"NaN", b"Infinity", b"1e999", b'"\\ud800"', b'"\\u0000"', b'"levels"',
    b'"id"', b'"nodes"', b'"edges"', b'"cpt"', b'"counts"', b'"factors"', b'"scope"', b'"table"', b'"features"', b'"weights"', b'"role"', b'"chain"', b'"states"', b'"coding"', b'"parents"', b'"hash"', b'"learning"', b'"kind"', b"[[", b"{}",
)  # fmt: skip
_DOT_TOKENS = (
    b"graph", b"digraph", b"strict", b"subgraph", b"node", b"edge", b"->", b"--", b"{", b"}", b"[", b"]", b";", b"=", b"a", b"b",
    b"<a>", b"<a", b'"\\"', b"//", b"/*", b"*/", b"#", b"a:n", b"{a b c} -> {a b c}", b"dir=both", b"levels=\"[]\"", b'"a\\\nb"',
    b"kind=cpdag", b"arrowhead=odot", b"arrowtail=normal", b"a -> a", b"b -> a", b",",
)  # fmt: skip
_BIF_TOKENS = (
    b"network", b"variable", b"probability", b"type", b"discrete", b"table", b"default", b"property", b"(", b")", b"{", b"}", b"|",
    b"[ 2 ]", b"[ 65536 ]", b"( c | a, b )", b",", b";", b'"', b"//", b"/*", b"*/", b"0.5", b"a", b"c", b"( a | b )",
)  # fmt: skip
_NET_TOKENS = (
    b"net", b"class", b"node", b"potential", b"states", b"data", b"continuous", b"decision", b"(", b")", b"((", b"))", b"{", b"}", b"|",
    b"=", b";", b"%", b'"', b"/*", b"*/", b"0.5", b"( a | b )", b'("x" "y")', b"model_data", b"utility",
)  # fmt: skip
_UAI_TOKENS = (
    b"MARKOV", b"BAYES", b"0", b"1", b"2", b"3", b"4", b"-1", b"62", b"63", b"65535", b"65536", b"1e308", b"1e-320", b"inf", b"nan",
    b"0.5", b"\n", b" ", b"99999999999999999999", b"1_0", b"+1",
)  # fmt: skip
_XML_TOKENS = (
    b"<DEFINITION>", b"</DEFINITION>", b"<FOR>a</FOR>", b"<GIVEN>c</GIVEN>", b"<TABLE>", b"<OUTCOME>x</OUTCOME>", b"<!--", b"-->",
    b"<![CDATA[", b"]]>", b"<node id='a'/>", b"<edge source='a' target='b'/>", b"<data key='d0'>", b"mark_source", b"circle", b"arrow",
    b"directed", b"undirected", b'xmlns="x"', b"<?x?>", b"<hyperedge/>", b"<port name='x'/>", b"<graph>",
)  # fmt: skip
_TOML_TOKENS = (
    b"[check]", b"[tool]", b"[tool.gml]", b"[tool.gml.check]", b"[pc]", b"[x]", b"=", b"'''", b'"""', b"[[check]]", b"{", b"}", b"a.b.c = 1",
    b"data", b"model", b"data = 1", b'baseline = "baseline.json"', b'levels = "schema.json"', b"alpha = nan", b"alpha = inf", b"seed = -1",
    b'"\\u0000"', b'"\\ud800"', b"1979-05-27", b"bins = 3", b'columns = "a,b"', b"true", b"no_config = true", b"quiet = 1", b'output = "out.json"',
    b"cut = { d = 'width:3' }", b"debug = true", b"report = ['github=out.txt']", b"threads = 9223372036854775808",
)  # fmt: skip
_OPTION_TOKENS = (
    b",", b"->", b"--", b"<", b"=", b'"', b'""', b"a", b"b", b"c", b"yes", b"x", b":", b"quantile:", b"width:", b"0,10", b"-", b"nan", b"inf",
    b"utf-16", b"idna", b"utf-7", b"unicode_escape", b"rot13", b"hex", b"@", b"%", b"*", b"K", b"G", b"out.txt", b"=out.json",
)  # fmt: skip

OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pc data.csv --require={}", ("a->b", '"a"->"b"', "b->c")),
    ("hc data.csv --forbid={} -f json", ("a->b", "c->a")),
    ("ges data.csv --tiers={}", ("a < b,c", 'a,"b" < c')),
    ("pc mixed.csv --bins 3 -c {}", ("a,b", 'a,"b",c', "a,d")),
    ("chowliu mixed.csv --exclude={}", ("d,w", "a")),
    ("indtest mixed.csv --all-pairs --numeric={}", ("d,w", "a")),
    ("chowliu mixed.csv --labels={}", ("d,w", "a")),
    ("profile mixed.csv --cut={}", ("d=quantile:5", "d=width:4", "d=-1,0,2.5", "w=quantile:1")),
    ("chowliu mixed.csv -c a,b,d --cut={} -f json", ("d=quantile:5", "d=width:4", "d=-1,0,2.5")),
    ("profile mixed.csv --discretize mdlp --discretize-class={}", ("a", "d", "b")),
    ("profile holes.csv --na={}", ("NA", "", "x")),
    ("chowliu data.csv --engine stream --spool={}", (".", "", "no/folder")),
    ("chowliu data.csv --engine stream --master={}", ("local[1]", "spark://host:7077")),
    ("profile data.csv -d {}", (",", ";", "\t", "a")),
    (
        "profile data.csv --encoding={}",
        ("utf-8", "latin-1", "utf-16", "cp1252", "utf-7", "shift_jis", "idna"),
    ),
    ("profile mixed.csv --decimal={}", (".", ",")),
    ("chowliu mixed.csv -c a,b,c --weights={}", ("w", "d")),
    ("score mixed.csv graph.dot --weights-fractional={}", ("w", "d")),
    ("profile mixed.csv --bins={}", ("3", "1", "1000")),
    ("chowliu mixed.csv --bins 3 --max-levels={}", ("255", "1", "2")),
    ("chowliu data.csv --root={}", ("a", "c")),
    ("chowliu data.csv --class={}", ("a", "c")),
    ("query model.json --evidence={}", ("a=yes", "a=yes,b=1", 'c="x"')),
    ("draw model.json --evidence={}", ("a=yes", "a=yes,b=1", 'c="x"')),
    ("draw graph.dot --around={} --radius 1", ("a", "a,c", '"b"')),
    ("draw graph.dot --tiers={}", ("a < b,c", 'a,"b" < c')),
    ("draw graph.dot --weight={}", ("none", "mi", "strength")),
    ("draw --kind cpt model.json --node={}", ("a", "c")),
    ("query model.json --do={} --target c", ("a=yes", "b=0")),
    ("query gaussian.json --evidence={}", ("p=1", "p=1,q=2e3")),
    ("query model.json --target={} -f json", ("a", "a,b", "c,a,b")),
    ("query model.json --batch data.csv --predict={}", ("a", "c")),
    ("query model.json --batch data.csv --predict a --metrics={}", ("m.json", "m.txt")),
    ("score data.csv graph.dot --folds 2 --predict={}", ("a", "c")),
    ("sample model.json -n 3 --evidence={}", ("a=yes", "c=x,b=0")),
    ("sample model.json --seed={} -n 3", ("0", "7")),
    ("sample model.json -n 3 --missing-rate={}", ("0", "0.5", "1")),
    ("indtest data.csv a {}", ("b", "c")),
    ("indtest data.csv a b -z {}", ("c", "a")),
    ("indtest data.csv a b --alpha={}", ("0.05", "0.5")),
    ("indtest data.csv a b --test bayes --ess={}", ("1", "0.001")),
    ("indtest data.csv a b --min-per-cell={}", ("1", "5")),
    ("imap data.csv --order={}", ("a,b,c", "c,b")),
    ("score data.csv graph.dot --score={}", ("bic", "bdeu,aic", "loglik")),
    ("score data.csv graph.dot --score bdeu --ess={}", ("1", "10")),
    ("score data.csv graph.dot --score bd --prior-count={}", ("1", "0.5")),
    ("score data.csv graph.dot --edge-penalty={}", ("0", "2.5")),
    ("score data.csv graph.dot --fail-under={}", ("0", "-100.5")),
    ("score data.csv graph.dot --folds={}", ("2", "60")),
    ("hc data.csv --max-seconds={}", ("5", "0", "0.001")),
    ("exact data.csv --max-parents={}", ("0", "2")),
    ("hc data.csv --score={}", ("bic", "bdeu")),
    ("ges data.csv --phases={}", ("forward,backward", "turning")),
    ("fit-params data.csv graph.dot --intervals={}", ("0.95", "0.5")),
    ("crf data.csv --target={}", ("c", 'a,"b"')),
    ("crf data.csv --target c --l2={}", ("0", "2.5", "auto")),
    ("crf data.csv --target c --l1={}", ("0", "2.5")),
    ("crf data.csv --target c --folds={}", ("2", "60")),
    ("crf data.csv --target c --folds 2 --seed={}", ("0", "7")),
    ("crf data.csv --target c --sequence={}", ("a", "b")),
    ("crf data.csv --target c --sequence a --window={}", ("0", "3")),
    ("crf data.csv --target c --holdout={}", ("data.csv", "holes.csv")),
    ("mrf data.csv --clique={}", ("a,b", "c", 'a,"b"')),
    ("mrf data.csv graph.dot --intervals={} -o out.json", ("0.95", "0.5")),
    ("mrf data.csv graph.dot --l1={}", ("0", "2.5")),
    ("mrf data.csv graph.dot --l2={}", ("0", "2.5")),
    ("mrf data.csv graph.dot --smoothing={}", ("0", "2.5")),
    ("mrf data.csv --structure l1 --gamma={}", ("0", "0.5")),
    ("mrf data.csv --structure l1 --criterion folds --folds={}", ("2", "60")),
    ("mrf data.csv --max-clique={}", ("1", "3")),
    ("mrf data.csv graph.dot --method pcd --iterations 3 --chains={}", ("1", "20")),
    ("mrf data.csv graph.dot --method pcd --chains 9 --iterations={}", ("1", "7")),
    ("mrf data.csv graph.dot --method cd --chains 9 --iterations 3 --sweeps={}", ("1", "2")),
    ("mrf data.csv graph.dot --method pcd --chains 9 --iterations 3 --rate={}", ("0.5", "1e-3")),
    (
        "mrf data.csv graph.dot --method pcd --chains 9 --iterations 3 --trace={}",
        ("out.csv", "out.txt", "out"),
    ),
    ("fit-params data.csv graph.dot --prior bdeu --ess={}", ("1", "10")),
    ("check data.csv model.json --min-effect={}", ("0.01", "tables=0.02", "fit=1")),
    ("check data.csv model.json --severity={}", ("fit=warn", "tables=fail")),
    ("check data.csv model.json --families={}", ("schema", "tables,fit")),
    (
        "check data.csv model.json --report={}",
        ("junit=out.xml", "sarif=out.sarif", "github=out.txt"),
    ),
    ("check data.csv model.json --alpha={}", ("0.01", "0.5")),
    ("check data.csv model.json --unlikely-rows={}", ("5", "0")),
    ("check {} data.csv model.json --report junit=out.xml", ("data.csv", "-", "none.csv", ".")),
    ("compare graph.dot model.json --max-shd={}", ("0", "3")),
    ("count data.csv --pairs --min-cell={} -o out.parquet", ("1", "5")),
    ("merge counts.parquet counts.parquet --min-cell={} -o out.parquet", ("1", "5")),
    ("explain log.jsonl a {}", ("b", "c")),
    ("report data.csv model.json --title={} -o out.html", ("May", "<script>", 'a"b')),
    ("report data.csv model.json --folds={}", ("2", "60")),
    ("report data.csv model.json --strengths={}", ("graph.dot", "data.csv")),
    ("report data.csv model.json -o {}", ("out.html", "out.htm", "out.txt")),
    ("profile data.csv -o {}", ("out.json", "out.csv", "out.md", "out")),
    ("hc data.csv --trace={}", ("out.csv", "out.txt", "out")),
    ("average data.csv --by exact --probabilities={}", ("out.csv", "out.json", "out")),
    ("check data.csv model.json --write-baseline={}", ("out.json", "model.json")),
    ("pc data.csv --sepsets={}", ("out.csv", "out.json")),
    ("pc data.csv --test-log={}", ("out.jsonl", "data.csv")),
    ("fit-params data.csv graph.dot --cpt-dir={}", ("out", "data.csv")),
    ("profile data.csv -f {}", ("json", "text")),
    ("profile data.csv -o out.json --depfile={}", ("out.d", "out.json")),
    ("profile {}", ("data.csv", "-", "none.csv", "../x")),
    ("convert {} out.json", ("graph.dot", "model.json")),
    ("verify {}", ("model.json", "data.csv")),
    (
        "maxent {}",
        ("constraints.json", "targets.csv", "numeric.json", "data.csv", "-", "none.json"),
    ),
    ("maxent constraints.json --reference={}", ("model.json", "data.csv", "none.json")),
    ("maxent numeric.json --quantiles={}", ("0.5", "0,1", "0.1,0.9")),
    ("maxent numeric.json --draws={}", ("0", "3", "20000")),
    ("rake data.csv --targets {}", ("targets.csv", "data.csv", "none.csv")),
    ("rake data.csv --targets targets.csv --bounds={}", ("0.3,3", "0,2", "0.9,1.1")),
    ("rake data.csv --targets targets.csv --weight-name={}", ("w", "a", "x,y")),
    ("rake data.csv --targets targets.csv --report={}", ("out.json", "out.txt", "data.csv")),
    ("verify model.json --input={}", ("data.csv", "model.json")),
    ("profile data.csv --max-memory={}", ("64M", "1.5k", "1G")),
    ("profile data.csv --levels={}", ("schema.json", "data.csv")),
    ("pc data.csv --knowledge={}", ("knowledge.json", "data.csv")),
    ("average data.csv --by order-mcmc --iterations 20 --threshold={}", ("0.5", "1")),
    ("average data.csv --by mrf --bootstrap 2 --max-clique={}", ("1", "3")),
    ("average data.csv --by mrf --structure tree --bootstrap 2 --prune={}", ("bic", "g")),
    ("mixture data.csv --em-restarts 2 --components={}", ("2", "1..2")),
    (
        "mixture numbers.csv --gaussian --components 2 --em-restarts 2 --covariance={}",
        ("EII", "EII,VVI"),
    ),
    ("mixture data.csv --components 2 --em-restarts 2 --name={}", ("class", "kind")),
    ("fit-params data.csv graph.dot --missing em --hidden={}", ("H=2", "a=2")),
    ("plan {} data.csv", ("pc", "sample", "nonsense")),
    ("impute data.csv model.json --cells={}", ("out.txt", "data.csv")),
    ("glasso numbers.csv --l1={}", ("0", "0.5")),
    ("glasso numbers.csv --gamma={}", ("0", "0.5")),
    ("glasso numbers.csv --folds={}", ("2", "60")),
    ("glasso numbers.csv --n-penalties={}", ("2", "30")),
    ("notears numbers.csv --threshold={}", ("0", "0.5")),
    ("notears numbers.csv --l1={}", ("0", "0.5")),
    ("help {}", ("tests", "pc", "nonsense")),
    (
        "completion bash --line={}",
        (
            "gml pc data.csv -c a,",
            "gml query model.json --evidence 'a=",
            'gml indtest data.csv "a',
            "gml -q h",
        ),
    ),
    ("completion zsh --line gml --breaks={}", ("=:", "\"'><=;|&(:")),
    ("{} data.csv", ("profile", "chowliu", "nonsense")),
    ("profile data.csv {}", ("--quiet", "--verbose", "--nonsense")),
)
"""Command lines with a hole, and what fits into it."""


def option_seeds() -> list[bytes]:
    """All values that fit somewhere."""
    return sorted({value.encode() for _, values in OPTIONS for value in values})


ENVIRONMENT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("GML_ALPHA", ("0.01", "0.5")),
    ("GML_DATA", ("data.csv", "-", "none.csv", "data.csv\nholes.csv")),
    ("GML_MODEL", ("model.json", "graph.dot")),
    ("GML_COLUMNS", ("a,b", 'a,"b",c')),
    ("GML_EXCLUDE", ("a", "w")),
    ("GML_NA", ("NA", "NA\n?")),
    ("GML_CUT", ("a=width:3", "a=1,2\nb=0,1")),
    ("GML_MISSING", ("drop", "level")),
    ("GML_SEVERITY", ("fit=warn", "fit=warn\ntables=fail")),
    ("GML_FAMILIES", ("schema", "tables,fit")),
    ("GML_MIN_EFFECT", ("0.02", "tables=0.1\nfit=2")),
    ("GML_WARN_ONLY", ("1", "true", "no")),
    ("GML_QUIET", ("1", "off")),
    ("GML_VERBOSE", ("1",)),
    ("GML_NO_CONFIG", ("1", "0")),
    ("GML_CONFIG", ("gml.toml", "none.toml", "data.csv")),
    ("GML_FORMAT", ("json", "github", "text")),
    ("GML_OUTPUT", ("out.json", "out.xml")),
    ("GML_REPORT", ("junit=out.xml", "junit=out.xml\nsarif=out.sarif")),
    ("GML_BASELINE", ("baseline.json", "data.csv")),
    ("GML_SEED", ("0", "7")),
    ("GML_THREADS", ("1", "2")),
    ("GML_LEVELS", ("schema.json", "data.csv")),
    ("GML_MAX_LEVELS", ("255", "2")),
    ("GML_WEIGHTS", ("a", "w")),
    ("GML_BINS", ("3",)),
    ("GML_DELIMITER", (",", ";")),
    ("GML_DECIMAL", (",", ".")),
    ("GML_ENCODING", ("utf-8", "latin-1", "utf-16")),
    ("GML_UNLIKELY_ROWS", ("0", "5")),
    ("GML_KERNEL", ("reference", "portable", "avx2", "avx512", "nonsense")),
    ("GITHUB_STEP_SUMMARY", ("out.md",)),
)
"""Variables that commands look at, and values that they take."""


def environment_seeds() -> list[bytes]:
    """All values that fit somewhere."""
    return sorted({value.encode() for _, values in ENVIRONMENT for value in values})


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("csv", "in.csv", seeds.csv_seeds, m.TEXT, (*_TABLE, *_BATCH, *_NUMERIC), _CSV_TOKENS, piped=True, same_in_python=True),
        Kind(
            "delimited", "in.tsv", seeds.delimited_seeds, m.TEXT,
            ("profile @", "profile @ -d ;", "profile @ -d | -f csv", "chowliu @ -d ; --decimal ,", "indtest @ a b -d ;", "pc @ -f json",
             "query model.json --batch @ -d ; --target c", "rake @ -d ; --targets targets.csv -o out.tsv"),
            _CSV_TOKENS, piped=True, same_in_python=True,
        ),
        Kind(
            "compressed", "in.csv", seeds.compressed_seeds, (*m.BYTES, *(m.change_inside,) * 8, m.join_streams, m.join_streams, m.blow_up),
            ("profile @", "chowliu @ -f json", "indtest @ a b", "count @ --pairs -o out.parquet", "query model.json --batch @ --target c",
             "rake @ --targets targets.csv", "verify model.json --input @", "convert @ out.json", "merge @ @ -o out.parquet"),
            _CSV_TOKENS, piped=True,
        ),
        Kind(
            "parquet", "in.parquet", lambda: seeds.parquet_seeds(), (*m.BYTES, *(m.change_footer,) * 8, *(m.change_pages,) * 6, *(m.change_cells,) * 6),
            (*_TABLE, *_BATCH, "verify model.json --input @", "merge @ counts.parquet -o out.parquet", "convert @ out.json"),
        ),
        Kind(
            "parquet-folder", "in.parquet", lambda: seeds.parquet_seeds(), (*m.BYTES, *(m.change_footer,) * 4, *(m.change_cells,) * 8),
            ("profile @", "chowliu @ -f json", "indtest @ a b", "count @ --pairs -o out.parquet", "verify model.json --input @", "check @ model.json",
             "score @ graph.dot --folds 3", "rake @ --targets targets.csv"),
            parts=3,
        ),
        Kind(
            "counts", "in.parquet", seeds.count_seeds, (*m.BYTES, *(m.change_metadata,) * 20, *(m.change_cells,) * 10, m.change_footer, m.change_pages),
            (*_TABLE, "merge @ counts.parquet -o out.parquet", "merge @ @ -o out.parquet --min-cell 2", "verify model.json --input @"),
        ),
        Kind("dot", "in.dot", lambda: [*seeds.DOT, seeds.made("learned.dot")], m.TEXT, _GRAPHS, _DOT_TOKENS, piped=True),
        Kind(
            "graph-json", "in.json", lambda: [seeds.GRAPH_JSON, seeds.made("graph.json"), seeds.made("learned.json")], _JSON, _GRAPHS, _JSON_TOKENS,
            piped=True,
        ),
        Kind("graphml", "in.graphml", lambda: [seeds.made("graph.graphml"), seeds.made("learned.graphml")], _XML, _GRAPHS, _XML_TOKENS, piped=True),
        Kind("bif", "in.bif", lambda: [seeds.BIF, seeds.made("model.bif")], m.TEXT, (*_MODELS, *_GRAPHS), _BIF_TOKENS, piped=True),
        Kind("xmlbif", "in.xml", lambda: [seeds.made("model.xmlbif")], _XML, (*_MODELS, *_GRAPHS), _XML_TOKENS, piped=True),
        Kind("net", "in.net", lambda: [seeds.NET, seeds.made("model.net")], m.TEXT, (*_MODELS, *_GRAPHS), _NET_TOKENS, piped=True),
        Kind("model-json", "in.json", lambda: [seeds.made("model.json")], _JSON, (*_MODELS, *_GRAPHS), _JSON_TOKENS, piped=True),
        Kind(
            "undirected-json", "in.json", lambda: [seeds.UNDIRECTED, seeds.made("undirected.json")], _JSON, (*_UNDIRECTED, *_GRAPHS), _JSON_TOKENS,
            piped=True,
        ),
        Kind("crf-json", "in.json", lambda: [seeds.made("field.json"), seeds.made("chain.json")], _JSON, _FIELDS, _JSON_TOKENS, piped=True),
        Kind(
            "uai", "in.uai", lambda: [seeds.UAI, seeds.made("model.uai"), seeds.made("undirected.uai")], m.TEXT, (*_UAI, *_GRAPHS), _UAI_TOKENS,
            piped=True,
        ),
        Kind("conditional-json", "in.json", lambda: [seeds.made("conditional.json")], _JSON, _CONDITIONAL, _JSON_TOKENS, piped=True),
        Kind("gaussian-json", "in.json", lambda: [seeds.made("gaussian.json")], _JSON, _GAUSSIAN, _JSON_TOKENS, piped=True),
        Kind(
            "schema", "in.json", lambda: [seeds.SCHEMA, seeds.made("profile.json")], _JSON,
            ("profile mixed.csv --levels @", "chowliu mixed.csv --levels @ -c a,b,c,d -f json", "pc mixed.csv --levels @ -c a,b,d", "check data.csv model.json --levels @",
             "count mixed.csv -c a,b,d --pairs --levels @ -o out.parquet", "fit-params data.csv graph.dot --levels @", "verify @"),
            _JSON_TOKENS,
        ),
        Kind(
            "knowledge", "in.json", lambda: [seeds.KNOWLEDGE], _JSON,
            ("pc data.csv --knowledge @", "hc data.csv --knowledge @ -f json", "ges data.csv --knowledge @", "exact data.csv --knowledge @",
             "imap data.csv --order a,b,c --knowledge @", "average data.csv --by pc --bootstrap 3 --knowledge @", "pc data.csv --knowledge @ --test-log out.jsonl"),
            _JSON_TOKENS,
        ),
        Kind(
            "tetrad", "in.txt", lambda: [seeds.TETRAD], m.TEXT,
            ("pc data.csv --knowledge @", "hc data.csv --knowledge @ -f json", "ges data.csv --knowledge @", "exact data.csv --knowledge @"),
            (b"/knowledge", b"addtemporal", b"forbiddirect", b"requiredirect", b"forbiddengroup", b"requiredgroup", b"0", b"1*", b"a", b"b", b"\n", b"a b\n"),
        ),
        Kind(
            "baseline", "in.json", lambda: [seeds.made("baseline.json")], _JSON,
            ("check data.csv model.json --baseline @ -f json", "check holes.csv model.json --missing drop --baseline @", "verify @ -f csv"), _JSON_TOKENS,
        ),
        Kind(
            "test-log", "in.jsonl", lambda: [seeds.made("log.jsonl")], (*m.TEXT, *(m.change_json_line,) * 14),
            ("explain @ a b", "explain @ a c -f json", "explain @ b c -o out.json", "explain @ c b",
             "report data.csv model.json --test-log @ -o out.html"), _JSON_TOKENS, piped=True,
        ),
        Kind(
            "column-sets", "in.csv", lambda: [seeds.SETS], m.TEXT,
            ("count data.csv --sets @ -o out.parquet", "count holes.csv --missing available --sets @ -o out.parquet"), _CSV_TOKENS, piped=True,
        ),
        Kind(
            "targets", "in.csv", lambda: [seeds.TARGETS, seeds.TARGETS_JSON], (*m.TEXT, *_JSON),
            ("rake data.csv --targets @ -o out.csv", "rake data.csv --targets @ --normalise --report out.json", "rake data.csv --targets @ --bounds 0.3,3",
             "rake holes.csv --targets @ --missing level --na NA"), (*_CSV_TOKENS, *_JSON_TOKENS),
        ),
        Kind(
            "constraints", "in.json", lambda: [seeds.CONSTRAINTS, seeds.NUMERIC, seeds.TARGETS, seeds.TARGETS_JSON, seeds.CONDITIONALS, seeds.EXPECTATIONS],
            (*m.TEXT, *_JSON),
            ("maxent @", "maxent @ -f text", "maxent @ --normalise -o out.json", "maxent @ --reference model.json -f text", "maxent @ --quantiles 0.1,0.9 -f csv",
             "maxent @ --draws 3"), (*_CSV_TOKENS, *_JSON_TOKENS), piped=True,
        ),
        Kind(
            "report-json", "in.json", lambda: [seeds.made("report.json"), seeds.made("profile.json")], _JSON,
            ("verify @", "verify @ --input data.csv -f json", "verify @ @ -f markdown"), _JSON_TOKENS, piped=True,
        ),
        Kind("toml", "gml.toml", lambda: [seeds.TOML], m.TEXT, ("check", "check --config @", "check -v", "profile data.csv"), _TOML_TOKENS),
        Kind("pyproject", "pyproject.toml", lambda: [seeds.PYPROJECT], m.TEXT, ("check", "check data.csv model.json", "check --config @"), _TOML_TOKENS),
        Kind("options", "", option_seeds, m.TEXT, tuple(line for line, _ in OPTIONS), _OPTION_TOKENS),
        Kind("names", "", lambda: (), (), names.COMMANDS),
        Kind("environment", "", environment_seeds, m.TEXT, ("check data.csv model.json", "check", "check --no-config data.csv model.json -f json"), _OPTION_TOKENS),
    )
}  # fmt: skip


def damaged(kind: Kind, rng: random.Random) -> bytes:
    """An input of the kind, changed a few times."""
    pool = m.Pool(kind.seeds(), kind.tokens)
    data = rng.choice(pool.seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 2, 2, 4))):
        data = rng.choice(kind.mutators)(data, rng, pool)
    return data
