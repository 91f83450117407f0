"""Command lines that together touch every command, format, engine and kind of error.

They run one after the other in one scratch folder, where `s` is sample_data and `r` is the shared
reference data (lines with `r/` are left out where there is none). What one line writes, later ones
read.
"""

from __future__ import annotations

from collections.abc import Iterator

ASIA, CANCER, ADMISSIONS, SURVEY = (
    f"s/{name}.csv" for name in ("asia", "cancer", "admissions", "survey_missing")
)
GRAPH_FORMATS = ("dot", "json", "graphml", "text")
MODEL_FORMATS = ("json", "bif", "xmlbif", "net", "text")
REPORT_FORMATS = ("text", "json", "jsonl", "csv", "markdown")
CHECK_FORMATS = ("text", "json", "markdown", "junit", "sarif", "github")
SCORES = ("loglik", "aic", "bic", "ebic", "bd", "bdeu", "bds", "bdj", "k2", "fnml", "qnml")
GAUSSIAN_SCORES = ("loglik-g", "aic-g", "bic-g", "bge")
TESTS = ("auto", "g", "chi2", "mi-threshold", "bayes", "permutation")


def command_lines() -> Iterator[str]:
    """Yield the lines in order."""
    for part in (
        _help, _tables, _chowliu, _pc, _indtest, _models, _score, _search, _average, _compare,
        _convert, _query, _sample, _counts, _check, _profile, _verify, _numbers, _errors,
    ):  # fmt: skip
        yield from part()


def _help() -> Iterator[str]:
    yield "gml"
    yield "gml --help"
    yield "gml nonsense"
    yield "gml chowlui x.csv"


def _tables() -> Iterator[str]:
    """Tables in other clothes, for the commands that follow."""
    yield f"tr , '\\t' < {ASIA} > asia.tsv"
    yield f"tr , ';' < {ASIA} > semicolon.csv"
    yield f"gzip -nc {ASIA} > asia.csv.gz; bzip2 -c {ASIA} > asia.csv.bz2; xz -c {ASIA} > asia.csv.xz"
    yield "printf 'A,B,N\\nx,y,1\\nx,z,2\\nw,y,3\\nw,z,4\\nx,y,5\\n' > small.csv"
    yield "printf 'A,B\\n1,x\\n,y\\nNA,x\\n2,y\\n1,x\\n2,x\\n' > holes.csv"
    yield 'printf \'A,"b,c","d""e"\\nx,"1,5","q""r"\\ny,2,z\\nx,2,z\\n\' > quoted.csv'
    yield "printf 'g\\xe4,B\\n\\xfc,1\\nu,2\\n\\xfc,1\\n' > latin.csv"
    yield ": > empty.csv; printf 'A,B\\n' > header_only.csv; printf 'A,B\\n1,2\\n3\\n' > ragged.csv"
    yield (
        'python3 -c \'import random; g=random.Random(1).gauss; print("X,Y,Z,C"); '
        '[print("%.4f,%.4f,%.4f,%s" % (x, x + e, e + g(0, 2), "ab"[e > 0])) '
        "for x, e in ((g(0, 1), g(0, 1)) for _ in range(400))]' > numbers.csv"
    )
    yield (
        "python3 -c 'import pyarrow.csv as c, pyarrow.parquet as p; "
        f'p.write_table(c.read_csv("{ASIA}"), "asia.parquet")\' '
        "&& mkdir -p folder && cp asia.parquet folder/part.parquet"
    )


def _chowliu() -> Iterator[str]:
    for name in GRAPH_FORMATS:
        yield f"gml chowliu {ASIA} -f {name}"
    for data in (
        "asia.tsv",
        "asia.csv.gz",
        "asia.csv.bz2",
        "asia.csv.xz",
        "asia.parquet",
        "folder",
    ):
        yield f"gml chowliu {data} -f json"
    yield f"gml chowliu - -f text < {ASIA}"
    yield "gml chowliu semicolon.csv -d ';' -f text"
    yield "gml chowliu semicolon.csv"
    for option in (
        "--root lung", "--undirected", "--estimator miller-madow", "--prune bic", "--prune g",
        "--class lung", "-c smoke,lung,bronc", "--exclude asia,tub", "--threads 1", "--threads 7",
    ):  # fmt: skip
        yield f"gml chowliu {ASIA} {option} -f text"
    yield f"gml chowliu {ADMISSIONS} --weights Freq -f json"
    for missing in ("error", "drop", "level", "available"):
        yield f"gml chowliu {SURVEY} --missing {missing} -f json"
    yield "gml chowliu numbers.csv --bins 4 -f json"
    yield "gml chowliu numbers.csv --bins 3 --discretize width --cut X=-1,0,1 -f json"
    yield "gml chowliu quoted.csv -f dot"
    yield "gml chowliu latin.csv --encoding latin-1 -f json"
    yield f"gml chowliu {ASIA} -o tree.dot --depfile tree.d -v"
    yield f"gml chowliu {ASIA} -o tree.json --if-changed; gml chowliu {ASIA} -o tree.json --if-changed"
    yield f"gml chowliu {ASIA} -o tree.graphml -q"


def _pc() -> Iterator[str]:
    for name in GRAPH_FORMATS:
        yield f"gml pc {ASIA} -f {name}"
    for test in TESTS:
        yield f"gml pc {ASIA} --test {test} -f json"
    for rule in ("max-p", "sepset", "conservative", "majority"):
        yield f"gml pc {ASIA} --colliders {rule} -f text"
    yield f"gml pc {ASIA} --test-log log.jsonl --sepsets sepsets.json -o pc.json"
    for pair in ("tub xray", "bronc dysp", "asia tub", "smoke lung", "asia nothing"):
        yield f"gml explain log.jsonl {pair}"
    yield "gml explain log.jsonl tub xray -f json"
    yield f"gml pc {ASIA} --bootstrap 10 --seed 3 -f json"
    yield f"gml pc {ASIA} --dag --alpha 0.001 --max-cond 1 -f text"
    yield f"gml pc {ASIA} --tiers 'asia,smoke < tub,lung,bronc,either < xray,dysp' -f text"
    yield f"gml pc {ASIA} --require 'smoke->lung' --forbid 'dysp->bronc' -f text"
    yield 'printf \'{"require":[["smoke","lung"]],"tiers":[["asia"],["tub"]]}\' > knows.json'
    yield f"gml pc {ASIA} --knowledge knows.json -f json"
    yield f"gml pc {ASIA} --max-seconds 0 -f text"
    yield f"gml pc {SURVEY} --missing available -f text"
    yield "gml pc numbers.csv -c X,Y,Z --test fisher-z -f json"
    yield "gml pc r/simulated/learning.test.csv -f text"


def _indtest() -> Iterator[str]:
    for name in REPORT_FORMATS:
        yield f"gml indtest {ASIA} smoke lung -z bronc -f {name}"
        yield f"gml indtest {CANCER} --all-pairs --adjust holm -f {name}"
    for test in TESTS:
        yield f"gml indtest {ASIA} smoke xray -z lung,tub --test {test}"
    for adjust in ("none", "bonferroni", "bh", "by"):
        yield f"gml indtest {ASIA} --implied s/asia.dot --adjust {adjust} -f csv"
    yield f"gml indtest {ASIA} tub smoke --expect independent"
    yield f"gml indtest {ASIA} lung smoke --expect independent"
    yield f"gml indtest {ASIA} lung smoke --df adjusted -o report.json"
    yield f"gml indtest {ADMISSIONS} Admit Gender -z Dept --weights Freq --test permutation"
    yield "gml indtest numbers.csv X Y -z Z --test fisher-z -f json"
    yield "gml indtest asia.parquet smoke lung -f json"


def _models() -> Iterator[str]:
    for name in MODEL_FORMATS:
        yield f"gml fit-params {ASIA} s/asia.dot -f {name}"
    yield f"gml fit-params {ASIA} s/asia.dot -o model.json --depfile model.d"
    yield f"gml fit-params {ASIA} pc.json --method bayes --ess 5 --intervals 0.9 -o bayes.json"
    for prior in ("bdeu", "k2", "jeffreys", "uniform"):
        yield f"gml fit-params {CANCER} s/cancer.dot --method bayes --prior {prior} -f text"
    yield f"gml fit-params {ASIA} s/asia.dot --cpt-dir tables -o tabled.json"
    yield f"gml fit-params {ASIA} s/asia.dot --strict -f text"
    yield f"gml fit-params {SURVEY} r/networks/survey.bif --missing drop -f json"
    yield "gml fit-params numbers.csv chain.dot --gaussian -o gauss.json"
    yield "printf 'digraph { X -> Y; Y -> Z }' > chain.dot"
    yield "gml fit-params numbers.csv chain.dot --gaussian -o gauss.json; cat gauss.json"
    yield "gml fit-params numbers.csv chain.dot --gaussian -f text"


def _score() -> Iterator[str]:
    for name in REPORT_FORMATS:
        yield f"gml score {ASIA} s/asia.dot tree.dot -f {name}"
    for score in SCORES:
        yield f"gml score {ASIA} s/asia.dot --score {score} --per-node -f json"
    for score in GAUSSIAN_SCORES:
        yield f"gml score numbers.csv chain.dot --score {score} -f json"
    yield f"gml score {ASIA} s/asia.dot --fail-under -10000"
    yield f"gml score {ASIA} tree.dot --compare-to s/asia.dot"
    yield f"gml score {ASIA} s/asia.dot tree.dot --folds 5 --seed 1 -f json"
    yield f"gml score {ASIA} s/asia.dot --holdout {ASIA} -f text"


def _search() -> Iterator[str]:
    for command in ("hc", "ges", "exact"):
        for name in GRAPH_FORMATS:
            yield f"gml {command} {ASIA} -f {name}"
        yield f"gml {command} {ASIA} --score bdeu --ess 10 --max-parents 2 -f text"
        yield f"gml {command} numbers.csv -c X,Y,Z --score bic-g -f json"
    yield f"gml hc {ASIA} --tabu 10 --restarts 5 --seed 2 --trace steps.csv --cpdag -f text"
    yield f"gml hc {ASIA} --start s/asia.dot --forbid 'lung->smoke' -f text"
    yield f"gml ges {ASIA} --restarts 5 --phases forward,backward --dag --trace moves.csv -f text"
    yield f"gml ges {ASIA} --tiers 'asia,smoke < tub,lung,bronc,either < xray,dysp' -f json"
    yield f"gml exact {ASIA} --against s/asia.dot"
    yield f"gml exact {ASIA} --cpdag -o best.json"
    yield f"gml hc {ASIA} --max-seconds 0 -f text"
    for option in ("", "--score bic", "--test g --alpha 0.05"):
        yield f"gml imap {ASIA} --order asia,smoke,tub,lung,bronc,either,xray,dysp {option} -f json"


def _average() -> Iterator[str]:
    for by in ("hc", "ges", "pc"):
        yield f"gml average {ASIA} --by {by} --bootstrap 20 --seed 1 -f json"
    yield f"gml average {ASIA} --by exact --max-parents 2 --probabilities shares.csv -f text"
    yield f"gml average {CANCER} --by order-mcmc --iterations 2000 -f json"


def _compare() -> Iterator[str]:
    for name in REPORT_FORMATS:
        yield f"gml compare s/asia.dot tree.dot pc.json -f {name}"
    yield "gml compare s/asia.dot tree.dot --as dag --max-shd 2"
    yield "gml compare s/asia.dot s/asia.dot --fail-on-difference"
    yield "gml compare model.json bayes.json -f json"


def _convert() -> Iterator[str]:
    for suffix in ("bif", "xmlbif", "net", "dot", "graphml", "txt"):
        yield f"gml convert model.json copy.{suffix}; gml convert copy.{suffix} back.json"
    yield "gml convert gauss.json gauss.bif"
    for name in ("asia.bif", "cancer.bif", "alarm.bif", "mildew.bif.gz"):
        yield f"gml convert r/networks/{name} other.json"


def _query() -> Iterator[str]:
    for name in REPORT_FORMATS:
        yield f"gml query model.json --target lung --evidence xray=yes -f {name}"
    yield "gml query model.json --target lung,bronc --evidence dysp=yes -f json"
    yield "gml query model.json --target lung,bronc --each --do smoke=yes"
    yield "gml query model.json --evidence xray=yes,dysp=no"
    yield "gml query model.json --mpe --evidence xray=yes -f json"
    yield f"head -5 {ASIA} | gml query model.json --batch - --target lung"
    yield f"head -5 {ASIA} | gml query model.json --predict lung --batch -"
    yield "gml query gauss.json --target Z --evidence X=1 -f json"
    yield "gml query model.json --target lung --evidence xray=maybe"


def _sample() -> Iterator[str]:
    yield "gml sample model.json -n 20 --seed 4"
    yield "gml sample model.json -n 5 --evidence lung=yes"
    yield "gml sample model.json -n 5 --evidence lung=yes --weighted"
    yield "gml sample model.json -n 3000 --do bronc=no -o new.csv"
    yield "gml sample model.json -n 2000 --seed 4 -o fresh.csv"
    yield "gml sample gauss.json -n 5"
    yield "gml sample model.json -n 0"


def _counts() -> Iterator[str]:
    yield f"gml count {ASIA} --pairs -o pairs.parquet -v"
    yield f"gml count {ASIA} --triples -o triples.parquet"
    yield f"gml count {ASIA} --graph s/asia.dot --implied s/asia.dot -o families.parquet"
    yield "printf 'smoke,lung\\n# a comment\\nbronc\\n' > sets.txt"
    yield f"gml count {ASIA} --sets sets.txt --min-cell 10 -o sets.parquet"
    yield f"gml count {ASIA} --pairs --min-cell 1000 -o none.parquet"
    yield f"head -3000 {ASIA} > first.csv; (head -1 {ASIA}; tail -n +3001 {ASIA}) > second.csv"
    yield "gml count first.csv --pairs -o 1.parquet; gml count second.csv --pairs -o 2.parquet"
    yield "gml merge 1.parquet 2.parquet -o merged.parquet"
    yield "gml chowliu merged.parquet -f json"
    yield "gml indtest merged.parquet smoke lung"
    yield "gml indtest merged.parquet smoke lung -z bronc"
    yield "gml fit-params families.parquet s/asia.dot -f json"
    yield "gml score families.parquet s/asia.dot -f json"
    yield "gml pc triples.parquet --max-cond 1 -f json"
    yield "gml hc merged.parquet --max-parents 1 -f json"


def _check() -> Iterator[str]:
    for name in CHECK_FORMATS:
        yield f"gml check new.csv model.json -f {name}"
    yield f"gml check {ASIA} model.json --write-baseline accepted.json"
    yield "gml check fresh.csv model.json --baseline accepted.json --unlikely-rows 2 -f json"
    yield "gml check fresh.csv model.json"
    yield "gml check new.csv model.json --warn-only --min-effect tables=0.05 --severity fit=warn"
    yield "gml check new.csv model.json --families schema,tables --report junit=c.xml --report json=c.json"
    yield "gml check families.parquet model.json --families tables,structure -f json"
    yield 'printf \'[check]\\ndata = "new.csv"\\nmodel = "model.json"\\nalpha = 0.05\\n\' > set.toml'
    yield "gml check --config set.toml -f text"
    yield "gml check small.csv model.json"


def _profile() -> Iterator[str]:
    yield f"gml profile {SURVEY} -o schema.json"
    yield f"gml profile {SURVEY}"
    yield f"gml chowliu {SURVEY} --levels schema.json --missing drop -f json"
    yield "gml profile numbers.csv --bins 4 -f json"


def _verify() -> Iterator[str]:
    yield f"gml verify model.json --input {ASIA}"
    yield "gml verify model.json tree.json -f json"
    yield "sed 's/0\\.5/0.25/' model.json > changed.json; gml verify changed.json"
    yield "gml verify tree.dot"


def _numbers() -> Iterator[str]:
    """Real tables."""
    yield "gml ges r/real/mushroom.csv --missing drop --max-parents 2 -f text"
    yield "gml chowliu r/real/german_credit.csv --bins 4 -f json"
    yield "gml pc r/real/lizards.csv -f json"
    yield "gml hc r/real/adult.csv.gz --missing drop --bins 4 --exclude fnlwgt -f text"
    yield "gml profile r/real/penguins.csv --bins 5 -f text"
    yield "gml indtest r/real/titanic_table.csv --all-pairs -f csv"
    yield "gml query r/networks/alarm.bif --target LVFAILURE --evidence HISTORY=TRUE -f json"
    yield "gml hc r/real/marks.csv --score bge -f text"
    yield "gml glasso r/real/marks.csv -f text"
    yield "gml glasso r/real/sachs_853.csv --transform rank --folds 3 -f json"
    yield "gml glasso r/real/penguins.csv"
    yield "gml notears r/real/marks.csv -f text"
    yield "gml notears r/real/marks.csv --raw --threshold 0 -f json"


def _errors() -> Iterator[str]:
    for line in (
        "chowliu empty.csv", "chowliu header_only.csv", "chowliu ragged.csv", "chowliu nofile.csv",
        "chowliu latin.csv", "chowliu holes.csv", "chowliu numbers.csv", f"chowliu {ASIA} -c nobody",
        f"chowliu {ASIA} --nonsense", f"chowliu {ASIA} -o nowhere/t.dot", f"chowliu {ASIA} -o {ASIA}",
        f"chowliu {ASIA} -o t.xyz", f"chowliu {ASIA} --root nobody", f"chowliu - - < {ASIA}",
        f"pc {ASIA} --alpha 2", f"pc {ASIA} --require 'a->b'", f"pc {ASIA} --knowledge {ASIA}",
        f"pc {ASIA} --require 'smoke->lung' --forbid 'smoke->lung'", f"indtest {ASIA} smoke",
        f"indtest {ASIA} smoke lnug", f"indtest {ASIA} smoke smoke", f"score {ASIA} {ASIA}",
        f"score {ASIA} chain.dot", f"fit-params {CANCER} s/asia.dot", "convert tree.dot t.bif",
        "convert nofile.json t.dot", "query model.json --target nobody", "query tree.dot --target lung",
        "query model.json --target lung --evidence tub=yes,either=no", "sample model.json -n -1",
        f"exact {ASIA} --max-memory 1K", f"count {ASIA} -o c.parquet", "merge nofile.parquet -o m.parquet",
        "merge 1.parquet triples.parquet -o m.parquet", "verify nofile.json", "explain nofile.jsonl a b",
        "chowliu quoted.csv --cut A=width:2", "chowliu small.csv --bins 0", f"hc {ASIA} --score bic-g",
        "chowliu holes.csv --na ''", f"imap {ASIA} --order asia", f"average {ASIA}",
    ):  # fmt: skip
        yield f"gml {line}"
